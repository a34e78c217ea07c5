"""The training environment's interpreter: found, asked what it is, and refused by name where we cannot answer.

Asking costs some 30 ms: torch's version is read from its folder, not by importing it. The question is put in
words that any Python understands, so that an old one is refused for its age and not for a syntax error.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NoReturn

import msgspec

from tonnage.errors import Problem
from tonnage.tracing.failures import CannotTrace
from tonnage.tracing.supported import CUDA_MAJORS, OLDEST_PYTHON, TORCH, minor_of

_SECONDS = 30.0
_LONGEST = 200
"""Characters of an interpreter's last words that are shown."""

_QUESTION = """
import json, os, re, sys
sys.path[0] = sys.argv[1]
torch = cuda = hip = None
if sys.version_info >= (3, 4):
    import importlib.util
    spec = importlib.util.find_spec("torch")
    folders = list(spec.submodule_search_locations or []) if spec else []
    for folder in folders:
        path = os.path.join(folder, "version.py")
        if os.path.exists(path):
            text = open(path).read()
            def value(name):
                found = re.search(r"^%s\\s*(?::[^=\\n]*)?=\\s*['\\"]([^'\\"]+)['\\"]" % name, text, re.M)
                return found.group(1) if found else None
            torch, cuda, hip = value("__version__") or "unknown", value("cuda"), value("hip")
print(json.dumps({"python": list(sys.version_info[:3]), "torch": torch, "cuda": cuda, "hip": hip}))
"""


class Interpreter(msgspec.Struct, frozen=True):
    """An interpreter and the torch in it."""

    path: str
    python: tuple[int, int, int]
    torch: str
    cuda: str


class _Answer(msgspec.Struct, frozen=True):
    python: tuple[int, int, int]
    torch: str | None
    cuda: str | None
    hip: str | None = None


def find_interpreter(asked: str | None, file: Path) -> Interpreter:
    """The interpreter asked for, else the first around that has torch; checked to be one we answer for."""
    if asked is not None:
        return _checked(*_ask(asked, file))
    looked: list[str] = []
    for path in _candidates():
        looked.append(path)
        try:
            answer = _ask(path, file)
        except CannotTrace:
            continue
        if answer[1].torch is not None:
            return _checked(*answer)
    raise CannotTrace(
        Problem(
            code="TRACE-013",
            what="no interpreter with torch was found",
            found=f"none in {', '.join(looked)}",
            hint="Name the training environment's own: --python path/to/env/bin/python",
        )
    )


def _candidates() -> Iterator[str]:
    """Ours, the active environment's, and what the PATH has, each once."""
    active = os.environ.get("VIRTUAL_ENV") or os.environ.get("CONDA_PREFIX")
    paths = (
        sys.executable,
        str(Path(active) / "bin" / "python") if active else None,
        shutil.which("python3"),
        shutil.which("python"),
    )
    seen: set[str] = set()
    for path in paths:
        # Not resolved: an environment's python is a link, and is that environment only by the link's own name.
        if path and path not in seen and Path(path).exists():
            seen.add(path)
            yield path


def _ask(asked: str, file: Path) -> tuple[str, _Answer]:
    path = shutil.which(asked)
    if path is None:
        raise CannotTrace(
            Problem(
                code="TRACE-010",
                what="there is no such interpreter",
                where=asked,
                hint="--python takes a path, or a name on the PATH.",
            )
        )
    path = str(Path(path).absolute())
    asking = None
    try:
        asking = subprocess.run(
            [path, "-c", _QUESTION, str(file.resolve().parent)],
            capture_output=True,
            text=True,
            timeout=_SECONDS,
            stdin=subprocess.DEVNULL,
            check=False,
        )
        return path, msgspec.json.decode(asking.stdout.strip().splitlines()[-1], type=_Answer)
    except (OSError, subprocess.TimeoutExpired, IndexError, msgspec.DecodeError) as failure:
        raise CannotTrace(
            Problem(
                code="TRACE-011",
                what="it does not answer as a Python interpreter does",
                where=path,
                found=_said_instead(failure, asking),
                hint="--python must name the training environment's Python.",
            )
        ) from None


def _said_instead(failure: Exception, asking: subprocess.CompletedProcess[str] | None) -> str:
    """What came instead of an answer, in one line."""
    if isinstance(failure, subprocess.TimeoutExpired):
        return f"no answer in {_SECONDS:.0f} s"
    if asking is None:
        return str(failure)
    said = [line.strip() for line in (asking.stdout + asking.stderr).splitlines() if line.strip()]
    last = f": {said[-1][:_LONGEST]}" if said else ", nothing printed"
    return f"exit status {asking.returncode}{last}"


def _checked(path: str, answer: _Answer) -> Interpreter:
    """Refuse by name what exact mode has no proof for."""
    if answer.python < OLDEST_PYTHON:
        _refuse(
            path, "TRACE-012", "Python too old", _dotted(answer.python), f"{_dotted(OLDEST_PYTHON)} or newer"
        )
    if answer.torch is None:
        _refuse(path, "TRACE-013", "no torch in this interpreter", "none", f"torch {_versions()}")
    if answer.cuda is None:
        build = "a ROCm build" if answer.hip else "a CPU-only build"
        _refuse(path, "TRACE-014", "this torch is built without CUDA", f"torch {answer.torch}, {build}",
                "a CUDA build of the same version: it needs no GPU to be installed")  # fmt: skip
    if minor_of(answer.torch) not in TORCH:
        _refuse(path, "TRACE-015", "exact mode has not been proven with this torch", f"torch {answer.torch}",
                f"torch {_versions()}")  # fmt: skip
    if int(answer.cuda.partition(".")[0]) not in CUDA_MAJORS:
        _refuse(path, "TRACE-016", "there is no virtual runtime for this torch's CUDA", f"CUDA {answer.cuda}",
                f"CUDA {' or '.join(map(str, CUDA_MAJORS))}")  # fmt: skip
    return Interpreter(path, answer.python, answer.torch, answer.cuda)


def _refuse(path: str, code: str, what: str, found: str, expected: str) -> NoReturn:
    hint = "Give another interpreter with --python, or take the estimate by shape (--shape, --config)."
    raise CannotTrace(Problem(code=code, what=what, where=path, found=found, expected=expected, hint=hint))


def _versions() -> str:
    return f"{', '.join(TORCH)} built for CUDA"


def _dotted(version: tuple[int, ...]) -> str:
    return ".".join(map(str, version))
