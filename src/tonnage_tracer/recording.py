"""Recording a training step: build it, run it a few times, write down what was seen.

`record` is the whole of it: it takes the user's `build` and returns the trace as plain data, in the format of
`tonnage.memory.trace`. The first step makes the optimizer's state, the second is what every later one looks like.

The garbage collector is off while a step runs, so that no object dies at a moment nobody could predict; cycles are
collected between steps, and what they held is noted where it matters.
"""

from __future__ import annotations

import contextlib
import gc
import os
import platform
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import torch
from torch._subclasses.fake_tensor import FakeTensorMode

from . import accumulation, allocator_environment, streams, triton_kernels
from .blocks import KINDS
from .compiling import compiling
from .disguises import disguised
from .distributed import one_rank
from .failing import CannotRecord, explain
from .knobs import chosen_knobs
from .launches import Launches
from .ownership import CATEGORIES
from .phases import PHASES
from .recorder import Recorder

FORMAT = 1
NOTICEABLE_CYCLES = 1 << 20
"""Bytes in reference cycles below which nobody needs to hear of them."""


class _Fakes(FakeTensorMode):  # type: ignore[misc]
    """Torch's fake tensors, without the parts that would touch a device behind the recorder's back."""

    @property
    def avoid_device_init(self) -> bool:
        """`torch.tensor(..., device="cuda")` is made on the CPU and copied, where the recorder sees the copy."""
        return True


def record(build: Callable[..., Any], request: Mapping[str, Any]) -> dict[str, Any]:
    """The trace of `build()` and some steps. Raises CannotRecord."""
    with Recording(request) as recording:
        return recording.run(build)


class Recording:
    """Everything in place for recording. The user's file may be loaded inside it, so that all it makes is seen."""

    def __init__(self, request: Mapping[str, Any]) -> None:
        self._request = request
        self._stack = contextlib.ExitStack()
        self._started = time.monotonic()
        self.recorder: Recorder

    def __enter__(self) -> Recording:
        torch.cuda.init()
        accumulation.uses_of_an_unshared_gradient()
        torch.empty(1, device="cuda")  # the context, before anything is recorded
        self._stack.enter_context(_collector_off())
        mode = _Fakes(allow_non_fake_inputs=True, allow_fallback_kernels=False)
        mode.cache_enabled = False  # ours knows the same and is asked first
        self.recorder = recorder = Recorder(mode)
        self._launches = Launches(recorder)
        _connect(recorder)
        self._stack.enter_context(disguised(recorder))
        self._stack.enter_context(recorder.phases.watching())
        self._stack.enter_context(recorder.modules.watching())
        self._stack.enter_context(streams.watching(recorder))
        self._stack.enter_context(compiling(recorder, self._folder()))
        world_size, rank = int(self._request.get("world_size") or 1), int(self._request.get("rank") or 0)
        self._stack.enter_context(one_rank(recorder, world_size, rank))
        self._stack.enter_context(mode)
        self._stack.enter_context(recorder)
        recorder.mark("build")
        return self

    def __exit__(self, *failure: Any) -> None:
        self._stack.close()

    def load(self, loader: Callable[[], Callable[..., Any]]) -> Callable[..., Any]:
        """The build function, from a loader that runs the user's file."""
        with self.explaining("Loading the file"):
            build = loader()
        self.settle()
        return build

    def run(self, build: Callable[..., Any]) -> dict[str, Any]:
        """Build, run the steps, and put the trace together."""
        given, values, fixed = chosen_knobs(build, self._request.get("knobs") or {})
        steps = int(self._request.get("steps") or 2)
        name = getattr(build, "__name__", "build")
        with self.explaining(f"{name}()"):
            step = build(**given)
        self._refuse_step(name, step, build)
        self.settle()
        for number in range(steps):
            self._begin_step(number)
            with self.explaining(f"step {number}"):
                step()
            self._collect_cycles()
            if number == 0:
                self.settle()
        self.recorder.ownership.claim_parameters()
        self._note_idle()
        trace = self._trace(steps)
        trace["knobs"], trace["fixed"] = values, fixed
        return trace

    def settle(self) -> None:
        """What exists now stays: note who owns what, and keep it out of later collections, which are quick then."""
        gc.collect()
        self.recorder.ownership.find_owners()
        gc.freeze()

    @contextlib.contextmanager
    def explaining(self, doing: str) -> Iterator[None]:
        """Turn whatever the user's code raises into CannotRecord."""
        try:
            yield
        except (Exception, SystemExit) as failure:
            recorder = self.recorder
            file = str(self._request.get("file") or "")
            raise explain(
                failure, doing, file=file, operation=str(recorder.running), module=recorder.module_path()
            ) from failure

    def _folder(self) -> str:
        """Where compiled programs may be written: beside the result, which the parent throws away."""
        output = self._request.get("output")
        if output:
            return str(Path(output).parent / "compiled")
        return self._stack.enter_context(tempfile.TemporaryDirectory())

    def _begin_step(self, number: int) -> None:
        self.recorder.blocks.synchronized()
        triton_kernels.stand_in(self._launches)
        self.recorder.mark(f"step {number}")
        self.recorder.phases.begin_step()
        self.recorder.ownership.begin_step()

    def _collect_cycles(self) -> None:
        before = self.recorder.blocks.bytes_live
        gc.collect()
        freed = before - self.recorder.blocks.bytes_live
        if freed > NOTICEABLE_CYCLES:
            self.recorder.notes.add(
                "cycles",
                f"{freed >> 20} MiB were held by reference cycles at the end of a step; "
                "when they are freed is the garbage collector's choice",
            )

    def _refuse_step(self, name: str, step: Any, build: Any) -> None:
        if callable(step):
            return
        found = "nothing" if step is None else f"a {type(step).__name__}"
        raise CannotRecord(
            "build-returned-no-step",
            f"{name}() returned {found}, not a function.",
            f"Let {name}() end with `return step`, where step() does one whole optimizer step.",
            where=_defined(build),
        )

    def _note_idle(self) -> None:
        """A step that takes nothing of the GPU is traced, but hardly what was meant."""
        if not self.recorder.blocks.sizes:
            self.recorder.notes.add(
                "gpu-unused",
                'neither build() nor the step put anything on the GPU: is the model made on device "cuda"?',
            )

    def _trace(self, steps: int) -> dict[str, Any]:
        recorder, blocks = self.recorder, self.recorder.blocks
        events = list(blocks.events)
        return {
            "format": FORMAT,
            "torch": torch.__version__,
            "cuda": torch.version.cuda or "",
            "python": platform.python_version(),
            "gpu": str(self._request.get("gpu") or torch.cuda.get_device_name(0)),
            "steps": steps,
            "phases": list(PHASES),
            "categories": list(CATEGORIES),
            "modules": recorder.modules.paths(),
            "operations": recorder.operations.described,
            "calls": recorder.calls,
            "blocks": [
                list(block)
                for block in zip(
                    blocks.sizes, recorder.ownership.categories(), blocks.calls, blocks.streams, strict=True
                )
            ],
            "marks": list(recorder.marks),
            "kinds": "".join(KINDS[event & 7] for event in events),
            "arguments": [event >> 3 for event in events],
            "settings": settings(),
            "world_size": int(self._request.get("world_size") or 1),
            "rank": int(self._request.get("rank") or 0),
            "groups": [list(ranks) for ranks in recorder.groups],
            "notes": recorder.notes.as_data(),
            "seconds": time.monotonic() - self._started,
        }


