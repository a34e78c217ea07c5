"""The tracing process from start to end: virtual GPU, torch, self-test, the user's file, one JSON file.

The order matters. The virtual GPU must be there before torch is; the self-test must pass before anything is
believed; the user's code comes last and may do what it likes: whatever it raises, exits with or prints, the result
file holds either a trace or a failure that says where it came from.
"""

from __future__ import annotations

import json
import os
import sys
import time
import traceback
from pathlib import Path
from typing import Any

from . import virtual_gpu
from .request import Request, read_request

_HERE = str(Path(__file__).resolve().parent)
_FRAMES = 4


def main(path: str) -> int:
    """Answer one request; 0 if the result file was written, whatever it says."""
    request = read_request(path)
    started = time.monotonic()
    try:
        answer = _answer(request, started)
    except BaseException as failure:  # noqa: BLE001  SystemExit and KeyboardInterrupt of user code included
        answer = {"failure": _explained(failure, request)}
    _write(request["output"], answer)
    sys.stdout.flush()
    sys.stderr.flush()
    # Torch's and the user's threads and exit handlers have nothing left to do that anybody waits for.
    os._exit(0)


def _answer(request: Request, started: float) -> dict[str, Any]:
    versions = virtual_gpu.torch_versions()
    if versions is None or versions[1] is None:
        raise virtual_gpu.NoVirtualGpu("no-torch", "there is no torch built for CUDA in this environment")
    virtual_gpu.load(request["environment"], versions[1])
    virtual_gpu.settle()
    from . import canary

    canary.require()
    if request["task"] == "selftest":
        return {"selftest": canary.report()}
    _pretend_launcher(request)
    trace = _record(request)
    trace["seconds"] = time.monotonic() - started
    return {"trace": trace}


def _record(request: Request) -> dict[str, Any]:
    from .recording import record
    from .user_file import load_build

    build = load_build(request["file"], request["function"])
    return record(build, request)


def _pretend_launcher(request: Request) -> None:
    """What torchrun tells each of its processes, before the user's file may look."""
    world, rank, here = request["world_size"], request["rank"], request["ranks_per_node"]
    if world <= 1:
        return
    os.environ.update(
        RANK=str(rank),
        WORLD_SIZE=str(world),
        LOCAL_RANK=str(rank % here),
        LOCAL_WORLD_SIZE=str(min(here, world)),
        GROUP_RANK=str(rank // here),
        MASTER_ADDR="127.0.0.1",
        MASTER_PORT="29500",
    )


def _explained(failure: BaseException, request: Request) -> dict[str, Any]:
    """A failure as plain data: B's explanation where there is one, and the user's own last lines."""
    said: dict[str, Any]
    if isinstance(failure, virtual_gpu.NoVirtualGpu):
        said = {"code": failure.kind, "text": str(failure)}
    else:
        from .failing import explain

        said = dict(explain(failure, _doing(failure, request), file=request["file"]).as_data())
    said["frames"] = _frames(failure)
    return said


def _doing(failure: BaseException, request: Request) -> str:
    """Whether it was loading the file or running its build function that failed."""
    names = {frame.name for frame in traceback.extract_tb(failure.__traceback__)}
    return f"Running {request['function']}" if "record" in names else f"Loading {Path(request['file']).name}"


def _frames(failure: BaseException) -> list[str]:
    """The last lines of the traceback that lie outside of torch and of ourselves: the user's code."""
    frames = [
        frame
        for frame in traceback.extract_tb(failure.__traceback__)
        if not frame.filename.startswith(_HERE) and not _library(frame.filename)
    ]
    return [f"{frame.filename}:{frame.lineno} in {frame.name}: {frame.line}" for frame in frames[-_FRAMES:]]


def _library(filename: str) -> bool:
    return "site-packages" in filename or filename.startswith(("<frozen", "<string", sys.base_prefix + "/lib/"))


def _write(output: str, answer: dict[str, Any]) -> None:
    """All or nothing: a reader never sees half a file."""
    path = Path(output)
    whole = path.with_suffix(".part")
    whole.write_text(json.dumps(answer, separators=(",", ":")), encoding="utf-8")
    whole.replace(path)
