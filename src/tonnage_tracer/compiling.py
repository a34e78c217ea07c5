"""`torch.compile` in a recorded step.

A compiled step holds other tensors than an eager one and frees them at other times: the partitioner decides what is
kept for the backward pass, Inductor fuses, reorders and reuses. So the step really is compiled, up to the kernels
(`compiling_inductor`), and the program that comes out is recorded as it runs. A graph that cannot be compiled here
runs as it is, which needs at least as much memory, and is said.

Modes that record CUDA graphs keep what a graph allocates in a pool of its own; its blocks get a stream number of
their own, because that is what a separate pool is to the allocator.
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch import nn
from torch._subclasses.fake_tensor import FakeTensor
from torch.utils._python_dispatch import _disable_current_modes

from .launches import Launches
from .recorder import Recorder

_AUTOTUNE = (
    "kernels are chosen by timing them while compiling; the library's are taken here, and memory used while timing "
    "is not counted"
)
_CUDA_GRAPHS = (
    "CUDA graphs keep their memory in a pool of their own, counted as one that never shares with others"
)


@contextlib.contextmanager
def compiling(recorder: Recorder, folder: str) -> Iterator[None]:
    """Let `torch.compile` work on fake tensors; programs it writes go to `folder`."""
    call, compile_ = torch._TorchCompileInductorWrapper.__call__, torch.compile

    @functools.lru_cache(maxsize=1)
    def prepare() -> None:
        from . import compiling_inductor

        with _disable_current_modes():
            compiling_inductor.prepare(recorder, Launches(recorder), folder)
            _watch_frames()
            # Our own code, where a hook leads to it, is not to be compiled.
            torch._dynamo.trace_rules.add(__package__)

    def prepared_compile(*args: Any, **kwargs: Any) -> Any:
        prepare()
        with _module_calls_unwatched():  # a compiled module keeps its `__call__` from here on
            return compile_(*args, **kwargs)

    def compile_graph(wrapper: Any, graph: Any, inputs: Any) -> Any:
        return _compiled(recorder, wrapper, graph, inputs)

    torch._TorchCompileInductorWrapper.__call__, torch.compile = compile_graph, prepared_compile
    try:
        yield
    finally:
        torch._TorchCompileInductorWrapper.__call__, torch.compile = call, compile_


def _compiled(recorder: Recorder, wrapper: Any, graph: Any, inputs: Any) -> Callable[..., Any]:
    """One graph, compiled; or as it is, where Inductor cannot do it without a device."""
    from torch._dynamo import exc as dynamo_errors
    from torch._inductor.compile_fx import compile_fx

    from . import compiling_inductor

    if wrapper.config.get("max_autotune"):
        recorder.notes.add("compile-autotune", _AUTOTUNE)
    try:
        settings = compiling_inductor.settings_for(wrapper.config)
        compiled: Callable[..., Any] = compile_fx(graph, _of_its_own(graph, inputs), config_patches=settings)
    except (dynamo_errors.RestartAnalysis, dynamo_errors.SkipFrame):
        raise  # torch's own way of saying: read this code again, in another manner
    except Exception as failure:
        recorder.notes.add(
            "compile-eager",
            f"a compiled graph is recorded as if it were not compiled, an upper bound: "
            f"{type(failure).__name__}: {' '.join(str(failure).split())[:300]}",
        )
        return graph.forward  # type: ignore[no-any-return]
    if not wrapper.config.get("triton.cudagraphs"):
        return compiled
    recorder.notes.add("compile-cuda-graphs", _CUDA_GRAPHS)
    return _in_pool(compiled)


def _of_its_own(graph: Any, inputs: Any) -> list[Any]:
    """Inputs as the compiler's own fake tensors: some versions of torch hand over ours, taking them for real."""
    context = torch._guards.TracingContext.try_get()
    mode = None if context is None else context.fake_mode
    own = [node.meta.get("example_value") for node in graph.graph.nodes if node.op == "placeholder"]
    if mode is None or len(own) != len(inputs):
        return list(inputs)
    return [
        mine if isinstance(given, FakeTensor) and given.fake_mode is not mode and mine is not None else given
        for given, mine in zip(inputs, own, strict=True)
    ]


def _in_pool(compiled: Callable[..., Any]) -> Callable[..., Any]:
    """Run on a stream of its own: to the allocator that is what a private pool is."""
    stream = torch.cuda.Stream()

    @functools.wraps(compiled)
    def run(*args: Any, **kwargs: Any) -> Any:
        with torch.cuda.stream(stream):
            return compiled(*args, **kwargs)

    return run


def _watch_frames() -> None:
    """While torch reads the user's code, our stand-in for calling modules is out of its sight."""
    from torch._dynamo import convert_frame

    convert = convert_frame.ConvertFrameAssert.__call__

    def convert_unwatched(self: Any, *args: Any, **kwargs: Any) -> Any:
        # Torch disables modes itself, but not for graphs it splits for DDP.
        with _module_calls_unwatched(), _disable_current_modes():
            return convert(self, *args, **kwargs)

    convert_frame.ConvertFrameAssert.__call__ = convert_unwatched


@contextlib.contextmanager
def _module_calls_unwatched() -> Iterator[None]:
    watched, nn.Module.__call__ = nn.Module.__call__, nn.Module._wrapped_call_impl
    try:
        yield
    finally:
        nn.Module.__call__ = watched
