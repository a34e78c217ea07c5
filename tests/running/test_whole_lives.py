"""Whole lives of runs, thousands of them: what must hold whatever is true of the world and whoever pulls plugs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.running.lives import MIB, Life, Plug, World, ending_sizes, endings

from tonnage.running.actions import Finish, GiveUp
from tonnage.running.attempts import Size
from tonnage.running.observing import Bounds, Refit
from tonnage.running.policies import Policies, retries_of
from tonnage.spec.run.policies import Retries

CAUSES = ("preemption", "spot", "eviction", "node", "unknown")
POLICIES = Policies(retries=retries_of(Retries()))


@st.composite
def worlds(draw: st.DrawFn) -> World:
    """Anything a run can meet."""
    return World(
        base=draw(st.integers(1, 6000)) * MIB,
        leak=draw(st.sampled_from([0.0, 0.0, 0.05, 0.5, 2.0, 20.0])) * MIB,
        total=draw(st.integers(1, 120)),
        save_every=draw(st.integers(1, 40)),
        micro_batch_that_fits=draw(st.integers(0, 16)),
        code_error_at=draw(st.one_of(st.none(), st.none(), st.integers(0, 120))),
        plugs=tuple(
            draw(
                st.lists(
                    st.builds(Plug, st.sampled_from((*CAUSES, "nobody")), st.floats(0, 1500)), max_size=30
                )
            )
        ),
        tells_growth=draw(st.booleans()),
    )


@st.composite
def policies(draw: st.DrawFn) -> Policies:
    tries = draw(st.one_of(st.none(), st.integers(0, 5)))
    return Policies(
        retries=retries_of(Retries() if tries is None else Retries.model_validate(tries)),
        backoff_first_seconds=draw(st.sampled_from([0.0, 1.0, 10.0])),
        grow_by=draw(st.one_of(st.none(), st.floats(1.001, 4))),
        max_memory=draw(st.one_of(st.none(), st.integers(500, 9000).map(lambda mib: mib * MIB))),
        on_gpu_oom=draw(st.sampled_from(["refit", "refit", "largerGpu", "fail"])),
        raise_memory=draw(st.sampled_from([True, True, True, False])),
        deadline_seconds=draw(st.one_of(st.none(), st.floats(1, 5000))),
    )


def refits(micro: int | None) -> tuple[Refit, ...]:
    if micro is None:
        return ()
    sizes = [size for size in (8, 4, 2, 1) if size < micro]
    return tuple(Refit(micro_batch=size, accumulation=16 // size) for size in sizes)


@st.composite
def lives(draw: st.DrawFn) -> Life:
    micro = draw(st.sampled_from([None, 16, 8]))
    wall = draw(st.one_of(st.none(), st.integers(600, 12000)))
    return Life(
        world=draw(worlds()),
        policies=draw(policies()),
        bounds=Bounds(memory=None if wall is None else wall * MIB, memory_wall="largest node"),
        first_size=Size(memory=draw(st.integers(500, 3000)) * MIB, micro_batch=micro),
        refits=refits(micro),
    )


@given(lives())
@settings(max_examples=120, deadline=None)
def test_no_life_goes_on_for_ever_and_no_oom_happens_twice(life: Life) -> None:
    life.live()
    deaths = ending_sizes(life)
    assert len(set(deaths)) == len(deaths), f"the same OOM twice: {deaths}"


@given(lives())
@settings(max_examples=120, deadline=None)
def test_attempts_never_exceed_what_budgets_forgive(life: Life) -> None:
    life.live()
    used = Counter(each.cause for each in endings(life) if each.cause is not None)
    for cause, count in used.items():
        assert count <= life.policies.retries.get(cause, 0) + 1, cause
    assert used["code"] <= 1


@given(lives())
@settings(max_examples=120, deadline=None)
def test_memory_that_was_raised_is_never_lowered_and_stays_within_the_walls(life: Life) -> None:
    life.live()
    sizes = [each.size.memory or 0 for each in life.attempts]
    assert sizes == sorted(sizes)
    walls = [wall for wall in (life.bounds.memory, life.policies.max_memory) if wall is not None]
    assert all(size <= min(walls) for size in sizes[1:] if walls and size > sizes[0])


@given(lives())
@settings(max_examples=120, deadline=None)
def test_an_ending_never_claims_a_later_checkpoint_or_less_loss_than_there_was(life: Life) -> None:
    life.live()
    safe: Sequence[int] = [each.safe_step or 0 for each in endings(life)]
    assert list(safe) == sorted(safe), "a checkpoint is never lost"
    for attempt in life.attempts:
        ending = attempt.ending
        assert ending is not None
        if ending.cause is None:
            continue
        assert ending.step is not None
        assert ending.lost_seconds is not None
        assert attempt.started is not None
        assert (ending.safe_step or 0) <= ending.step
        steps_lost = ending.step - max(ending.safe_step or 0, 0)
        assert ending.lost_seconds <= steps_lost * life.world.step_seconds + 1e-6
        assert ending.lost_seconds <= (ending.when - attempt.started).total_seconds() + 1e-6


@given(lives())
@settings(max_examples=120, deadline=None)
def test_only_what_reached_its_last_step_is_called_finished(life: Life) -> None:
    life.live()
    last = life.attempts[-1].ending if life.attempts else None
    if isinstance(life.outcome, Finish):
        assert last is not None
        assert last.step == life.world.total
    else:
        assert isinstance(life.outcome, GiveUp)
        assert life.outcome.why
        assert life.outcome.code


def test_a_leak_comes_back_larger_and_finishes() -> None:
    world = World(base=800 * MIB, leak=1.0 * MIB, total=100)
    life = Life(world=world, policies=POLICIES).live()
    assert isinstance(life.outcome, Finish)
    assert [each.cause for each in endings(life)] == ["host_oom", None]
    assert life.attempts[1].why.startswith("1.9 GiB (peak 1 GiB + what it grows until the end)")


def test_raised_memory_survives_a_later_preemption() -> None:
    world = World(
        base=800 * MIB, leak=1.0 * MIB, total=100, plugs=(Plug("nobody", 1e9), Plug("preemption", 100))
    )
    life = Life(world=world, policies=POLICIES).live()
    assert [each.cause for each in endings(life)] == ["host_oom", "preemption", None]
    assert life.attempts[2].size == life.attempts[1].size


def test_a_run_that_needs_more_than_the_largest_node_is_refused_not_looped() -> None:
    life = Life(
        world=World(base=9000 * MIB, total=10),
        policies=POLICIES,
        bounds=Bounds(memory=1400 * MIB, memory_wall="largest node gpu-07"),
    ).live()
    assert isinstance(life.outcome, GiveUp)
    assert "largest node gpu-07 allows 1.4 GiB" in life.outcome.why
    assert life.outcome.hint
    assert len(life.attempts) == 2


def test_a_gpu_oom_takes_the_next_smaller_step_and_keeps_it() -> None:
    world = World(
        micro_batch_that_fits=4, total=30, plugs=(Plug("nobody", 0), Plug("nobody", 0), Plug("node", 50))
    )
    life = Life(
        world=world, policies=POLICIES, first_size=Size(memory=2048 * MIB, micro_batch=16), refits=refits(16)
    ).live()
    assert isinstance(life.outcome, Finish)
    assert [each.size.micro_batch for each in life.attempts] == [16, 8, 4, 4]
    assert [each.size.accumulation for each in life.attempts] == [None, 2, 4, 4]


def test_an_error_of_the_program_is_not_retried() -> None:
    life = Life(world=World(code_error_at=3), policies=POLICIES).live()
    assert isinstance(life.outcome, GiveUp)
    assert len(life.attempts) == 1
    assert "KeyError: 'labels'" in life.outcome.why
