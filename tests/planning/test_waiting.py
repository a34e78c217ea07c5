"""GPUs that wait for data or for cores, with the price; runs without GPUs; saves within a short run."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from plan_builders import AnEstimator, a_run, a_snapshot, a_workload, nodes, price_of, priced, sources

from tonnage.figures import about_dollars, about_time
from tonnage.memory.estimate import Interval
from tonnage.memory.recipe import Parallel, Recipe
from tonnage.planning.answers import Plan
from tonnage.planning.figuring import PodSizer
from tonnage.planning.plan import make_plan
from tonnage.planning.risking import SHORTEST_INTERVAL, plan_checkpoints
from tonnage.planning.sources import PodFigures, Sources
from tonnage.planning.waiting import paced, waits_of
from tonnage.planning.workload.of_run import workload_of_run
from tonnage.reporting.plan import view_plan
from tonnage.reporting.plan.rows import rows

STEP = Interval(0.9, 1.0, 1.1)
RECIPE = Recipe(micro_batch=8, sequence=512, parallel=Parallel(ddp=8))


def planned(
    *, seconds: float = 1.0, cpu: Any = "auto", loader: dict[str, Any] | None = None, **train: Any
) -> Plan:
    """Eight H100 for $80 an hour; a step takes `seconds` per sample and 0.1 s more."""
    run = a_run(
        gpus="8 x h100",
        cpu=cpu,
        image="a:1",
        command="python train.py",
        checkpoints="s3://bucket/ckpt",
        train={"microBatch": 4, "sequence": 512, "steps": 1000, "loader": loader or {}, **train},
    )
    estimator = AnEstimator(seconds_per_sample=seconds)
    asked = Sources(estimator=estimator, price_of=price_of, figures_of=PodSizer(parameters=10**8))
    return make_plan(workload_of_run(run), asked, snapshot=a_snapshot(priced("8xh100=2", 80)))


def shown(plan: Plan) -> str:
    return "\n".join(line for part in rows(view_plan(plan)) for row in part for line in row.lines)


# -- the data loader


def test_a_loader_that_keeps_up_costs_nothing() -> None:
    plan = planned(seconds=0.1, loader={"workers": 4, "sampleSeconds": 0.05})

    assert plan.pace.idle_share == 0
    assert plan.pace.waits == ()
    assert "wait" not in shown(plan)


def test_gpus_that_wait_for_data_are_told_with_share_price_and_remedy() -> None:
    plan = planned(
        seconds=0.1, loader={"workers": 1, "sampleSeconds": 0.25}
    )  # 4 samples: 1 s for a step of 0.5 s

    assert plan.pace.idle_share == pytest.approx(0.5)
    (wait,) = plan.pace.waits
    assert (wait.cause, wait.per_hour, wait.remedy) == ("data loader", 40_000_000, "train.loader.workers: 2")
    assert plan.pace.step is not None
    assert plan.pace.step.p50 == pytest.approx(0.5)
    assert plan.pace.paced is not None
    assert plan.pace.paced.p50 == pytest.approx(1.0)
    assert "the GPUs wait 50 % of the time for data, $40 per hour" in shown(plan)


def test_time_and_money_to_the_end_contain_the_wait() -> None:
    fast = planned(seconds=0.1, loader={"workers": 4, "sampleSeconds": 0.05})
    slow = planned(seconds=0.1, loader={"workers": 1, "sampleSeconds": 0.25})

    assert fast.pace.total is not None
    assert slow.pace.total is not None
    assert slow.pace.total.p50 == pytest.approx(2 * fast.pace.total.p50, rel=0.03)
    assert fast.cost.total is not None
    assert slow.cost.total is not None
    assert slow.cost.total.p50 == pytest.approx(2 * fast.cost.total.p50, rel=0.03)


def test_without_workers_the_rank_makes_every_sample_itself() -> None:
    plan = planned(seconds=0.1, loader={"workers": 0, "sampleSeconds": 0.125})

    assert plan.pace.idle_share == pytest.approx(0.5)  # 0.5 s of samples beside 0.5 s of step


def test_where_a_sample_has_no_price_only_what_it_may_cost_is_told() -> None:
    plan = planned(seconds=0.1, loader={"workers": 2})

    assert plan.pace.idle_share is None
    assert plan.pace.loader_seconds == pytest.approx(2 * 0.5 / 4)
    assert "the GPUs wait if a sample costs a loader worker more than 250 ms" in shown(plan)


# -- cores


def test_fewer_cores_than_busy_processes_are_priced_as_the_most_it_can_be() -> None:
    plan = planned(cpu=11, loader={"workers": 4})  # 8 ranks x 1.5 and 32 workers: 44 cores

    (wait,) = plan.pace.waits
    assert (wait.cause, wait.is_bound, wait.remedy) == ("cpu", True, "cpu: 44")
    assert wait.idle_share == pytest.approx(0.75)
    assert wait.per_hour == 60_000_000
    assert "the GPUs wait up to 75 % of the time for cores, $60 per hour; cpu: 44 ends it" in shown(plan)
    assert plan.verdict.kind == "fits"


def test_what_may_be_is_kept_out_of_the_predicted_time() -> None:
    assert planned(cpu=11).pace.total == planned().pace.total


def test_how_long_it_may_take_is_said_beside_the_predicted_time() -> None:
    plan = planned(cpu=11, loader={"workers": 4})  # a quarter of the cores it may need
    assert plan.pace.total is not None
    assert plan.cost.total is not None
    most, dear = about_time(plan.pace.total.p50 * 4), about_dollars(round(plan.cost.total.p50 * 4))

    assert f"up to {most} and {dear} if the GPUs wait for cores" in shown(plan)
    assert "if the GPUs wait for cores" not in shown(planned())


def test_with_the_cost_of_a_sample_a_limit_is_part_of_the_time() -> None:
    loader = {
        "workers": 4,
        "sampleSeconds": 0.5,
    }  # 16 core-seconds of samples and 49 of ranks in a step of 4.1 s
    plan = planned(cpu=8, loader=loader)

    (wait,) = plan.pace.waits
    assert not wait.is_bound
    assert wait.step_seconds == pytest.approx((4.1 * 12 + 8 * 4 * 0.5) / 8)
    assert plan.pace.paced is not None
    assert plan.pace.paced.p50 == pytest.approx(wait.step_seconds)


def test_more_workers_than_a_node_has_cores_are_answered_with_fewer() -> None:
    plan = planned(loader={"workers": 40})  # 8 ranks x 40 workers on 191 cores

    assert [change.what for change in plan.verdict.changes] == ["train.loader.workers: 21"]
    again = planned(loader={"workers": 21})
    assert again.verdict.kind == "fits"


def test_cores_left_to_us_never_throttle() -> None:
    assert planned(loader={"workers": 16}).pace.waits == ()


@given(
    workers=st.integers(0, 64),
    sample=st.floats(1e-4, 10),
    cores=st.integers(100, 256_000),
    core_seconds=st.floats(0, 1000),
)
def test_waiting_never_makes_a_step_shorter_and_its_share_is_one_of_the_time(
    workers: int, sample: float, cores: int, core_seconds: float
) -> None:
    run = a_run(
        gpus="8 x h100",
        cpu=f"{cores}m",
        image="a:1",
        command="python t.py",
        train={"microBatch": 8, "sequence": 512, "loader": {"workers": workers, "sampleSeconds": sample}},
    )
    figures = PodFigures(
        figures=sources(cpu=10**6).figures_of(None, None, None).figures, cpu_seconds=core_seconds
    )  # type: ignore[arg-type]

    waits = waits_of(workload_of_run(run), RECIPE, STEP, figures=figures, price=None)
    taken = paced(STEP, waits)

    assert taken.p10 >= STEP.p10
    assert taken.p50 >= STEP.p50
    for wait in waits:
        assert 0 < wait.idle_share < 1
        assert wait.idle_share == pytest.approx(1 - STEP.p50 / wait.step_seconds)


# -- without GPUs


def on_cores(estimator: AnEstimator | None = None, **train: Any) -> Plan:
    run = a_run(image="a:1", command="python train.py", checkpoints="s3://b/c", train=train)
    found = [*priced("8xh100=1", 80), *nodes("cpu=2", annotations={"test/price": "2"})]
    asked = Sources(estimator=estimator, price_of=price_of, figures_of=PodSizer())
    return make_plan(workload_of_run(run), asked, snapshot=a_snapshot(found))


def test_a_run_without_gpus_gets_its_rows_beside_the_nodes_without_gpus() -> None:
    plan = on_cores(AnEstimator(states=2, activations=1), microBatch=2, sequence=128)
    needs = {need.name: need for need in plan.needs}

    assert set(needs) == {"memory", "shm", "disk", "cpu"}
    assert needs["memory"].needed is not None
    assert needs["memory"].needed > 4 * 2**30  # the step itself is in RAM
    assert needs["memory"].state == "fits"
    assert plan.pace.step is None
    assert {item.what for item in plan.unknown} >= {"time"}


def test_it_pays_for_the_largest_share_of_a_node() -> None:
    plan = on_cores(AnEstimator(states=2, activations=1), microBatch=2, sequence=128)
    shares = [need.share for need in plan.needs if need.name in ("memory", "cpu")]

    assert plan.cost.per_hour == pytest.approx(2_000_000 * max(share for share in shares if share), rel=1e-3)


def test_what_the_step_holds_is_said_to_be_unknown_without_a_shape() -> None:
    plan = on_cores(None, microBatch=2, sequence=128)

    assert [need.name for need in plan.needs] == ["memory", "shm", "disk", "cpu"]
    assert "RAM of the step" in {item.what for item in plan.unknown}


def test_what_its_needs_would_follow_from_is_named_where_it_is_missing() -> None:
    plan = on_cores()

    assert plan.needs == ()
    assert plan.cost.per_hour is None
    why = {item.what: item.why for item in plan.unknown}["RAM, /dev/shm, disk, CPU"]
    assert why == "train.microBatch is not said; they follow from it"


# -- saves of a short run


@given(
    lasts=st.floats(1, 10**7), saving=st.floats(0.01, 3600), nodes=st.integers(1, 1000), is_spot=st.booleans()
)
def test_a_run_saves_at_least_once_before_its_end(
    lasts: float, saving: float, nodes: int, is_spot: bool
) -> None:
    plan = plan_checkpoints(
        every_seconds=None,
        saving=saving,
        nodes=nodes,
        is_spot=is_spot,
        grace_seconds=None,
        grace_is_ours=True,
        lasts=lasts,
    )

    assert plan.interval_seconds <= max(SHORTEST_INTERVAL, lasts)
    assert plan.is_chosen


def test_an_interval_that_was_asked_for_is_kept_however_short_the_run() -> None:
    plan = plan_checkpoints(
        every_seconds=7200,
        saving=1,
        nodes=1,
        is_spot=False,
        grace_seconds=None,
        grace_is_ours=True,
        lasts=60,
    )

    assert plan.interval_seconds == 7200


def test_how_often_a_manifests_program_saves_is_not_made_up() -> None:
    plan = make_plan(a_workload(), sources(), snapshot=a_snapshot(priced("8xh100=2", 80)))

    assert plan.risk.at_risk is None
    assert "how often is not said" in shown(plan)
