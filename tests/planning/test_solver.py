"""The solver gives the same answers as trying everything, and explains them with figures that add up."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace as with_fields
from solver_builders import GIB, AWorld, a_setup

from tonnage.planning.solver.explaining import steps_between, untouched
from tonnage.planning.solver.fixing import single_fixes
from tonnage.planning.solver.judging import Outcome, Remembering
from tonnage.planning.solver.searching import by_bisection, lazily, search
from tonnage.planning.solver.setup import Devices, micro_batches
from tonnage.planning.solver.space import Space, leanest, only, setups

worlds = st.builds(
    AWorld,
    states=st.integers(1, 200),
    activations=st.integers(1, 60),
    usable=st.fixed_dictionaries({"small": st.integers(5, 60), "large": st.integers(30, 120)}),
    rates=st.fixed_dictionaries(
        {
            "small": st.one_of(st.none(), st.integers(1, 4_000)),
            "large": st.one_of(st.none(), st.integers(1, 9_000)),
        }
    ),
    jitter=st.lists(st.sampled_from([0.0, 0.1, 0.5, 2.0]), min_size=1, max_size=5).map(tuple),
    blocked=st.frozensets(st.sampled_from([Devices("small", 2), Devices("large", 1)])),
)


@st.composite
def spaces(draw: st.DrawFn) -> Space:
    base = a_setup(
        micro_batch=draw(st.sampled_from([1, 2, 3, 4, 6, 8])), accumulation=draw(st.integers(1, 4))
    )
    pick = lambda values: tuple(draw(st.lists(st.sampled_from(values), min_size=1, unique=True)))  # noqa: E731
    return with_fields(
        only(base),
        devices=pick([Devices("large", 1), Devices("small", 2), Devices("small", 4), Devices("large", 2, 2)]),
        checkpointing=pick(["none", "selective", "full"]),
        precisions=pick(["amp-bf16", "fp32"]),
        shardings=pick(["ddp", "fsdp", "hsdp", "zero1", "zero3"]),
        tensor=pick([1, 2]),
        offloads=pick(["none", "optimizer"]),
        may_cut=draw(st.booleans()),
    )


def brute_force(space: Space, world: AWorld) -> list[Outcome]:
    """Every setup that fits and meets no obstacle, the best first."""
    judge = Remembering(world)
    outcomes = [outcome for setup in setups(space) if (outcome := judge.outcome(setup)) is not None]
    fitting = [one for one in outcomes if one.room.fits and world.obstacle(one.setup) is None]
    return sorted(fitting, key=lambda outcome: outcome.rank)


@settings(max_examples=300, deadline=None)
@given(spaces(), worlds)
def test_the_answer_is_that_of_trying_everything(space: Space, world: AWorld) -> None:
    every = brute_force(space, world)
    solution = search(space, world)

    if not every:
        assert solution.best is None
        return
    assert solution.best is not None
    assert solution.best.rank == every[0].rank
    best_of_kind: dict[tuple[object, ...], Outcome] = {}
    for outcome in every:
        best_of_kind.setdefault(outcome.setup.kind, outcome)
    best_of_kind.pop(solution.best.setup.kind)
    runners = sorted(outcome.rank for outcome in best_of_kind.values())[:2]
    assert [outcome.rank for outcome in solution.runners_up] == runners


@settings(max_examples=150, deadline=None)
@given(spaces(), worlds)
def test_every_answer_fits_and_keeps_the_global_batch(space: Space, world: AWorld) -> None:
    solution = search(space, world)

    for outcome in (solution.best, *solution.runners_up):
        if outcome is not None:
            assert outcome.room.fits
            assert outcome.setup.global_batch == space.global_batch
            assert outcome.setup.recipe.parallel.world_size == outcome.setup.devices.count


@settings(max_examples=150, deadline=None)
@given(spaces(), worlds)
def test_bisection_finds_the_same_where_larger_micro_batches_are_faster(space: Space, world: AWorld) -> None:
    steady = replace(world, jitter=(0.0,))
    solution, dear = search(space, steady), by_bisection(space, steady)

    assert (solution.best is None) == (dear.best is None)
    if solution.best is not None and dear.best is not None:
        assert dear.best.cost == pytest.approx(solution.best.cost)


@settings(max_examples=200, deadline=None)
@given(spaces(), worlds)
def test_lazy_search_finds_the_same_where_larger_micro_batches_are_faster(
    space: Space, world: AWorld
) -> None:
    steady = replace(world, jitter=(0.0,))
    every, lazy = brute_force(space, steady), lazily(space, steady)

    assert (lazy.best is None) == (not every)
    if lazy.best is not None:
        assert lazy.best.rank[:3] == every[0].rank[:3]


@settings(max_examples=150, deadline=None)
@given(spaces(), worlds)
def test_nothing_takes_less_memory_than_the_leanest(space: Space, world: AWorld) -> None:
    lean = leanest(space)
    rooms = [room.required for setup in setups(space) if (room := world.room(setup)) is not None]
    same_devices = len({devices.count for devices in space.devices}) == 1 and len(space.shardings) == 1
    if lean is None or not same_devices:
        return

    room = world.room(lean)
    assert room is not None
    assert room.required == min(rooms)


def test_bisection_asks_few_questions() -> None:
    base = a_setup(micro_batch=64, accumulation=1)
    world = AWorld(states=10, activations=4)
    solution = by_bisection(with_fields(only(base), may_cut=True), world)

    assert solution.best is not None
    assert solution.best.setup.recipe.micro_batch == 16
    assert solution.asked <= 3


def test_nothing_fits_and_nothing_is_proposed() -> None:
    world = AWorld(states=10_000)

    assert search(only(a_setup()), world).best is None


def test_obstacles_are_told_when_they_are_what_is_in_the_way() -> None:
    base = a_setup(micro_batch=1)
    world = AWorld(states=1, blocked=frozenset({base.devices}))
    solution = search(only(base), world)

    assert solution.best is None
    assert solution.obstacles == ("no such nodes",)


def test_the_smallest_fix_turns_one_knob_only() -> None:
    base = a_setup(micro_batch=8, accumulation=1)
    world = AWorld(states=10, activations=20)  # 10 + 160 of 80 GiB
    space = with_fields(only(base), checkpointing=("none", "selective", "full"), may_cut=True)
    fixes = single_fixes(space, world)

    assert [fix.knob for fix in fixes] == ["micro_batch", "checkpointing"]
    assert fixes[0].outcome.setup.recipe.micro_batch == 2
    assert fixes[0].outcome.setup.recipe.accumulation == 4
    assert fixes[1].outcome.setup.recipe.checkpointing == "full"
    assert fixes[1].saved == 120 * GIB
    assert fixes[1].slower == pytest.approx(0.33)


@settings(max_examples=150, deadline=None)
@given(spaces(), worlds)
def test_the_steps_of_an_explanation_add_up(space: Space, world: AWorld) -> None:
    solution = search(space, world)
    if solution.best is None:
        return
    base, chosen = space.base, solution.best.setup
    turns = steps_between(base, chosen, world)

    assert [turn.before.setup for turn in turns[1:]] == [turn.after.setup for turn in turns[:-1]]
    if base != chosen:
        assert turns[0].before.setup == base
        assert turns[-1].after.setup == chosen
    else:
        assert turns == []


def test_knobs_left_alone_say_what_they_would_have_saved() -> None:
    base = a_setup(micro_batch=1)
    space = with_fields(only(base), checkpointing=("none", "full"), offloads=("none", "optimizer"))
    left = {
        turn.knobs: turn.saved // GIB for turn in untouched(space, base, AWorld(states=10, activations=8))
    }

    assert left == {("checkpointing",): 6, ("offload",): 5}


@given(st.integers(1, 96), st.integers(1, 8))
def test_micro_batches_divide_what_a_rank_sees(global_batch: int, data: int) -> None:
    sizes = list(micro_batches(global_batch, data))

    assert sizes == sorted(sizes)
    assert all(global_batch % (size * data) == 0 for size in sizes)
    assert bool(sizes) == (global_batch % data == 0)
