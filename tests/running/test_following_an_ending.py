"""What comes after an ending: budgets, waits, remedies, and refusals that say what to try."""

from __future__ import annotations

import datetime as dt
from typing import Any

import pytest
from tests.running.situations import GIB, NOW, a_situation, ago, an_attempt, an_ending, policies

from tonnage.running.actions import Finish, GiveUp, Launch
from tonnage.running.attempts import Attempt, Size
from tonnage.running.deciding import decide
from tonnage.running.observing import Bounds, Refit


def after(*attempts: Attempt, policy: dict[str, Any] | None = None, **more: Any) -> Any:
    (action,) = decide(a_situation(*attempts, **more), policies(**(policy or {})), NOW)
    return action


def test_a_leak_gets_its_peak_and_what_it_grows_until_the_end() -> None:
    dead = an_ending(peak=260 * GIB, growth_per_second=34 * GIB / 36000, seconds_left=36000.0)
    launch = after(an_attempt(1, dead, size=Size(memory=260 * GIB)))
    assert launch.size.memory == 320 * GIB
    assert launch.why == "320 GiB (peak 260 GiB + what it grows until the end)"
    assert launch.after is None, "a cured cause does not wait"


def test_a_slope_that_its_own_life_does_not_bear_out_is_not_carried_on_for_ever() -> None:
    def memory(**more: Any) -> float:
        ending = an_ending(**{"peak": 10 * GIB, "growth_per_second": GIB, "seconds_left": 360_000.0, **more})
        return float(after(an_attempt(1, ending)).size.memory / GIB)

    assert memory(step=None) == 15, "loading is no leak"
    assert memory() == 11 + 20 * 10, "no faster than its peak in its life, no further than twenty lives"
    wall = Bounds(memory=64 * GIB, memory_wall="largest node")
    slow = an_ending(peak=10 * GIB, growth_per_second=2.9 * GIB / 3600, seconds_left=360_000.0)
    assert after(an_attempt(1, slow), bounds=wall).size.memory == 64 * GIB, (
        "a slope that did not fill it refuses nothing"
    )


def test_a_spike_gets_half_again_because_its_height_is_not_known() -> None:
    assert after(an_attempt(1, an_ending(peak=10 * GIB))).size.memory == 15 * GIB


def test_the_document_may_say_by_how_much() -> None:
    assert after(an_attempt(1, an_ending()), policy={"grow_by": 2.0}).size.memory == 20 * GIB


def test_request_and_limit_are_raised_together() -> None:
    guaranteed = an_attempt(1, an_ending(), size=Size(memory=10 * GIB, memory_request=10 * GIB))
    assert after(guaranteed).size.memory_request == after(guaranteed).size.memory
    burstable = an_attempt(1, an_ending(), size=Size(memory=10 * GIB, memory_request=5 * GIB))
    assert after(burstable).size.memory_request == 7.5 * GIB


def test_a_wall_below_the_wish_is_used_up_to_the_wall_once() -> None:
    bounds = Bounds(memory=13 * GIB, memory_wall="largest node gpu-07")
    first = an_attempt(1, an_ending())
    launch = after(first, bounds=bounds)
    assert launch.size.memory == 13 * GIB
    assert "all that largest node gpu-07 allows" in launch.why
    refusal = after(first, an_attempt(2, an_ending(), size=launch.size), bounds=bounds)
    assert isinstance(refusal, GiveUp)
    assert refusal.why == (
        "out of RAM at 13 GiB; it needs at least 15.6 GiB and largest node gpu-07 allows 13 GiB"
    )
    assert refusal.hint
    assert refusal.code == "RUN-010"


def test_a_leak_that_fills_the_wall_before_the_end_is_refused_at_once() -> None:
    dead = an_ending(peak=10 * GIB, growth_per_second=GIB / 100, seconds_left=10_000.0)
    leaked = an_attempt(1, dead, started=ago(1000))
    refusal = after(leaked, bounds=Bounds(memory=64 * GIB, memory_wall="quota team-walls"))
    assert "needs at least 100 GiB and quota team-walls allows 64 GiB" in refusal.why


def test_max_memory_is_a_wall_like_any_other() -> None:
    refusal = after(an_attempt(1, an_ending()), policy={"max_memory": 11 * GIB})
    assert "onOOM.maxMemory allows 11 GiB" in refusal.why
    assert "raise onOOM.maxMemory" in refusal.hint


def test_on_oom_fail_is_obeyed() -> None:
    assert isinstance(after(an_attempt(1, an_ending()), policy={"raise_memory": False}), GiveUp)


def test_what_nothing_limits_cannot_be_raised() -> None:
    refusal = after(an_attempt(1, an_ending(peak=9 * GIB), size=Size()))
    assert refusal.why == "out of RAM at 9 GiB with no limit of its own: the machine has no more"


@pytest.mark.parametrize("code", ["MEM-05", "MEM-06", "MEM-07"])
def test_shared_memory_is_doubled_and_memory_raised_by_as_much(code: str) -> None:
    small = an_attempt(1, an_ending(code=code), size=Size(memory=10 * GIB, shm=2 * GIB))
    assert after(small).size == Size(memory=12 * GIB, shm=4 * GIB)
    default = an_attempt(1, an_ending(code=code))
    assert after(default).size == Size(memory=11 * GIB, shm=GIB)


def test_an_evicted_pod_asks_for_what_it_used() -> None:
    size = Size(memory=64 * GIB, memory_request=8 * GIB)
    launch = after(an_attempt(1, an_ending("eviction", "MEM-03", peak=20 * GIB), size=size))
    assert launch.size.memory_request == 21 * GIB
    assert launch.size.memory == 64 * GIB


