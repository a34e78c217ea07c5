"""Which kind of CUDA out-of-memory: read from torch's own sentence, in all its spellings since 1.0.

    X  asked for        Y  the GPU's memory      Z  free
    A  allocated        R  reserved by torch but not allocated

    c  X > Y             no GPU of this kind could
    b  others hold it    what is neither free nor ours is a good part of the GPU
    a  R >= X            torch holds enough, in pieces; or more than 15 % of A lies idle
    f  in save or evaluation, by the functions in the traceback
    d  grew until it died, by the figures the log prints
    e  else: the step is too large

Inside a container torch does not find itself among the GPU's processes and prints its own use as another's, or as
an absurd number; so what torch says it allocated is believed before that.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import pairwise

from tonnage.diagnosis.statements import Statement, View

_GIB = {"bytes": 1 / 2**30, "KiB": 1 / 2**20, "MiB": 1 / 1024, "GiB": 1.0, "TiB": 1024.0}
_SIZE = r"([\d.]+) (bytes|[KMGT]iB)"
_ASKED = re.compile(rf"Tried to allocate {_SIZE}")
_TOTAL = re.compile(rf"{_SIZE} total capacity|total capac\w* of {_SIZE}")
_FREE = re.compile(rf"of which {_SIZE} is free|; {_SIZE} free")
_OTHERS = re.compile(rf"Process \d+ has {_SIZE} memory in use")
_OURS = re.compile(rf"this process has {_SIZE} memory in use")
_ALLOCATED = re.compile(rf"allocated memory {_SIZE} is allocated by|{_SIZE} (?:already )?allocated[;,]")
_RESERVED_TOTAL = re.compile(rf"{_SIZE} reserved in total")
_UNALLOCATED = re.compile(rf"and {_SIZE} is reserved by PyTorch but unallocated|{_SIZE} cached\)")

_IDLE_SHARE = 0.15
_FOREIGN_SHARE = 0.15
_LEAST_IDLE_GIB = 0.25

_FUNCTION = re.compile(r"\bin (\w+)")
_AFTERWARDS = frozenset(
    "save saving eval evaluate evaluation evaluator val valid validate validation test predict prediction generate "
    "inference export consolidate summon".split()
)
"""Words of function names that say: not a training step."""
_AFTERWARDS_FILE = re.compile(r"(?:evaluation_loop|_state_dict_utils|checkpoint_hook|evaluator)\.py")
_AFTERWARDS_LINE = re.compile(
    r"[Ss]aving (?:model|checkpoint)|[Ee]valuating|[Vv]alidat(?:ing|ion)|Running (?:Evaluation|Prediction)|"
    r"\b(?:[Ee]val|EVAL|[Tt]esting)\b.{0,20}\d+%\|"
)
_TRAINING = re.compile(r"\bin (?:backward|training_step|train_step|_engine_run_backward|optimizer_step)\b")
_FRAME = re.compile(r'^(?:\[\w+\]:?)? *File "')
_STARTS = re.compile(r"Traceback \(most recent call last\)")


@dataclass(frozen=True, slots=True)
class CudaOom:
    """The figures of the sentence in GiB; None where it does not say."""

    asked: float | None
    total: float | None
    free: float | None
    allocated: float | None
    idle: float | None
    foreign: float | None


def kind_of(statement: Statement, view: View) -> tuple[str, float]:
    """The class and how sure."""
    text = "\n".join((statement.text, *view.after(statement, 2)))
    oom = read(text)
    if oom.asked is not None and oom.total is not None and oom.asked > oom.total:
        return "GPU-01c", 0.95
    if oom.foreign is not None and oom.total and oom.foreign >= _FOREIGN_SHARE * oom.total:
        return "GPU-01b", 0.88
    if _is_fragmented(oom):
        return "GPU-01a", 0.85
    if _is_afterwards(statement, view):
        return "GPU-01f", 0.88
    if _grew(statement, view):
        return "GPU-01d", 0.75
    return "GPU-01e", 0.85


def read(text: str) -> CudaOom:
    """The figures in torch's sentence.

    >>> read("Tried to allocate 2.00 GiB (GPU 0; 39.59 GiB total capacity; 35.54 GiB already allocated; "
    ...      "1.00 GiB free; 36.00 GiB reserved in total by PyTorch)").asked
    2.0
    """
    total, free, allocated = (_gib(pattern, text) for pattern in (_TOTAL, _FREE, _ALLOCATED))
    reserved, idle = _gib(_RESERVED_TOTAL, text), _gib(_UNALLOCATED, text)
    if idle is None and reserved is not None and allocated is not None:
        idle = max(0.0, reserved - allocated)
    held = None if allocated is None or idle is None else allocated + idle
    ours = _gib(_OURS, text)
    if held is None or (ours is not None and total is not None and held < ours <= total):
        held = ours if ours is not None and (total is None or ours <= total) else held
    foreign = None if total is None or free is None or held is None else max(0.0, total - free - held)
    named = sum(float(a) * _GIB[b] for a, b in _OTHERS.findall(text))
    if foreign is None and named and total and (ours is None or ours <= total):
        foreign = named
    return CudaOom(_gib(_ASKED, text), total, free, allocated, idle, foreign)


def _gib(pattern: re.Pattern[str], text: str) -> float | None:
    found = pattern.search(text)
    if found is None:
        return None
    number, unit = (each for each in found.groups() if each is not None)
    return float(number) * _GIB[unit]


def _is_fragmented(oom: CudaOom) -> bool:
    if oom.idle is None or oom.idle < _LEAST_IDLE_GIB:
        return False
    covers = oom.asked is not None and oom.idle >= oom.asked
    return covers or (oom.allocated is not None and oom.idle > _IDLE_SHARE * max(oom.allocated, 1.0))


def _is_afterwards(statement: Statement, view: View) -> bool:
    """Whether the traceback runs through a save or an evaluation, and not into training from there."""
    frames = _traceback(statement, view)
    text = "\n".join(frames)
    if _TRAINING.search(text):
        return False
    if any(_names_afterwards(name) for name in _FUNCTION.findall(text)) or _AFTERWARDS_FILE.search(text):
        return True
    return any(_AFTERWARDS_LINE.search(each) for each in _lines_before(statement, view))


def _names_afterwards(function: str) -> bool:
    """Whether a function's name says so: `run_validation`, `_save_state_dict`; not `retrieval`, not a load.

    >>> [_names_afterwards(name) for name in ("run_validation", "retrieval_head", "load_state_dict", "state_dict")]
    [True, False, False, True]
    """
    words = set(function.lower().split("_"))
    return bool(words & _AFTERWARDS) or ({"state", "dict"} <= words and "load" not in words)


def _lines_before(statement: Statement, view: View) -> tuple[str, ...]:
    """The last lines a program printed before its traceback, or before the statement where there is none."""
    lines = view.before(statement, 60)
    start = max((at for at, line in enumerate(lines) if _STARTS.search(line)), default=len(lines))
    return lines[max(0, start - 2) : start]


def _traceback(statement: Statement, view: View) -> tuple[str, ...]:
    """The frames that lead to the statement, after the nearest `Traceback`."""
    lines = view.before(statement, 60)
    start = max((at for at, line in enumerate(lines) if _STARTS.search(line)), default=None)
    if start is None:
        return tuple(line for line in lines[-8:] if _FRAME.search(line))
    return tuple(line for line in lines[start + 1 :] if _FRAME.search(line))


_PRINTED = re.compile(
    r"\b(?:max_)?(?:gpu[ _])?mem(?:ory)?(?:[ _](?:allocated|used|reserved))?\b[=: ]+(\d+(?:\.\d+)?)", re.I
)


def _grew(statement: Statement, view: View) -> bool:
    """Whether the memory the program prints with its steps rose by a quarter or more, all the way."""
    values = [float(found[1]) for line in view.before(statement, 200) if (found := _PRINTED.search(line))]
    rising = all(later >= earlier for earlier, later in pairwise(values))
    return len(values) >= 4 and rising and values[-1] >= 1.25 * max(values[0], 1e-9)
