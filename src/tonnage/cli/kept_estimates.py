"""Answers about described steps, kept between commands.

Whoever plans, plans again: the same document after a change elsewhere, the fix that was proposed, another cluster. A
step on paper is worked out in a third of a second and is the same whenever it is asked for, so its answer is kept in
the user's cache folder, one file per model. The folder is named after the code that worked the answers out (version,
names, sizes and times of its files): other code asks anew. It is a cache and no more: what cannot be read is worked
out, what cannot be written is not, and nobody is told.
"""

from __future__ import annotations

import atexit
import hashlib
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import cast

import msgspec

import tonnage
from tonnage.memory.estimate import Estimate, Interval, Mode
from tonnage.memory.shapes.shape import ModelShape
from tonnage.planning.estimating import KNOBS_ON_PAPER, StepEstimator
from tonnage.planning.solver.setup import Setup

WORKED_OUT_BY = (
    "memory",
    "timing",
    "cluster/gpus.py",
    "cluster/gpu_facts.py",
    "planning/shape_estimating.py",
)
"""The code whose change makes an answer another one."""
MOST_ANSWERS = 600
"""Per model; the oldest are left out."""
MOST_MODELS = 50
MOST_CODES = 3
"""Versions of the code whose answers are kept: that of another checkout beside this one's."""


class Kept(msgspec.Struct, omit_defaults=True):
    """What is known of one setup."""

    memory: Estimate | None = None
    seconds: Interval | None = None
    rough: Estimate | None = None
    bounds: list[int] = msgspec.field(default_factory=list)


class KeptEstimator:
    """A shape's estimator that is only made, and asked, for what no earlier command has asked."""

    def __init__(self, shape: ModelShape, make: Callable[[], StepEstimator], folder: Path) -> None:
        self._make = make
        self._made: StepEstimator | None = None
        self._file = folder / code_stamp() / f"{_digest(_encode(shape))}.msgpack"
        self._answers = _read(self._file)
        self._is_changed = False
        atexit.register(self.keep)

    @property
    def mode(self) -> Mode:
        return "shape"

    @property
    def knobs(self) -> tuple[str, ...]:
        return KNOBS_ON_PAPER

    def estimate(self, setup: Setup) -> Estimate:
        return msgspec.structs.replace(self.memory(setup), step_seconds=self.seconds(setup))

    def memory(self, setup: Setup) -> Estimate:
        known = self._known(setup).memory
        if known is None:
            known = self._estimator.memory(setup)
            self._note(setup).memory = known
        return known

    def seconds(self, setup: Setup) -> Interval | None:
        known = self._known(setup).seconds
        if known is None:
            known = self._estimator.seconds(setup)
            self._note(setup).seconds = known
        return known

    def roughly(self, setup: Setup) -> Estimate | None:
        known = self._known(setup).memory or self._known(setup).rough
        if known is None:
            known = self._estimator.roughly(setup)
            self._note(setup).rough = known
        return known

    def bounds(self, setup: Setup) -> Iterator[int]:
        known = self._known(setup)
        if known.memory is not None:
            yield known.memory.required
            return
        told = list(known.bounds)
        yield from told
        for number, bound in enumerate(self._estimator.bounds(setup)):
            if number >= len(told):
                self._note(setup).bounds.append(bound)
                yield bound

    def keep(self) -> None:
        """Write what was learnt; the newest answers of the newest models of the newest code."""
        if not self._is_changed:
            return
        atexit.unregister(self.keep)
        newest = dict(list({**_read(self._file), **self._answers}.items())[-MOST_ANSWERS:])
        part = self._file.with_suffix(f".{os.getpid()}.part")
        with suppress(OSError):
            self._file.parent.mkdir(parents=True, exist_ok=True)
            part.write_bytes(msgspec.msgpack.encode(newest, enc_hook=_plain))
            part.replace(self._file)
            _prune(self._file.parent, MOST_MODELS)
            _prune(self._file.parent.parent, MOST_CODES)
        with suppress(OSError):
            part.unlink(missing_ok=True)

    @property
    def _estimator(self) -> StepEstimator:
        if self._made is None:
            self._made = self._make()
        return self._made

    def _known(self, setup: Setup) -> Kept:
        return self._answers.get(_key(setup)) or Kept()

    def _note(self, setup: Setup) -> Kept:
        self._is_changed = True
        return self._answers.setdefault(_key(setup), Kept())


def code_stamp() -> str:
    """A name for the code that works answers out: another one whenever a file of it is."""
    root = Path(tonnage.__file__).parent
    marks = sorted(_mark(path) for part in WORKED_OUT_BY for path in _files(root / part))
    return f"{tonnage.__version__}-{_digest(str(marks).encode())}"


def _files(path: Path) -> Iterator[Path]:
    """Code and the tables beside it; not what Python makes of it."""
    found = path.rglob("*") if path.is_dir() else iter((path,))
    return (each for each in found if each.suffix in (".py", ".json") and each.is_file())


def _mark(path: Path) -> str:
    try:
        stat = path.stat()
    except OSError:  # replaced at this moment
        return str(path)
    return f"{path} {stat.st_size} {stat.st_mtime_ns}"


def _key(setup: Setup) -> str:
    return _encode(setup).decode()


def _encode(value: object) -> bytes:
    return msgspec.json.encode(value, enc_hook=_plain)


def _plain(number: object) -> object:
    """A document's numbers know how they were written; here that does not matter."""
    return float(number) if isinstance(number, float) else int(cast(int, number))


def _read(file: Path) -> dict[str, Kept]:
    try:
        return msgspec.msgpack.decode(file.read_bytes(), type=dict[str, Kept])
    except (
        OSError,
        ValueError,
        RecursionError,
    ):  # msgspec's own errors are ValueErrors, those of its text are others
        return {}


def _prune(folder: Path, most: int) -> None:
    newest_first = sorted(folder.iterdir(), key=lambda path: path.stat().st_mtime, reverse=True)
    for old in newest_first[most:]:
        if old.is_dir():
            shutil.rmtree(old, ignore_errors=True)
        else:
            old.unlink(missing_ok=True)


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:16]
