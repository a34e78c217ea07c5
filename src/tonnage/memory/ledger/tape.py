"""What the ledger's programs leave behind: the same record of a step that a traced run leaves.

The tape collects operations, calls, blocks and events in the form of `tonnage.memory.trace`, so that everything
built for exact mode (library workspaces, temporaries inside operations, the allocator model, the clock) serves
a step that was never run at all.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import starmap

from tonnage.memory.trace import FORMAT, Block, Call, Operation, TensorInfo, Trace

PHASES = ("build", "forward", "backward", "optimizer", "other")
CATEGORIES = (
    "parameter", "buffer", "gradient", "optimizer", "activation", "input", "temporary", "workspace", "other",
)  # fmt: skip
PARAMETER, BUFFER, GRADIENT, OPTIMIZER, ACTIVATION, INPUT, TEMPORARY, WORKSPACE, OTHER = range(9)

TORCH = "2.11.0"
"""The torch whose eager semantics the ledger describes."""

Info = tuple[tuple[int, ...], tuple[int, ...], str]

ARRIVAL = "g"
"""Kind of an event that only a shallow run writes: a gradient of so many bytes is complete."""

Part = tuple[str, int]
"""A layer: the stack it belongs to, and its number there."""
OUTSIDE: Part = ("", -1)
"""What belongs to no layer."""


@dataclass
class Tape:
    """Events in the order in which eager PyTorch would cause them."""

    phase: int = 0
    module: int = 0
    thread: int = 0
    closed: bool = False
    category: int | None = None
    """Category of blocks made now, where it is known from the start."""
    kinds: list[str] = field(default_factory=list)
    arguments: list[int] = field(default_factory=list)
    sizes: list[int] = field(default_factory=list)
    categories: list[int] = field(default_factory=list)
    labels: list[str] = field(default_factory=list)
    block_modules: list[int] = field(default_factory=list)
    block_calls: list[int] = field(default_factory=list)
    calls: list[tuple[int, int, int, int]] = field(default_factory=list)
    operations: dict[tuple[object, ...], int] = field(default_factory=dict)
    operation_values: list[Operation] = field(default_factory=list)
    modules: dict[str, int] = field(default_factory=lambda: {"": 0})
    marks: list[str] = field(default_factory=list)
    alive: dict[int, None] = field(default_factory=dict)
    call_now: int = -1
    part: Part = OUTSIDE
    turns: list[tuple[int, Part]] = field(default_factory=list)
    """Where on the tape another layer's events begin."""

    def enter(self, module: str, part: Part = OUTSIDE) -> None:
        """Name the module whose operations follow, and the layer it is."""
        self.module = self.modules.setdefault(module, len(self.modules))
        self.turn_to(part)

    def turn_to(self, part: Part) -> None:
        """Events from here on belong to this layer."""
        if part != self.part:
            self.part = part
            self.turns.append((len(self.kinds), part))

    def mark(self, name: str) -> None:
        """Put a mark between steps."""
        self.kinds.append("m")
        self.arguments.append(len(self.marks))
        self.marks.append(name)

    def allocate(self, size: int, label: str) -> int:
        """Make a block and return its number."""
        number = len(self.sizes)
        self.sizes.append(size)
        known = self.category
        if known is None:
            known = ACTIVATION if self.phase == 1 else TEMPORARY
        self.categories.append(known)
        self.labels.append(label)
        self.block_modules.append(self.module)
        self.block_calls.append(self.call_now)
        self.kinds.append("a")
        self.arguments.append(number)
        self.alive[number] = None
        return number

    def free(self, block: int) -> None:
        """Give a block back; after the end nothing is recorded any more."""
        if self.closed:
            return
        del self.alive[block]
        self.kinds.append("f")
        self.arguments.append(block)

    def begin(
        self, name: str, inputs: tuple[Info, ...], outputs: tuple[Info, ...], scalars: tuple[object, ...]
    ) -> int:
        """Open a call; blocks made before `end` are its outputs."""
        key = (name, inputs, outputs, scalars)
        number = self.operations.get(key)
        if number is None:
            number = self.operations[key] = len(self.operation_values)
            pairs = dict(zip(scalars[::2], scalars[1::2], strict=True))
            self.operation_values.append(
                Operation(
                    name=name,
                    inputs=tuple(TensorInfo(*info) for info in inputs),
                    outputs=tuple(TensorInfo(*info) for info in outputs),
                    scalars={str(key): value for key, value in pairs.items()},
                )
            )
        call = len(self.calls)
        self.calls.append((number, self.phase, self.module, self.thread))
        self.kinds.append("c")
        self.arguments.append(call)
        self.call_now = call
        return call

    def end(self, call: int) -> None:
        """Close a call."""
        self.kinds.append("e")
        self.arguments.append(call)
        self.call_now = -1

    def repeat(self, start: int, optimizer: int, name: str) -> None:
        """Add the events from `start` on once more as another step; optimizer state is not made again.

        Up to `optimizer` all are made again, so there numbers only move on; behind it they are counted anew.
        """
        uniform, kinds, arguments = (
            self.kinds[start:optimizer],
            self.kinds[optimizer:],
            self.arguments[optimizer:],
        )
        again = self.arguments[start:optimizer]
        self.mark(name)
        block, call = len(self.sizes), len(self.calls)
        made, called = uniform.count("a"), uniform.count("c")
        first_block = next((n for kind, n in zip(uniform, again, strict=True) if kind == "a"), block)
        first_call = next((n for kind, n in zip(uniform, again, strict=True) if kind == "c"), call)
        fresh = {old: block + old - first_block for old in range(first_block, first_block + made)}
        renamed = {old: call + old - first_call for old in range(first_call, first_call + called)}
        self.kinds += uniform
        self.arguments += [
            renamed[given] if kind in "ce" else fresh.get(given, given)
            for kind, given in zip(uniform, again, strict=True)
        ]
        block, call = block + made, call + called
        skipping = -1
        kept, numbers = self.kinds, self.arguments
        for place, (kind, given) in enumerate(zip(kinds, arguments, strict=True)):
            if skipping >= 0:
                skipping = -1 if kind == "e" and given == skipping else skipping
                continue
            if kind == "f":
                number = fresh.get(given, given)
            elif kind == "e":
                number = renamed[given]
            elif kind == "a":
                number = fresh[given] = block
                block += 1
            else:
                if kinds[place + 1] == "a" and self.categories[arguments[place + 1]] == OPTIMIZER:
                    skipping = given
                    continue
                number = renamed[given] = call
                call += 1
            kept.append(kind)
            numbers.append(number)
        self._copy(fresh, renamed)

    def _copy(self, blocks: dict[int, int], calls: dict[int, int]) -> None:
        """Blocks and calls once more, in the order of their new numbers."""
        for numbers in (self.sizes, self.categories, self.block_modules):
            numbers += [numbers[block] for block in blocks]
        self.labels += [self.labels[block] for block in blocks]
        self.block_calls += [calls.get(call, call) for call in (self.block_calls[block] for block in blocks)]
        self.calls += [self.calls[call] for call in calls]

    def trace(
        self, gpu: str, steps: int, world_size: int = 1, groups: tuple[tuple[int, ...], ...] = ()
    ) -> Trace:
        """The record as a value."""
        return Trace(
            format=FORMAT,
            torch=TORCH,
            cuda="13.0",
            python="",
            gpu=gpu,
            steps=steps,
            phases=PHASES,
            categories=CATEGORIES,
            modules=tuple(self.modules),
            operations=tuple(self.operation_values),
            calls=tuple(starmap(Call, self.calls)),
            blocks=tuple(map(Block, self.sizes, self.categories, self.block_calls)),
            marks=tuple(self.marks),
            kinds="".join(self.kinds),
            arguments=tuple(self.arguments),
            world_size=world_size,
            groups=groups,
        )
