"""The tracing process from start to end: virtual GPU, torch, self-test, the user's file, one JSON file.

The order matters. The virtual GPU must be there before torch is; the self-test must pass before anything is
believed; the user's code comes last and may do what it likes: whatever it raises, exits with or prints, the result
file holds either a trace or a failure that says where it came from.
"""

from __future__ import annotations

import contextlib
import ctypes
import faulthandler
import gc
import json
import os
import signal
import sys
import time
import traceback
from pathlib import Path
from typing import Any

from . import virtual_gpu
from .request import Request, read_request

_HERE = str(Path(__file__).resolve().parent)
_FRAMES = 4
_PR_SET_PDEATHSIG = 1
_ADVICE = "Exact mode has no answer in this environment; take the estimate by shape, or another --python."


def main(path: str) -> int:
    """Answer one request; 0 if the result file was written, whatever it says."""
    started = time.monotonic()
    _tie_to_parent()
    faulthandler.enable()
    gc.disable()  # torch makes a million objects while it is imported, none of them garbage
    request = read_request(path)
    try:
        answer = _answer(request, started)
    except BaseException as failure:  # SystemExit and KeyboardInterrupt of user code included
        answer = {"failure": _explained(failure, request)}
    _write(request["output"], answer)
    sys.stdout.flush()
    sys.stderr.flush()
    # Torch's and the user's threads and exit handlers have nothing left to do that anybody waits for.
    os._exit(0)


def _tie_to_parent() -> None:
    """Die with the parent, even if it is killed: nobody would read the answer."""
    with contextlib.suppress(AttributeError, OSError):
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


def _answer(request: Request, started: float) -> dict[str, Any]:
    versions = virtual_gpu.torch_versions()
    if versions is None or versions[1] is None:
        raise virtual_gpu.VirtualGpuError("no-torch", "there is no torch built for CUDA in this environment")
    virtual_gpu.load(request["environment"], versions[1])
    virtual_gpu.settle()
    from . import canary

    if request["task"] == "selftest":
        return {"selftest": canary.report()}
    canary.require()
    _pretend_launcher(request)
    trace = _record(request)
    trace["seconds"] = time.monotonic() - started
    return {"trace": trace}


def _record(request: Request) -> dict[str, Any]:
    from . import seeded, sharding
    from .recording import Recording
    from .user_file import load_build

    seeded.install()
    if request["world_size"] > 1:
        sharding.install()
    with Recording(request) as recording:  # the file may make its model as it is loaded
        build = recording.load(lambda: load_build(request["file"], request["function"]))
        return recording.run(build)


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
    """A failure as plain data: what it means to the reader, and the user's own last lines."""
    said: dict[str, Any]
    if isinstance(failure, virtual_gpu.VirtualGpuError):
        said = {"code": failure.kind, "text": str(failure), "advice": _ADVICE}
    else:
        from .failing import explain

        said = dict(explain(failure, "Tracing", file=request["file"]).as_data())
        said.setdefault("where", request["file"])
    said["frames"] = _frames(failure.__cause__ or failure, str(Path(request["output"]).parent))
    return said


def _frames(failure: BaseException, room: str) -> list[str]:
    """The last lines of the user's code in the traceback: not torch's, nor ours, nor what was compiled in `room`."""
    frames = [
        frame
        for frame in traceback.extract_tb(failure.__traceback__)
        if not frame.filename.startswith((_HERE, room)) and not _library(frame.filename)
    ]
    return [f"{frame.filename}:{frame.lineno} in {frame.name}: {frame.line}" for frame in frames[-_FRAMES:]]


def _library(filename: str) -> bool:
    return "site-packages" in filename or filename.startswith(
        ("<frozen", "<string", sys.base_prefix + "/lib/")
    )


def _write(output: str, answer: dict[str, Any]) -> None:
    """All or nothing: a reader never sees half a file."""
    path = Path(output)
    whole = path.with_suffix(".part")
    whole.write_text(json.dumps(answer, separators=(",", ":")), encoding="utf-8")
    whole.replace(path)
