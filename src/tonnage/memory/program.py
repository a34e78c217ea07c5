"""A trace as the allocator meets it: one list of takes and frees, workspaces and temporaries in their places.

Every block that is ever taken has a slot (the trace's own blocks first, then what this module puts in), and an
event is one number: `slot` takes it, `~slot` frees it. A program is cut into stretches (the build, then one per
step), so that a step can be repeated; the cache is emptied after a stretch where the traced code asked for it.
"""

from __future__ import annotations

import msgspec

from tonnage.memory.allocator import AllocatorSettings, read_settings
from tonnage.memory.allocator.sizes import SMALL, round_size
from tonnage.memory.device import Device
from tonnage.memory.temporaries import Temporary, temporaries_of
from tonnage.memory.temporaries.rule import LAST
from tonnage.memory.trace import Trace
from tonnage.memory.workspaces import (
    lt_workspace_size,
    needs_lt_workspace,
    needs_workspace,
    workspace_size,
)

TEMPORARY, WORKSPACE = "temporary", "workspace"


class Slots(msgspec.Struct):
    """What is known of every block, by slot; parallel lists, because there are hundreds of thousands."""

    sizes: list[int] = msgspec.field(default_factory=list)
    """Rounded, as the allocator hands them out."""
    pools: list[int] = msgspec.field(default_factory=list)
    """Index into `pool_names`."""
    categories: list[str] = msgspec.field(default_factory=list)
    calls: list[int] = msgspec.field(default_factory=list)
    """The call that made it; -1 where none did."""
    pool_names: list[tuple[bool, int]] = msgspec.field(default_factory=list)
    """(is small, stream)."""
    optional: dict[int, int] = msgspec.field(default_factory=dict)
    """Slots an operation can do without, and the plan each belongs to: the same of every call of that operation."""

    def __len__(self) -> int:
        return len(self.sizes)

    def pool(self, name: tuple[bool, int]) -> int:
        """The number of a pool."""
        if name not in self.pool_names:
            self.pool_names.append(name)
        return self.pool_names.index(name)

    def add(self, size: int, stream: int, category: str, call: int) -> int:
        """A new slot; a size of 0 is a block that takes no memory."""
        self.sizes.append(size)
        self.pools.append(self.pool((size <= SMALL, stream)))
        self.categories.append(category)
        self.calls.append(call)
        return len(self.sizes) - 1


class Stretch(msgspec.Struct):
    """Events between two marks, with the call each happened in (-1: between calls)."""

    name: str
    events: list[int] = msgspec.field(default_factory=list)
    calls: list[int] = msgspec.field(default_factory=list)
    empties_cache: bool = False

    @property
    def is_step(self) -> bool:
        return self.name.startswith("step")


class Program(msgspec.Struct, frozen=True):
    """All a replay needs."""

    trace: Trace
    settings: AllocatorSettings
    slots: Slots
    stretches: tuple[Stretch, ...]


def program_of(trace: Trace, device: Device) -> Program:
    """The trace with what libraries and operations take beside it; raise SettingsError on impossible settings."""
    settings = read_settings(trace.settings)
    return _Writer(trace, device, settings).write()


