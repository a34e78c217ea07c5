"""Builders of traces: a step written down by hand, call by call, as a tracer would have seen it."""

from __future__ import annotations

from collections.abc import Sequence

from tonnage.memory.temporaries.rule import item_size
from tonnage.memory.trace import FORMAT, PHASES, Block, Call, Note, Operation, TensorInfo, Trace

CATEGORIES = (
    "parameter",
    "buffer",
    "gradient",
    "optimizer",
    "activation",
    "input",
    "temporary",
    "workspace",
    "other",
)
MIB = 2**20


def a_tensor(*shape: int, dtype: str = "float32", device: str = "cuda") -> TensorInfo:
    """A contiguous tensor."""
    stride, strides = 1, []
    for size in reversed(shape):
        strides.append(stride)
        stride *= max(1, size)
    return TensorInfo(shape, tuple(reversed(strides)), dtype, device)


def an_operation(
    name: str, inputs: Sequence[TensorInfo] = (), outputs: Sequence[TensorInfo] = (), **scalars: object
) -> Operation:
    return Operation(name, tuple(inputs), tuple(outputs), dict(scalars))


class TraceBuilder:
    """Writes events in order; blocks are named by the numbers it gives out."""

    def __init__(self, **settings: str) -> None:
        self.operations: list[Operation] = []
        self.calls: list[Call] = []
        self.blocks: list[Block] = []
        self.modules: list[str] = [""]
        self.marks: list[str] = []
        self.kinds: list[str] = []
        self.arguments: list[int] = []
        self.phase = "build"
        self.module = ""
        self.thread = 0
        self.stream = 0
        self.settings = settings
        self.notes: list[Note] = []
        self.groups: tuple[tuple[int, ...], ...] = ()

    def mark(self, name: str) -> None:
        self.marks.append(name)
        self._event("m", len(self.marks) - 1)

    def empty_cache(self) -> None:
        self._event("r", 0)

    def call(self, operation: Operation, category: str = "activation") -> list[int]:
        """Run an operation; the numbers of the blocks it made, one per output."""
        call = self._begin(operation)
        sizes = [_bytes(made) for made in operation.outputs]
        made = [self._block(size, category, call) for size in sizes]
        self._event("e", call)
        return made

    def make(self, size: int, category: str = "activation", name: str = "aten.empty.memory_format") -> int:
        """A block of so many bytes out of an operation of no interest."""
        return self.call(an_operation(name, outputs=[a_tensor(size, dtype="uint8")]), category)[0]

    def free(self, *blocks: int) -> None:
        for block in blocks:
            self._event("f", block)

    def build(self) -> Trace:
        return Trace(
            format=FORMAT,
            torch="2.11.0",
            cuda="13.0",
            python="3.11",
            gpu="h200",
            steps=sum(mark.startswith("step") for mark in self.marks),
            phases=PHASES,
            categories=CATEGORIES,
            modules=tuple(self.modules),
            operations=tuple(self.operations),
            calls=tuple(self.calls),
            blocks=tuple(self.blocks),
            marks=tuple(self.marks),
            kinds="".join(self.kinds),
            arguments=tuple(self.arguments),
            settings=self.settings,
            notes=tuple(self.notes),
            groups=self.groups,
        )

    def _begin(self, operation: Operation) -> int:
        if operation not in self.operations:
            self.operations.append(operation)
        if self.module not in self.modules:
            self.modules.append(self.module)
        place = self.operations.index(operation)
        phase, module = PHASES.index(self.phase), self.modules.index(self.module)
        self.calls.append(Call(place, phase, module, self.thread, self.stream))
        self._event("c", len(self.calls) - 1)
        return len(self.calls) - 1

    def _block(self, size: int, category: str, call: int) -> int:
        self.blocks.append(Block(size, CATEGORIES.index(category), call, self.stream))
        self._event("a", len(self.blocks) - 1)
        return len(self.blocks) - 1

    def _event(self, kind: str, argument: int) -> None:
        self.kinds.append(kind)
        self.arguments.append(argument)


def a_trained_mlp(
    *, layers: int = 4, width: int = 1024, batch: int = 4096, steps: int = 2, **settings: str
) -> Trace:
    """A stack of square linear layers with AdamW, traced for some steps: gradients dropped at the next step's start."""
    builder = TraceBuilder(**settings)
    weight, images = a_tensor(width, width), a_tensor(batch, width)
    builder.mark("build")
    for layer in range(layers):
        builder.module = f"layers.{layer}"
        builder.call(an_operation("aten.empty.memory_format", outputs=[weight]), "parameter")
    gradients: list[int] = []
    state: list[int] = []
    loss: list[int] = []
    for step in range(steps):
        builder.mark(f"step {step}")
        builder.phase, builder.module, builder.thread = "forward", "", 0
        builder.free(*gradients)
        given = builder.call(an_operation("aten.randn.default", outputs=[images]), "input")[0]
        kept = [given]
        for layer in range(layers):
            builder.module = f"layers.{layer}"
            kept += builder.call(an_operation("aten.mm.default", [images, weight], [images]))
        builder.module = ""
        new_loss = builder.call(an_operation("aten.sum.default", [images], [a_tensor()]), "other")
        builder.free(*loss)
        loss = new_loss
        builder.phase, builder.thread = "backward", 1
        flowing = builder.call(an_operation("aten.expand.default", outputs=[images]), "temporary")[0]
        gradients = []
        for layer in reversed(range(layers)):
            builder.module = f"layers.{layer}"
            gradients += builder.call(an_operation("aten.mm.default", [images, images], [weight]), "gradient")
            following = builder.call(
                an_operation("aten.mm.default", [images, weight], [images]), "temporary"
            )[0]
            builder.free(flowing, kept[layer + 1])
            flowing = following
        builder.free(flowing, given)
        builder.phase, builder.module, builder.thread = "optimizer", "", 0
        if not state:
            state = [
                builder.call(an_operation("aten.zeros_like.default", outputs=[weight]), "optimizer")[0]
                for _ in range(2 * layers)
            ]
        roots = [
            builder.call(an_operation("aten._foreach_sqrt.default", outputs=[weight]), "temporary")[0]
            for _ in range(layers)
        ]
        builder.free(*roots)
    return builder.build()


def _bytes(tensor: TensorInfo) -> int:
    count = 1
    for size in tensor.shape:
        count *= size
    return count * item_size(tensor.dtype)
