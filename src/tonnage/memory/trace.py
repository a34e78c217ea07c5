"""A training step as it was seen: every operation, and every block of GPU memory it made and dropped, in order.

This is the border between torch and the rest. The traced process writes one such value as JSON and knows
nothing of what is done with it; everything after (library workspaces, temporaries inside an operation, the
caching allocator, time) is worked out from it by pure code that needs no torch.

Events are one string of kinds and one list of arguments, because a step has hundreds of thousands of them:

    c  a call begins     argument: index into `calls`
    a  a block is made   argument: index into `blocks`
    f  a block is freed  argument: index into `blocks`
    e  the call ends     argument: index into `calls`
    m  a mark            argument: index into `marks` ("build", "step 0", "step 1", ...)
    r  a release         argument: 0; `torch.cuda.empty_cache()` was called

Blocks made between `c` and `e` are the call's own outputs. A free may come anywhere: it happens where Python or
autograd drops the last reference.
"""

from __future__ import annotations

from typing import Literal

import msgspec

Category = Literal[
    "parameter", "buffer", "gradient", "optimizer", "activation", "input", "temporary", "workspace", "other"
]
PHASES = ("build", "forward", "backward", "optimizer", "other", "compile")
"""In the order of a run; `compile` is what is done only while kernels are chosen."""

FORMAT = 1
"""Raised when a field changes its meaning; a reader refuses another one."""


class TensorInfo(msgspec.Struct, frozen=True, array_like=True):
    """A tensor argument or result: shape, strides, dtype (`bfloat16`), device (`cuda`, `cpu`) and its block, if any."""

    shape: tuple[int, ...]
    stride: tuple[int, ...]
    dtype: str
    device: str = "cuda"


class Operation(msgspec.Struct, frozen=True):
    """One distinct operation: the overload's name, its tensors, and the plain arguments that change its cost.

    `inputs` holds tensor arguments in order, lists of tensors flattened; `scalars` holds the others by name
    (`dropout_p`, `is_causal`, `stride`, `padding`, `dim`, ...), as JSON values.
    """

    name: str
    inputs: tuple[TensorInfo, ...]
    outputs: tuple[TensorInfo, ...]
    scalars: dict[str, object] = {}


class Call(msgspec.Struct, frozen=True, array_like=True):
    """One execution: which operation, in which phase, module, thread (0 main, 1 autograd, ...) and stream."""

    operation: int
    phase: int
    module: int
    thread: int = 0
    stream: int = 0


class Block(msgspec.Struct, frozen=True, array_like=True):
    """One storage: bytes asked for, what it turned out to be, and who made it (`call` is -1 where none did)."""

    size: int
    category: int
    call: int
    stream: int = 0


class Note(msgspec.Struct, frozen=True):
    """Something a reader must know: a value that was assumed, a knob that is fixed, an op that was bounded."""

    code: str
    text: str


class Trace(msgspec.Struct, frozen=True):
    """All that was seen of a step."""

    format: int
    torch: str
    cuda: str
    python: str
    gpu: str
    steps: int
    phases: tuple[str, ...]
    categories: tuple[str, ...]
    modules: tuple[str, ...]
    operations: tuple[Operation, ...]
    calls: tuple[Call, ...]
    blocks: tuple[Block, ...]
    marks: tuple[str, ...]
    kinds: str
    arguments: tuple[int, ...]
    knobs: dict[str, object] = {}
    """Values of the solver's knobs that `build` took."""
    fixed: tuple[str, ...] = ()
    """Knobs that `build` does not name."""
    settings: dict[str, str] = {}
    """What of the process decides memory: allocator settings, cuDNN benchmark, deterministic, TF32, ..."""
    world_size: int = 1
    rank: int = 0
    groups: tuple[tuple[int, ...], ...] = ()
    """Process groups on which a collective ran, as tuples of ranks."""
    notes: tuple[Note, ...] = ()
    seconds: float = 0.0
    """How long tracing took."""