class _Writer:
    """Walks the trace's events once."""

    def __init__(self, trace: Trace, device: Device, settings: AllocatorSettings) -> None:
        self.trace = trace
        self.settings = settings
        self.slots = Slots()
        self.stretches: list[Stretch] = [Stretch("build")]
        self.call = -1
        self.made = 0
        """Outputs of the current call so far."""
        self.waiting: list[Temporary] = []
        self.held: list[tuple[Temporary, int]] = []
        self.plans: dict[tuple[int, Temporary], int] = {}
        self.handles: set[tuple[int, int, bool]] = set()
        """Threads and streams that have a workspace, and whether it is cuBLASLt's."""
        self.workspaces = {False: workspace_size(device), True: lt_workspace_size(device)}
        self.multiplies = [needs_workspace(operation.name) for operation in trace.operations]
        self.adds_bias = [needs_lt_workspace(operation) for operation in trace.operations]
        self.temporaries = [temporaries_of(operation, device) for operation in trace.operations]

    def write(self) -> Program:
        """Most calls have neither temporaries nor a workspace: for those only what they make and free is noted."""
        trace = self.trace
        self._take_blocks()
        sizes, calls = self.slots.sizes, trace.calls
        is_plain = [
            not (temporaries or multiplies)
            for temporaries, multiplies in zip(self.temporaries, self.multiplies, strict=True)
        ]
        events, made_in = self.stretches[-1].events, self.stretches[-1].calls
        now, is_plain_now = -1, True
        for kind, argument in zip(trace.kinds, trace.arguments, strict=True):
            if kind == "f":
                if sizes[argument]:
                    events.append(~argument)
                    made_in.append(now)
            elif kind == "a":
                if not is_plain_now:
                    self._make(argument)
                elif sizes[argument]:
                    events.append(argument)
                    made_in.append(now)
            elif kind == "c":
                now = argument
                is_plain_now = is_plain_now and is_plain[calls[argument].operation]
                if not is_plain_now:
                    self._begin(argument)
            elif kind == "e":
                if not (is_plain_now and is_plain[calls[argument].operation]):
                    self._end(argument)
                now, is_plain_now = -1, True
            else:
                self._between(kind, argument)
                events, made_in = self.stretches[-1].events, self.stretches[-1].calls
        return Program(trace, self.settings, self.slots, tuple(self.stretches))

    def _take_blocks(self) -> None:
        """A slot for every block of the trace."""
        slots, blocks, categories = self.slots, self.trace.blocks, self.trace.categories
        rounded = {size: round_size(size, self.settings) if size else 0 for size in {b.size for b in blocks}}
        slots.sizes = [rounded[block.size] for block in blocks]
        slots.categories = [categories[block.category] for block in blocks]
        slots.calls = [block.call for block in blocks]
        names = [(size <= SMALL, block.stream) for size, block in zip(slots.sizes, blocks, strict=True)]
        pools = {name: slots.pool(name) for name in dict.fromkeys(names)}
        slots.pools = [pools[name] for name in names]

    def _between(self, kind: str, argument: int) -> None:
        if kind == "m":
            self._mark(argument)
        else:
            self._empty_cache(argument)

    def _emit(self, event: int) -> None:
        stretch = self.stretches[-1]
        stretch.events.append(event)
        stretch.calls.append(self.call)

    def _begin(self, call: int) -> None:
        self.call, self.made = call, 0
        self.waiting = list(self.temporaries[self.trace.calls[call].operation])
        if self.waiting:
            self._place(0)

    def _make(self, block: int) -> None:
        if self.held:
            self._return(self.made)
        if self.slots.sizes[block]:
            self._emit(block)
        self.made += 1
        if self.waiting:
            self._place(self.made)

    def _end(self, call: int) -> None:
        traced = self.trace.calls[call]
        if self.waiting:
            self._place(LAST)
        if self.multiplies[traced.operation]:
            self._hand_workspace(traced.thread, traced.stream, is_lt=False)
            if self.adds_bias[traced.operation]:
                self._hand_workspace(traced.thread, traced.stream, is_lt=True)
        if self.held:
            self._return(LAST)
        self.call = -1

    def _mark(self, mark: int) -> None:
        name = self.trace.marks[mark]
        if name != "build":
            self.stretches.append(Stretch(name))

    def _empty_cache(self, _: int) -> None:
        self.stretches[-1].empties_cache = True
        self.stretches.append(Stretch(self.stretches[-1].name))

    def _hand_workspace(self, thread: int, stream: int, *, is_lt: bool) -> None:
        if (thread, stream, is_lt) in self.handles or not self.workspaces[is_lt]:
            return
        self.handles.add((thread, stream, is_lt))
        size = round_size(self.workspaces[is_lt], self.settings)
        self._emit(self.slots.add(size, stream, WORKSPACE, self.call))

    def _place(self, made: int) -> None:
        """Take the temporaries whose time has come."""
        due = [temporary for temporary in self.waiting if temporary.after <= made]
        if not due:
            return
        self.waiting = [temporary for temporary in self.waiting if temporary.after > made]
        stream = self.trace.calls[self.call].stream
        for temporary in due:
            slot = self.slots.add(round_size(temporary.size, self.settings), stream, TEMPORARY, self.call)
            if temporary.is_optional:
                self.slots.optional[slot] = self._plan(temporary)
            self._emit(slot)
            self.held.append((temporary, slot))

    def _plan(self, temporary: Temporary) -> int:
        """A number for what an operation asks cuDNN for at this point."""
        key = (self.trace.calls[self.call].operation, temporary)
        return self.plans.setdefault(key, len(self.plans))

    def _return(self, made: int) -> None:
        """Free the temporaries that do not outlive this point."""
        staying = []
        for temporary, slot in self.held:
            if temporary.until <= made:
                self._emit(~slot)
            else:
                staying.append((temporary, slot))
        self.held = staying
