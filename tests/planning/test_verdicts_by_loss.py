"""What a run takes and costs, and what of its work could be lost."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from plan_builders import (
    GIB,
    AnEstimator,
    a_claim,
    a_pod,
    a_run,
    a_snapshot,
    a_volume,
    a_workload,
    changes,
    priced,
    sources,
    train,
)

from tonnage.cluster.objects import PersistentVolumeClaim
from tonnage.planning.answers import Plan
from tonnage.planning.plan import make_plan
from tonnage.planning.workload import DiesWith, Durability
from tonnage.planning.workload.of_run import workload_of_run
from tonnage.reporting.plan import view_plan
from tonnage.reporting.plan.rows import rows


def shown(plan: Plan) -> list[str]:
    return [line for part in rows(view_plan(plan)) for row in part for line in row.lines]


def test_hours_and_dollars_to_the_end_carry_the_interval() -> None:
    plan = make_plan(
        a_workload(run=train(), steps=3600),
        sources(AnEstimator()),
        snapshot=a_snapshot(priced("8xh100=2", 80)),
    )
    assert plan.pace.total is not None
    assert plan.cost.total is not None

    assert plan.pace.total.p50 == pytest.approx(3600 * 4.1)
    assert plan.cost.total.p50 == pytest.approx(80e6 * 4.1)
    assert plan.cost.total.p10 < plan.cost.total.p50 < plan.cost.total.p90


def test_without_a_price_there_are_gpu_hours_only() -> None:
    plan = make_plan(a_workload(run=train(), steps=3600), sources(AnEstimator()), snapshot=a_snapshot())

    assert plan.cost.total is None
    assert plan.cost.gpu_hours is not None
    assert plan.cost.gpu_hours.p50 == pytest.approx(8 * 4.1)


def test_the_pace_says_what_a_sample_may_cost_the_loader() -> None:
    plan = make_plan(a_workload(run=train(), steps=3600), sources(AnEstimator()))

    assert plan.pace.loader_seconds == pytest.approx(
        32 * 4.1 / 32
    )  # 8 ranks x 4 workers, 32 samples per step


def test_a_deadline_and_a_budget_that_come_too_early_are_told() -> None:
    run = a_run(gpus="8 x h100", image="a:1", command="x", budget="$100", train={"microBatch": 4})
    plan = make_plan(
        a_workload(run=run, steps=3600, deadline_seconds=3600),
        sources(AnEstimator()),
        snapshot=a_snapshot(priced("8xh100=2", 80)),
    )

    assert "the deadline comes at 24 % of the training" in plan.warnings
    assert "the budget of $100 is spent at 30 % of the training" in plan.warnings


def test_more_than_an_hour_without_checkpoints_is_refused_with_its_price() -> None:
    plan = make_plan(
        a_workload(run=train(), steps=3600, checkpoints=None),
        sources(AnEstimator()),
        snapshot=a_snapshot(priced("8xh100=2", 80)),
    )

    assert plan.risk.is_refused
    assert changes(plan) == ["checkpoints: pvc/NAME"]
    assert "a death at 90 % costs $295" in plan.verdict.changes[0].why


def test_less_than_an_hour_without_checkpoints_is_fine() -> None:
    plan = make_plan(
        a_workload(run=train(), steps=100, checkpoints=None), sources(AnEstimator()), snapshot=a_snapshot()
    )

    assert plan.verdict.kind == "fits"


@pytest.mark.parametrize("dies", [DiesWith.CONTAINER, DiesWith.POD, DiesWith.NODE])
def test_checkpoints_that_die_with_pod_or_node_are_refused(dies: DiesWith) -> None:
    place = Durability("emptyDir", dies, f"it is gone with the {dies.value}")
    plan = make_plan(a_workload(checkpoints=place), sources(), snapshot=a_snapshot())

    assert plan.risk.is_refused
    assert f"die with the {dies.value}" in plan.verdict.changes[0].why


def lost(**fields: Any) -> Plan:
    """A manifest whose checkpoints die with its pod, on nodes that cost eighty dollars an hour."""
    workload = a_workload(checkpoints=Durability("emptyDir", DiesWith.POD, "gone"), **fields)
    return make_plan(workload, sources(), snapshot=a_snapshot(priced("8xh100=2", 80)))


def test_a_manifest_without_an_end_is_refused_with_the_price_of_each_hour() -> None:
    plan = lost()

    assert plan.risk.is_refused
    assert (plan.risk.late_death, plan.risk.late_death_per_hour) == (None, 72_000_000)
    assert "a death at 90 % costs $72 for each hour it was to last" in plan.verdict.changes[0].why
    assert any("all of it: a death at 90 % costs $72" in line for line in shown(plan))


def test_a_manifest_with_a_deadline_is_refused_with_the_price_of_nine_tenths_of_it() -> None:
    plan = lost(deadline_seconds=10 * 3600)

    assert plan.risk.late_death == 720_000_000
    assert "a death at 90 % of its deadline costs $720" in plan.verdict.changes[0].why


def test_without_a_price_nine_tenths_of_the_work_are_named() -> None:
    workload = a_workload(checkpoints=Durability("emptyDir", DiesWith.POD, "gone"))
    plan = make_plan(workload, sources(), snapshot=a_snapshot())

    assert "loses 90 % of the work" in plan.verdict.changes[0].why


def test_that_a_run_keeps_nothing_is_at_risk_and_not_unknown() -> None:
    run = a_run(gpus="8 x h100", image="a:1", command="x", train={"microBatch": 4, "steps": 10})
    workload = workload_of_run(run)
    plan = make_plan(workload, sources(AnEstimator()), snapshot=a_snapshot())

    assert "checkpoints" not in [item.what for item in plan.unknown]
    assert any(line.startswith("all of it, there are no checkpoints") for line in shown(plan))


def test_losing_work_can_be_accepted() -> None:
    place = Durability("emptyDir", DiesWith.POD, "it is gone with the pod")
    plan = make_plan(
        a_workload(checkpoints=place, accepts_losing_work=True), sources(), snapshot=a_snapshot()
    )

    assert plan.verdict.kind == "fits"
    assert not plan.risk.is_refused


def test_the_interval_between_saves_weighs_failures_against_the_time_of_a_save() -> None:
    few = make_plan(
        a_workload(run=train(), steps=9000), sources(AnEstimator(), checkpoint_bytes=100 * GIB)
    ).risk.checkpoints
    spot = make_plan(
        a_workload(run=train(), steps=9000, spot="only"), sources(AnEstimator(), checkpoint_bytes=100 * GIB)
    ).risk.checkpoints
    assert few is not None
    assert spot is not None

    assert few.is_chosen
    assert spot.interval_seconds < few.interval_seconds
    assert few.grace_seconds == 162  # 107 s at 1 GB/s and half as much again


@pytest.mark.parametrize("steps", [1, 5, 9000])
def test_no_more_is_at_risk_than_the_run_costs(steps: int) -> None:
    plan = make_plan(
        a_workload(run=train(), steps=steps),
        sources(AnEstimator(), checkpoint_bytes=GIB),
        snapshot=a_snapshot(priced("8xh100=2", 80)),
    )
    assert plan.risk.at_risk is not None
    assert plan.cost.total is not None

    assert 0 < plan.risk.at_risk <= round(plan.cost.total.p50)


def test_a_stop_that_leaves_no_time_to_save_is_a_caution() -> None:
    plan = make_plan(a_workload(), sources(checkpoint_bytes=100 * GIB), snapshot=a_snapshot())

    assert any("the last save would be cut off" in text for text in plan.risk.cautions)


def test_a_claim_without_a_volume_is_the_thing_to_change() -> None:
    mounts = [{"name": "ckpt", "persistentVolumeClaim": {"claimName": "ckpt"}}]
    workload = a_workload(pod=a_pod(8, volumes=mounts))
    claim = msgspec.convert(
        {
            "metadata": {"name": "ckpt", "namespace": "team"},
            "spec": {"accessModes": ["ReadWriteMany"]},
            "status": {"phase": "Pending"},
        },
        PersistentVolumeClaim,
    )
    plan = make_plan(workload, sources(), snapshot=a_snapshot(claims=(claim,)))

    assert changes(plan) == ["have pvc/ckpt bound to a volume"]


def test_a_missing_claim_is_told_before_pods_wait_for_it() -> None:
    mounts = [{"name": "ckpt", "persistentVolumeClaim": {"claimName": "ckpt"}}]
    workload = a_workload(pod=a_pod(8, volumes=mounts))

    assert changes(make_plan(workload, sources(), snapshot=a_snapshot())) == [
        "create the claim ckpt in namespace team"
    ]
    there = a_snapshot(claims=(a_claim(),), volumes=(a_volume(),))
    assert make_plan(workload, sources(), snapshot=there).verdict.kind == "fits"
    unseen = a_snapshot(gaps=("persistentvolumeclaims",))
    plan = make_plan(workload, sources(), snapshot=unseen)
    assert plan.verdict.kind == "fits"
    assert "volumes" in [item.what for item in plan.unknown]


def test_a_claim_on_a_local_volume_dies_with_its_node() -> None:
    local = {"required": {"nodeSelectorTerms": [{"matchExpressions": [
        {"key": "kubernetes.io/hostname", "operator": "In", "values": ["8xh100-0"]}
    ]}]}}  # fmt: skip
    snapshot = a_snapshot(claims=(a_claim(),), volumes=(a_volume(nodeAffinity=local),))
    plan = make_plan(a_workload(), sources(), snapshot=snapshot)

    assert plan.risk.is_refused
    assert plan.risk.dies_with is DiesWith.NODE
