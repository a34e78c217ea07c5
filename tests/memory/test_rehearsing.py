"""A replay that begins where its limit matters, over plain numbers, is the replay of the reference allocator."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st
from traces import a_trained_mlp

from tonnage.cluster.gpus import find_gpu
from tonnage.memory.allocator import AllocatorSettings, OutOfMemoryError
from tonnage.memory.device import device_of
from tonnage.memory.program import Program, Slots, Stretch, program_of
from tonnage.memory.rehearsing import Rehearsal
from tonnage.memory.replay import Outcome, replay

MIB = 2**20
sizes = st.integers(1, 60).map(lambda number: number * 768 * 1024) | st.integers(1, 4000).map(
    lambda number: number * 512
)


@st.composite
def programs(draw: st.DrawFn) -> Program:
    """A build and two steps over two streams; some blocks outlive their step, some can be done without."""
    slots, stretches, alive = Slots(), [], list[int]()
    for name in ("build", "step 0", "step 1"):
        events: list[int] = []
        for _ in range(draw(st.integers(3, 40))):
            if alive and draw(st.booleans()):
                events.append(~alive.pop(draw(st.integers(0, len(alive) - 1))))
            else:
                slot = slots.add(draw(sizes), draw(st.sampled_from([0, 0, 0, 7])), "temporary", -1)
                if draw(st.integers(0, 9)) == 0:
                    slots.optional[slot] = 0
                alive.append(slot)
                events.append(slot)
        stretches.append(Stretch(name, events, [-1] * len(events), draw(st.integers(0, 5)) == 0))
    trace = a_trained_mlp()
    return Program(trace, AllocatorSettings(), slots, tuple(stretches))


@given(programs(), st.lists(st.floats(0.3, 1.1), min_size=1, max_size=6))
@settings(max_examples=40, deadline=None)
def test_any_limit_has_the_outcome_of_a_replay_from_the_start(program: Program, parts: list[float]) -> None:
    rehearsal = Rehearsal(program)
    free = rehearsal.freely()
    assert free == replay(program)
    for part in parts:
        limit = int(free.peak_reserved * part)
        assert rehearsal.under(limit) == outcome(program, limit)


@given(st.floats(0.5, 1.05))
@settings(max_examples=5, deadline=None)
def test_a_traced_step_has_the_same_outcome_both_ways(part: float) -> None:
    program = program_of(a_trained_mlp(), device_of(find_gpu("h200")))
    rehearsal = Rehearsal(program)
    limit = int(rehearsal.freely().peak_reserved * part)
    assert rehearsal.under(limit) == outcome(program, limit)


def test_unusual_settings_are_left_to_the_reference() -> None:
    plain = program_of(a_trained_mlp(), device_of(find_gpu("h200")))
    growing = Program(plain.trace, AllocatorSettings(expandable_segments=True), plain.slots, plain.stretches)
    assert Rehearsal(growing).freely() == replay(growing)
    assert Rehearsal(growing).under(1 * MIB) is None


def outcome(program: Program, limit: int) -> Outcome | None:
    try:
        return replay(program, limit=limit)
    except OutOfMemoryError:
        return None


def test_a_plan_that_found_no_room_is_not_tried_again() -> None:
    """The second call of the same operation would have room for its workspace, and does without all the same."""
    slots = Slots()
    mib = 1 << 20
    large = slots.add(60 * mib, 0, "temporary", -1)
    first, second = (slots.add(50 * mib, 0, "temporary", -1) for _ in range(2))
    slots.optional.update({first: 0, second: 0})
    events = [large, first, ~first, ~large, second, ~second]
    stretch = Stretch("step 0", events, [-1] * len(events))
    program = Program(a_trained_mlp(), AllocatorSettings(), slots, (stretch,))
    outcome = Rehearsal(program, steps=1).under(100 * mib)
    assert outcome is not None
    assert outcome.peak_allocated == 60 * mib
    assert outcome == replay(program, limit=100 * mib, steps=1)
    assert outcome.retries == 1