def _defined(build: Any) -> str:
    """File and line where a function is defined, as far as it has any."""
    code = getattr(build, "__code__", None)
    return f"{code.co_filename}:{code.co_firstlineno}" if code is not None else ""


def settings() -> dict[str, str]:
    """What of the process decides memory and time, read after the step has set it."""
    cudnn, matmul = torch.backends.cudnn, torch.backends.cuda.matmul
    names: list[Any] = [
        ("cudnn.enabled", cudnn.enabled),
        ("cudnn.benchmark", cudnn.benchmark),
        ("cudnn.deterministic", cudnn.deterministic),
        ("cudnn.version", cudnn.version()),
        ("cudnn.allow_tf32", cudnn.allow_tf32),
        ("matmul.allow_tf32", matmul.allow_tf32),
        ("float32_matmul_precision", torch.get_float32_matmul_precision()),
        ("deterministic_algorithms", torch.are_deterministic_algorithms_enabled()),
    ]
    wanted = ("PYTORCH_NO_CUDA_MEMORY_CACHING", "CUBLAS_WORKSPACE_CONFIG", "CUBLASLT_WORKSPACE_SIZE",
              "CUDA_MODULE_LOADING")  # fmt: skip
    return {
        **{name: str(value) for name, value in names},
        **{name: os.environ[name] for name in wanted if name in os.environ},
        **allocator_environment.heard(),
    }


def _connect(recorder: Recorder) -> None:
    """Let the parts of a recorder hear of each other's events."""
    phases, modules, ownership = recorder.phases, recorder.modules, recorder.ownership

    def called(_module: Any, args: Any, kwargs: Any) -> None:
        phases.module_called()
        ownership.module_called(args, kwargs, phases.current)

    modules.on_outermost.append(called)
    modules.on_left.append(lambda: ownership.module_left(phases.current))
    phases.around_backward = modules.backward
    phases.before_backward.append(ownership.before_backward)
    phases.after_backward.append(ownership.after_backward)
    phases.before_optimizer.append(ownership.claim_state)
    phases.after_optimizer.append(ownership.claim_state)


@contextlib.contextmanager
def _collector_off() -> Iterator[None]:
    """No automatic collection; what exists already is out of its sight, so that our own ones are quick."""
    was_on = gc.isenabled()
    gc.collect()
    gc.freeze()
    gc.disable()
    try:
        yield
    finally:
        gc.unfreeze()
        if was_on:
            gc.enable()