def test_a_pod_over_its_own_disk_limit_gets_twice_as_much() -> None:
    launch = after(an_attempt(1, an_ending("storage", "STO-01"), size=Size(disk=5 * GIB)))
    assert launch.size.disk == 10 * GIB


REFITS = (
    Refit(micro_batch=4, accumulation=2, required=70 * GIB, text="microBatch 4 (accumulate 2)"),
    Refit(micro_batch=4, accumulation=2, checkpointing="full", required=40 * GIB),
    Refit(micro_batch=8, accumulation=1, gpu="H200", required=90 * GIB),
)


def test_a_gpu_oom_takes_the_best_step_that_has_not_died() -> None:
    dead = an_ending("gpu_oom", "GPU-01e")
    first = an_attempt(1, dead, size=Size(micro_batch=8, accumulation=1))
    second = after(first, refits=REFITS)
    assert (second.size.micro_batch, second.why) == (4, "microBatch 4 (accumulate 2)")
    third = after(first, an_attempt(2, dead, size=second.size), refits=REFITS)
    assert third.size.checkpointing == "full"
    fourth = after(
        first, an_attempt(2, dead, size=second.size), an_attempt(3, dead, size=third.size), refits=REFITS
    )
    assert isinstance(fourth, GiveUp)
    assert "largerGpu" in fourth.hint


def test_a_larger_gpu_only_where_the_document_allows_it() -> None:
    first = an_attempt(1, an_ending("gpu_oom", "GPU-01e"), size=Size(micro_batch=8, accumulation=1))
    assert isinstance(after(first, refits=REFITS[2:]), GiveUp)
    assert after(first, refits=REFITS[2:], policy={"on_gpu_oom": "largerGpu"}).size.gpu == "H200"


def test_an_owner_who_asks_for_a_larger_gpu_gets_it_first_and_smaller_steps_when_there_is_none_left() -> None:
    dead, wish = an_ending("gpu_oom", "GPU-01e"), {"on_gpu_oom": "largerGpu"}
    first = an_attempt(1, dead, size=Size(micro_batch=8, accumulation=1))
    second = after(first, refits=REFITS, policy=wish)
    assert (second.size.gpu, second.size.micro_batch) == ("H200", 8)
    third = after(first, an_attempt(2, dead, size=second.size), refits=REFITS, policy=wish)
    assert (third.size.gpu, third.size.micro_batch) == ("H200", 4)
    lost = after(
        first, an_attempt(2, an_ending("spot", "PRE-05"), size=second.size), refits=REFITS, policy=wish
    )
    assert lost.size == second.size, "what was chosen stays chosen"


def test_each_cause_has_its_own_budget() -> None:
    gone = [an_attempt(n, an_ending("spot", "PRE-05")) for n in range(1, 6)]
    assert isinstance(after(*gone, an_attempt(6, an_ending("unknown", "UNKNOWN"))), Launch)
    twice = (an_attempt(1, an_ending("unknown", "UNKNOWN")), an_attempt(2, an_ending("unknown", "UNKNOWN")))
    refusal = after(*twice)
    assert refusal.why.startswith("an unexplained end again, after it was forgiven once")
    assert "retries.unknown" in refusal.hint
    assert refusal.code == "RUN-001"


def test_code_errors_are_not_retried() -> None:
    refusal = after(an_attempt(1, an_ending("code", "APP-01", summary="KeyError: 'labels'")))
    assert refusal.why == "KeyError: 'labels'; the program's own error is not retried"
    assert refusal.brief == "the program's own error is not retried"
    assert refusal.code == "RUN-002"


def test_its_owner_may_go_on_after_a_refusal_and_sizes_that_died_stay_dead() -> None:
    code = an_attempt(1, an_ending("code", "APP-01"))
    assert isinstance(after(code, forgiven=1), Launch)
    oom = [an_attempt(n, an_ending(), size=Size(memory=n * GIB)) for n in (1, 2, 3, 4)]
    assert isinstance(after(*oom), GiveUp)
    assert after(*oom, forgiven=4).size.memory == 6 * GIB


def test_a_deadline_is_not_retried_until_it_is_raised() -> None:
    dead = an_attempt(1, an_ending("deadline", "PRE-07"))
    assert after(dead).code == "RUN-002"
    assert after(dead, ran_seconds=100.0, policy={"deadline_seconds": 50.0}).code == "RUN-003"
    assert isinstance(after(dead, forgiven=1, ran_seconds=100.0, policy={"deadline_seconds": 500.0}), Launch)


def test_money_that_is_spent_starts_nothing() -> None:
    dead = an_attempt(1, an_ending("spot", "PRE-05"))
    assert after(dead, spent=100, policy={"budget": 100}).code == "RUN-004"
    assert isinstance(after(dead, spent=100, policy={"budget": 100, "on_exceed": "warn"}), Launch)


def test_waits_double_while_nothing_is_gained_and_start_over_when_something_is() -> None:
    def seconds(*safe: int | None) -> float:
        attempts = [
            an_attempt(n, an_ending("network", "NET-03", safe_step=step))
            for n, step in enumerate(safe, start=1)
        ]
        launch = after(*attempts, policy={"retries": {"network": 99}})
        return float((launch.after - NOW) / dt.timedelta(seconds=1))

    assert [seconds(*[None] * n) for n in (1, 2, 3, 9)] == [10, 20, 40, 300]
    assert seconds(None, None, 50) == 10
    assert seconds(None, 50, 50) == 10
    assert seconds(50, 50, 50) == 20


def test_success_is_finished() -> None:
    assert after(an_attempt(2, an_ending(None, step=1000))) == Finish(
        why="finished at step 1,000 in 2 attempts"
    )
