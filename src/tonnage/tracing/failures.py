"""Why a step could not be traced, as `Problem`s: the child's own account, or the way in which it died."""

from __future__ import annotations

import re
import signal
from pathlib import Path

import msgspec

from tonnage.errors import Problem, TonnageError


class CannotTrace(TonnageError):  # noqa: N818 - it says what is the case, as RefusedError's siblings do
    """Exact mode has no answer; the labelled estimate may."""


class Failure(msgspec.Struct, frozen=True):
    """What the child says of its failure."""

    code: str
    text: str
    advice: str | None = None
    operation: str | None = None
    module: str | None = None
    where: str | None = None
    frames: tuple[str, ...] = ()


_THEIRS = ("TRACE-002", "TRACE-030", "TRACE-031", "TRACE-032", "TRACE-033", "TRACE-034")
"""Codes whose place is the user's file or a line of it, not an interpreter."""
_CODES = {
    "torch-loaded": "TRACE-017",
    "cuda-loaded": "TRACE-017",
    "no-library": "TRACE-016",
    "self-test": "TRACE-017",
    "no-torch": "TRACE-013",
    "step-failed": "TRACE-030",
    "no-function": "TRACE-031",
    "not-python": "TRACE-031",
    "build-not-callable": "TRACE-031",
    "build-needs-arguments": "TRACE-031",
    "build-returned-no-step": "TRACE-031",
    "unknown-knob": "TRACE-031",
    "no-fake-kernel": "TRACE-032",
    "needs-data": "TRACE-033",
    "not-pretended": "TRACE-034",
}


def in_one_line(problem: Problem) -> str:
    """What went wrong where no more room is: with what was found and what would do, and the user's own line."""
    found = "" if problem.found is None else f": found {problem.found}"
    expected = "" if problem.expected is None else f", expected {problem.expected}"
    is_theirs = problem.code in _THEIRS and problem.where is not None
    where = f" at {problem.where}" if is_theirs else ""
    return f"{problem.what.rstrip('.')}{found}{expected} ({problem.code}{where})"


def from_child(failure: Failure) -> CannotTrace:
    """The child's account in our five parts; the user's own last lines say where."""
    found = [part for part in (failure.operation and f"operation {failure.operation}",) if part]
    if len(failure.frames) > 1:
        found.append("called from " + "; ".join(reversed(failure.frames[:-1])))
    return CannotTrace(
        Problem(
            code=_CODES.get(failure.code, "TRACE-034"),
            what=failure.text,
            where=failure.frames[-1] if failure.frames else failure.where,
            found=", ".join(found) or None,
            hint=failure.advice,
        )
    )


def from_crash(returncode: int, log: str, file: Path) -> CannotTrace:
    """A child that left no answer: killed by a signal, or ended by the user's code without returning."""
    lines = _user_lines(log, file)
    where = lines[0] if lines else str(file)
    if returncode >= 0:
        return CannotTrace(
            Problem(
                code="TRACE-053",
                what=f"the tracing process ended with status {returncode} and no answer",
                where=where,
                found=_tail(log),
                hint="Does the file call os._exit, or replace the process? build() must return a function.",
            )
        )
    name = signal.Signals(-returncode).name if -returncode in set(signal.Signals) else f"signal {-returncode}"
    return CannotTrace(
        Problem(
            code="TRACE-052",
            what=f"the tracing process was ended by {name}",
            where=where,
            found=_tail(log),
            hint=_advice(name),
        )
    )


def _advice(name: str) -> str:
    if name == "SIGKILL":
        return "Out of host memory, most likely: is a data set or a checkpoint loaded on the way?"
    return (
        "Native code that the file uses does not stand a GPU that only pretends: a compiled extension called with "
        "no fake kernel, most likely. Leave it out of the traced step, or use the estimate by shape."
    )


def _user_lines(log: str, file: Path) -> list[str]:
    """Lines of the user's file in a dump of the Python stack, innermost first."""
    return [
        f"{path}:{line}"
        for path, line in re.findall(r'File "([^"]+)", line (\d+)', log)
        if Path(path) == file
    ]


def _tail(log: str, lines: int = 3) -> str | None:
    said = [line.strip() for line in log.splitlines() if line.strip()]
    return " | ".join(said[-lines:]) or None
