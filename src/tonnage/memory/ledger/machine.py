"""The eager machine on paper: it runs a program of tensor operations and writes down what happens to memory.

It knows what every operation shares: making outputs, autocast's casts and their cache, saving for backward,
checkpointing, the engine's threads. What an operation computes and saves lives in `operators`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, TypeVar

import msgspec

from tonnage.memory.ledger.attention_kernels import HOPPER, AttentionKernels
from tonnage.memory.ledger.autograd import Frame, Node, Slot, StopRecomputation, run_backward
from tonnage.memory.ledger.tape import ARRIVAL, BUFFER, GRADIENT, INPUT, PARAMETER, Part, Tape
from tonnage.memory.ledger.tensors import BYTES, Shape, Storage, Tensor, count, dense, dense_like

if TYPE_CHECKING:
    from collections.abc import Iterator

Result = TypeVar("Result")

BUCKET = 25 * 2**20
"""Bytes of gradients that are sent at once (DDP's default)."""

RANK = {"bool": 0, "uint8": 1, "int32": 2, "int64": 3, "float16": 4, "bfloat16": 4, "float32": 6}
"""Type promotion: the higher wins; the two half formats never meet in these programs."""


class Machine(msgspec.Struct):
    """One training process."""

    tape: Tape = msgspec.field(default_factory=Tape)
    autocast: str | None = None
    """Half format of autocast while it is on."""
    grad_enabled: bool = True
    adds_in_place: bool = True
    """Whether gradients are summed in place, as on a device; under a tracer they are not."""
    kernels: AttentionKernels = HOPPER
    order: int = 0
    casts: dict[int, tuple[Tensor, Part]] = msgspec.field(default_factory=dict)
    """Weights that autocast has cast, and the layer that used them first."""
    parameters: list[Tensor] = msgspec.field(default_factory=list)
    frame: Frame | None = None
    recomputing: bool = False
    divide: int = 1
    """Ranks among which blocks made now are shared: each holds one part."""
    gradient_ranks: int = 1
    """Ranks among which gradients are shared once they are complete."""
    reduces: str = ""
    """The collective that complete gradients go through, where ranks see different samples."""
    unsent: int = 0
    """Bytes of gradients that wait for a full bucket."""
    only_notes_arrivals: bool = False
    """Whether complete gradients are noted on the tape instead of sent."""

    def new(self, shape: Shape, dtype: str, label: str = "", stride: Shape | None = None) -> Tensor:
        """A tensor with memory of its own."""
        storage = Storage(self, -(-count(shape) * BYTES[dtype] // self.divide), label)
        return Tensor(storage, shape, stride or dense(shape), dtype, label)

    def parameter(
        self, shape: Shape, dtype: str, name: str, *, trained: bool = True, ranks: int = 1
    ) -> Tensor:
        """A weight; trained ones get gradients and optimizer state; `ranks` share it (0: it lives elsewhere)."""
        self.tape.category = PARAMETER
        storage = Storage(self, -(-count(shape) * BYTES[dtype] // ranks) if ranks else 0, name)
        made = Tensor(storage, shape, dense(shape), dtype, name)
        self.tape.category = None
        made.leaf = trained
        self.parameters.append(made)
        return made

    def buffer(self, shape: Shape, dtype: str, name: str) -> Tensor:
        """State of a module that is not trained."""
        self.tape.category = BUFFER
        made = self.new(shape, dtype, name)
        self.tape.category = None
        return made

    def input(self, shape: Shape, dtype: str, name: str) -> Tensor:
        """A part of the batch."""
        self.tape.category = INPUT
        made = self.new(shape, dtype, name)
        self.tape.category = None
        return made

    def call(
        self,
        name: str,
        inputs: Sequence[Tensor],
        outputs: Sequence[tuple[Shape, str, Shape | None, str]],
        *scalars: object,
    ) -> list[Tensor]:
        """Run an operation: one new tensor per (shape, dtype, strides, label)."""
        tape = self.tape
        ins = tuple((x.shape, x.stride, x.dtype) for x in inputs)
        outs = tuple((shape, stride or dense(shape), dtype) for shape, dtype, stride, _ in outputs)
        number = tape.begin(name, ins, outs, scalars)
        made = [self.new(shape, dtype, label, stride) for shape, dtype, stride, label in outputs]
        tape.end(number)
        return made

    def call_in_place(self, name: str, target: Tensor, *others: Tensor) -> None:
        """Run an operation that makes nothing new."""
        info = (target.shape, target.stride, target.dtype)
        ins = (info, *((x.shape, x.stride, x.dtype) for x in others))
        self.tape.end(self.tape.begin(name, ins, (info,), ()))

    def elementwise(
        self, name: str, *inputs: Tensor, dtype: str | None = None, shape: Shape | None = None
    ) -> Tensor:
        """Run an operation element by element: broadcast shape, promoted dtype, layout of the first full operand."""
        full = inputs[0]
        for x in inputs:
            if x.numel > full.numel:
                full = x
        out_shape = shape or broadcast([x.shape for x in inputs])
        out_dtype = dtype or promoted(inputs)
        stride = dense_like(full.shape, full.stride) if full.shape == out_shape else dense(out_shape)
        return self.call(name, inputs, [(out_shape, out_dtype, stride, full.label)])[0]

    def cast(self, x: Tensor, dtype: str) -> Tensor:
        """A copy in another dtype, same layout; no history."""
        return self.elementwise("aten._to_copy.default", x, dtype=dtype)

    def summed_to(self, x: Tensor, shape: Shape) -> Tensor:
        """What a broadcast operand gets of a gradient: the sum over the dimensions it was stretched along."""
        lead = len(x.shape) - len(shape)
        kept = tuple(1 if i < lead or shape[i - lead] == 1 else size for i, size in enumerate(x.shape))
        out = self.call("aten.sum.dim_IntList", [x], [(kept, x.dtype, None, x.label)])[0]
        return Tensor(out.storage, shape, dense(shape), x.dtype, x.label)

    def save(self, node: Node, saved: Sequence[Tensor]) -> None:
        """Keep tensors for backward, or only their places inside a checkpointed part."""
        frame = self.frame
        if frame is None:
            node.saved = [value.detached() for value in saved]
            return
        if not self.recomputing:
            node.slots = [Slot(frame, frame.packed + i) for i in range(len(saved))]
            frame.packed += len(saved)
            return
        kept = frame.recomputed
        assert kept is not None
        for value in saved:
            kept.append(value.detached())
            if len(kept) == frame.packed:
                raise StopRecomputation

    def unpack(self, node: Node) -> list[Tensor]:
        """Saved tensors of a node; the first node of a checkpointed part runs it again."""
        if node.slots is None:
            return node.saved or []
        if not node.slots:
            return []
        frame = node.slots[0].frame
        if frame.recomputed is None:
            self._recompute(frame)
        kept = frame.recomputed
        assert kept is not None
        found = [kept[slot.index] for slot in node.slots]
        assert all(value is not None for value in found)
        return [value for value in found if value is not None]

    def _recompute(self, frame: Frame) -> None:
        frame.recomputed = []
        module = self.tape.module
        before = self.frame, self.recomputing, self.grad_enabled
        self.frame, self.recomputing, self.grad_enabled = frame, True, True
        try:
            with self.autocasting(frame.autocast):
                try:
                    frame.function()
                except StopRecomputation as stop:
                    stop.__traceback__ = None
        finally:
            self.frame, self.recomputing, self.grad_enabled = before
            self.tape.module = module

    def checkpoint(self, function: Callable[[], Result]) -> Result:
        """Run a part of the forward without saving its insides."""
        frame = Frame(function, autocast=self.autocast)
        before = self.frame
        self.frame = frame
        try:
            return function()
        finally:
            self.frame = before

    @contextmanager
    def autocasting(self, dtype: str | None) -> Iterator[None]:
        """Autocast as a context: the cache of cast weights is dropped at the outermost exit."""
        before = self.autocast
        self.autocast = dtype
        try:
            yield
        finally:
            self.autocast = before
            if before is None:
                self._drop_casts()

    def _drop_casts(self) -> None:
        """Let go of cast weights in the order in which they were cast, each on behalf of its layer."""
        tape, casts = self.tape, self.casts
        part = tape.part
        for weight in list(casts):
            tape.turn_to(casts[weight][1])
            del casts[weight]
        tape.turn_to(part)

    def backward(self, loss: Tensor) -> None:
        """`loss.backward()`: runs on the autograd thread, outside autocast."""
        assert loss.node is not None
        root = loss.node
        seed = self.call("aten.ones_like.default", [loss], [(loss.shape, loss.dtype, None, "")])[0]
        before = self.grad_enabled, self.autocast, self.tape.thread, self.tape.phase
        self.grad_enabled, self.autocast, self.tape.thread, self.tape.phase = False, None, 1, 2
        run_backward(self, root, seed)
        self.grad_enabled, self.autocast, self.tape.thread, self.tape.phase = before

    def communicate(self, name: str, size: int, *, waits: bool = False) -> None:
        """A collective over so many bytes; it makes nothing the allocator sees."""
        info = ((size,), (1,), "uint8")
        self.tape.end(self.tape.begin(f"c10d.{name}.default", (info,), (), ()))
        if waits:
            self.tape.end(self.tape.begin("c10d.wait_tensor.default", (info,), (), ()))

    def send_gradients(self) -> None:
        """Send what has gathered in the bucket."""
        if self.unsent:
            self.communicate(self.reduces, self.unsent)
            self.unsent = 0

    def gradient_arrives(self, size: int) -> None:
        """A gradient is complete: it waits until a bucket is full, and that is sent."""
        if self.only_notes_arrivals:
            self.tape.kinds.append(ARRIVAL)
            self.tape.arguments.append(size)
            return
        self.unsent += size
        if self.unsent >= BUCKET:
            self.send_gradients()

    def put_gradient(self, target: Tensor, gradients: list[Tensor | None]) -> None:
        """A parameter takes its gradient: the tensor itself, a copy where the layout differs, or a sum."""
        new = gradients[0]
        assert new is not None
        gradients[0] = None
        if target.grad is not None:
            self.call_in_place("aten.add_.Tensor", target.grad, new)
            return
        if new.stride != target.stride:
            new = self.call(
                "aten.clone.default", [new], [(target.shape, new.dtype, target.stride, target.label)]
            )[0]
        if self.gradient_ranks > 1:
            self.divide = self.gradient_ranks
            new = self.call("aten.clone.default", [new], [(target.shape, new.dtype, None, target.label)])[0]
            self.divide = 1
        target.grad = new.detached()
        if self.reduces:
            self.gradient_arrives(new.numel * BYTES[new.dtype])
        self.tape.categories[new.storage.block] = GRADIENT


def broadcast(shapes: Sequence[Shape]) -> Shape:
    """The common shape of operands."""
    longest = max(len(shape) for shape in shapes)
    result = [1] * longest
    for shape in shapes:
        for i, size in enumerate(shape, start=longest - len(shape)):
            if size != 1:
                result[i] = size
    return tuple(result)


def promoted(inputs: Sequence[Tensor]) -> str:
    """The dtype of a result: that of the highest kind; a tensor without dimensions does not raise it."""
    best = inputs[0].dtype
    dimensioned = [x for x in inputs if x.shape] or list(inputs)
    best = dimensioned[0].dtype
    for x in dimensioned:
        if RANK[x.dtype] > RANK[best]:
            best = x.dtype
    return best
