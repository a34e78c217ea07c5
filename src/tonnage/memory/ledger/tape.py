"""What the ledger's programs leave behind: the same record of a step that a traced run leaves.

The tape collects operations, calls, blocks and events in the form of `tonnage.memory.trace`, so that everything
built for exact mode (library workspaces, temporaries inside operations, the allocator model, the clock) serves
a step that was never run at all.
"""

from __future__ import annotations

from itertools import starmap

import msgspec

from tonnage.memory.trace import FORMAT, PHASES, Block, Call, Operation, TensorInfo, Trace

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


class Tape(msgspec.Struct):
    """Events in the order in which eager PyTorch would cause them."""

    phase: int = 0
    module: int = 0
    thread: int = 0
    closed: bool = False
    category: int | None = None
    """Category of blocks made now, where it is known from the start."""
    kinds: list[str] = msgspec.field(default_factory=list)
    arguments: list[int] = msgspec.field(default_factory=list)
    sizes: list[int] = msgspec.field(default_factory=list)
    categories: list[int] = msgspec.field(default_factory=list)
    labels: list[str] = msgspec.field(default_factory=list)
    block_modules: list[int] = msgspec.field(default_factory=list)
    block_calls: list[int] = msgspec.field(default_factory=list)
    calls: list[tuple[int, int, int, int]] = msgspec.field(default_factory=list)
    operations: dict[tuple[object, ...], int] = msgspec.field(default_factory=dict)
    operation_values: list[Operation] = msgspec.field(default_factory=list)
    modules: dict[str, int] = msgspec.field(default_factory=lambda: {"": 0})
    marks: list[str] = msgspec.field(default_factory=list)
    alive: dict[int, None] = msgspec.field(default_factory=dict)
    call_now: int = -1
    part: Part = OUTSIDE
    turns: list[tuple[int, Part]] = msgspec.field(default_factory=list)
    """Where on the tape another layer's events begin."""
    step: int = 0
    """Where on the tape the step begins."""
    optimizer: int = 0
    """Where the optimizer's part of it begins."""

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

    def begin_step(self) -> None:
        """What follows is the step."""
        self.mark("step 0")
        self.step = len(self.kinds)

    def begin_optimizer(self) -> None:
        """What follows is the optimizer's part of the step, up to its end."""
        self.optimizer = len(self.kinds)

    def steady(self) -> tuple[list[str], list[int]]:
        """The step's events once more, as in every later step: optimizer state is not made again."""
        kinds, arguments = self.kinds[self.step : self.optimizer], self.arguments[self.step : self.optimizer]
        making = -1
        for place in range(self.optimizer, len(self.kinds)):
            kind, given = self.kinds[place], self.arguments[place]
            if kind == "c" and self._makes_state(place + 1):
                making = given
            if making < 0:
                kinds.append(kind)
                arguments.append(given)
            elif kind == "e" and given == making:
                making = -1
        return kinds, arguments

    def _makes_state(self, place: int) -> bool:
        return self.kinds[place] == "a" and self.categories[self.arguments[place]] == OPTIMIZER

    def trace(
        self, gpu: str, steps: int, world_size: int = 1, groups: tuple[tuple[int, ...], ...] = ()
    ) -> Trace:
        """The record as a value: of the first step alone, or of the steady one behind it too.

        The second step's blocks keep their numbers, because what a step makes is gone before the next one makes it;
        its calls are numbered on.
        """
        marks, kinds, arguments, calls = list(self.marks), self.kinds, self.arguments, self.calls
        if steps > 1:
            again, given = self.steady()
            called = [call for kind, call in zip(again, given, strict=True) if kind == "c"]
            numbers = {call: number for number, call in enumerate(called, start=len(calls))}
            given = [numbers[one] if kind in "ce" else one for kind, one in zip(again, given, strict=True)]
            kinds, arguments = [*kinds, "m", *again], [*arguments, len(marks), *given]
            calls = [*calls, *(calls[call] for call in called)]
            marks.append("step 1")
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
            calls=tuple(starmap(Call, calls)),
            blocks=tuple(map(Block, self.sizes, self.categories, self.block_calls)),
            marks=tuple(marks),
            kinds="".join(kinds),
            arguments=tuple(arguments),
            world_size=world_size,
            groups=groups,
        )
