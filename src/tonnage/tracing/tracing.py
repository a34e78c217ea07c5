"""One step traced: the interpreter is checked, a child process runs it, its answer becomes a `Trace`.

Nothing is cached. A user's file may import other files, read configurations and ask its environment; an answer
that is a little stale is worse than one that takes a few seconds.
"""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path

import msgspec

import tonnage_tracer
from tonnage.errors import InternalError, Problem
from tonnage.memory.trace import FORMAT as TRACE_FORMAT
from tonnage.memory.trace import Note, Trace
from tonnage.tracing.asking import TraceRequest, check
from tonnage.tracing.failures import CannotTrace, Failure, from_child, from_crash
from tonnage.tracing.interpreter import Interpreter, find_interpreter
from tonnage.tracing.launching import run_limited
from tonnage.tracing.pretending import gpu_environment
from tonnage.tracing.supported import is_proven, minor_of

_REQUEST_FORMAT = 1
_TRACER = Path(tonnage_tracer.__file__).parent


class _Answer(msgspec.Struct, frozen=True):
    """The child's result file."""

    trace: Trace | None = None
    failure: Failure | None = None
    selftest: dict[str, str] | None = None


def trace_step(request: TraceRequest) -> Trace:
    """Every operation and block of the step, or `CannotTrace` with what stands in the way."""
    check(request)
    interpreter = find_interpreter(request.python, request.file)
    answer = ask_child(interpreter, request, "record")
    if answer.trace is None or answer.trace.format != TRACE_FORMAT:
        raise InternalError(Problem(code="TRACE-053", what="the tracing process wrote no trace we can read"))
    return _with_pair_noted(answer.trace, interpreter)


def self_test(interpreter: Interpreter, request: TraceRequest) -> dict[str, str]:
    """Each behaviour exact mode rests on, with `ok` or what was seen instead."""
    return ask_child(interpreter, request, "selftest").selftest or {}


def ask_child(interpreter: Interpreter, request: TraceRequest, task: str) -> _Answer:
    """Run the tracing process for one task and read what it wrote."""
    _require_libraries()
    with tempfile.TemporaryDirectory(prefix="tonnage-trace-") as folder:
        room = Path(folder)
        asked = room / "request.json"
        output = room / "answer.json"
        asked.write_text(json.dumps(_as_data(request, task, output)), encoding="utf-8")
        ended = run_limited(
            [interpreter.path, str(_TRACER), str(asked)],
            room / "log",
            seconds=request.seconds,
            memory=request.memory,
        )
        if not output.exists():
            raise from_crash(ended.returncode, ended.log, request.file.resolve())
        answer = msgspec.json.decode(output.read_bytes(), type=_Answer)
    if answer.failure is not None:
        raise from_child(answer.failure)
    return answer


def _as_data(request: TraceRequest, task: str, output: Path) -> dict[str, object]:
    return {
        "format": _REQUEST_FORMAT,
        "task": task,
        "file": str(request.file.resolve()),
        "function": request.function,
        "gpu": request.gpu.name,
        "environment": gpu_environment(request.gpu, request.gpus_on_node),
        "knobs": dict(request.knobs),
        "steps": request.steps,
        "world_size": request.world_size,
        "rank": request.rank,
        "ranks_per_node": request.gpus_on_node,
        "output": str(output),
    }


def _with_pair_noted(trace: Trace, interpreter: Interpreter) -> Trace:
    if is_proven(interpreter.torch, interpreter.cuda):
        return trace
    pair = f"torch {minor_of(interpreter.torch)} with CUDA {interpreter.cuda}"
    note = Note(
        "untested-pair", f"{pair} passed the self-test just now, but is not a pair we have a report for."
    )
    return msgspec.structs.replace(trace, notes=(*trace.notes, note))


def _require_libraries() -> None:
    if (_TRACER / "lib" / "libcuda.so.1").is_file():
        return
    raise CannotTrace(
        Problem(
            code="TRACE-060",
            what="this installation of Tonnage has no virtual CUDA runtime",
            found=f"{sys.platform}, nothing in {_TRACER / 'lib'}",
            expected="Linux with the GNU C library, on x86-64 or ARM64",
            hint="Exact mode works there; in a checkout, `./tonnage` builds what is missing.",
        )
    )
