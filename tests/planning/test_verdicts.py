"""What a plan says of memory, pods and parts of GPUs: the verdict first, with the change that would turn it."""

from __future__ import annotations

from plan_builders import (
    GIB,
    AnEstimator,
    a_pod,
    a_snapshot,
    a_workload,
    changes,
    priced,
    sources,
    train,
)

from tonnage.planning.plan import make_plan
from tonnage.planning.solver.parts import PartAnswer


def rate(part: PartAnswer) -> int | None:
    """Micro-dollars per hour of an answer, the least of them."""
    return None if part.price is None else part.price.low


def test_a_step_that_fits_fits() -> None:
    plan = make_plan(a_workload(run=train()), sources(AnEstimator()), snapshot=a_snapshot())

    assert plan.verdict.kind == "fits"
    assert plan.memory.state == "fits"
    assert plan.memory.estimate is not None
    assert plan.memory.estimate.required == 60 * GIB


def test_a_step_that_does_not_fit_names_the_smallest_change_and_another() -> None:
    plan = make_plan(a_workload(run=train(microBatch=8)), sources(AnEstimator()), snapshot=a_snapshot())

    assert plan.verdict.kind == "fits if"
    assert changes(plan) == ["train.microBatch: 4 (accumulate 2)"]
    assert plan.verdict.changes[0].effect == "60.0 GiB, same time"
    assert any("checkpointing" in option.what for option in plan.options)


def test_what_no_single_change_mends_cannot_fit() -> None:
    plan = make_plan(
        a_workload(run=train(microBatch=1)),
        sources(AnEstimator(states=500, knobs=("micro_batch", "accumulation", "checkpointing"))),
        snapshot=a_snapshot(),
    )

    assert plan.verdict.kind == "cannot fit"
    assert "510.0 GiB needed, h100 has 79.1 GiB" in plan.verdict.reasons[0]


def test_a_larger_gpu_on_offer_is_a_change_too() -> None:
    plan = make_plan(
        a_workload(run=train(microBatch=1)),
        sources(AnEstimator(states=100, knobs=())),
        snapshot=a_snapshot("8xh100=2,8xh200=2"),
    )

    assert changes(plan) == ["gpus: 8 x h200"]


def test_without_a_model_the_rest_is_planned_all_the_same() -> None:
    plan = make_plan(a_workload(), sources(), snapshot=a_snapshot())

    assert plan.verdict.kind == "fits"
    assert plan.memory.state == "unknown"
    assert plan.placement is not None
    assert plan.placement.now.fits


def test_without_a_cluster_the_gpu_that_is_named_is_planned_on() -> None:
    plan = make_plan(a_workload(run=train()), sources(AnEstimator()))

    assert plan.placement is None
    assert plan.memory.gpu == "h100"
    assert plan.verdict.kind == "fits"


def test_an_open_gpu_type_becomes_the_cheapest_that_fits() -> None:
    found = [*priced("8xa100-40=2", 10), *priced("8xh100=2", 40), *priced("8xa100-80=2", 20)]
    plan = make_plan(a_workload(types=(), run=train()), sources(AnEstimator()), snapshot=a_snapshot(found))

    assert plan.memory.gpu == "a100-80"  # 60 GiB do not fit 40, and a100-80 is cheaper than h100
    assert plan.cost.per_hour == 20_000_000
    assert plan.placement is not None
    assert all(name.startswith("8xa100-80") for name in plan.placement.now.places)


def test_what_is_left_to_us_is_asked_for_as_needed() -> None:
    plan = make_plan(
        a_workload(run=train()), sources(AnEstimator(), memory=200 * GIB, cpu=16_000), snapshot=a_snapshot()
    )
    by_name = {need.name: need for need in plan.needs}

    assert by_name["memory"].granted == 200 * GIB
    assert by_name["memory"].state == "fits"
    assert plan.risk.qos == "Guaranteed"
    assert {value.field: value.origin for value in plan.effective}["memory"] == "estimated"


def test_less_than_needed_is_a_change_and_not_a_remark() -> None:
    pod = a_pod(8, memory="100Gi")
    plan = make_plan(
        a_workload(pod=pod, run=train()), sources(AnEstimator(), memory=200 * GIB), snapshot=a_snapshot()
    )

    assert changes(plan) == ["memory: 200Gi"]
    assert "OOMKilled" in plan.verdict.changes[0].why


def test_more_than_a_node_has_is_lowered_to_the_need() -> None:
    pod = a_pod(8, memory="9Ti")
    plan = make_plan(
        a_workload(pod=pod, run=train()), sources(AnEstimator(), memory=200 * GIB), snapshot=a_snapshot()
    )

    assert changes(plan) == ["memory: 200Gi"]


def test_a_need_no_node_can_meet_cannot_fit() -> None:
    plan = make_plan(
        a_workload(run=train()), sources(AnEstimator(), memory=9_000 * GIB), snapshot=a_snapshot()
    )

    assert plan.verdict.kind == "cannot fit"
    assert plan.verdict.reasons[0].startswith("RAM: 8.8 TiB needed, a node has ")


def test_more_ram_than_gpus_strands_gpus_at_a_price_and_is_no_refusal() -> None:
    pod = a_pod(2, memory="1500Gi")
    plan = make_plan(a_workload(gpus=2, pod=pod), sources(), snapshot=a_snapshot(priced("8xh100=2", 80)))

    assert plan.verdict.kind == "fits"
    assert plan.stranding is not None
    assert plan.stranding.scarcest == "memory"
    assert plan.stranding.stranded == 4  # 6 are left, RAM for 2
    assert plan.stranded_rate == 40_000_000


def test_half_a_gpu_is_answered_with_slice_share_and_the_price_of_the_idle_half() -> None:
    plan = make_plan(
        a_workload(gpus=0.5, run=train(microBatch=1)),
        sources(AnEstimator(states=20)),
        snapshot=a_snapshot(priced("8xh100=1", 80)),
    )
    answers = {part.how: part for part in plan.parts}

    assert answers["slice"].resource == "nvidia.com/mig-3g.40gb"
    assert rate(answers["slice"]) == 5_000_000
    assert answers["slice"].nodes == 0  # nobody has cut a GPU so
    assert answers["whole"].idle is not None
    assert answers["whole"].idle.low == 5_000_000
    assert plan.parts[0].how == "whole"


def test_slices_and_shares_that_nodes_offer_come_first() -> None:
    found = [*priced("8xh100=1", 80), *priced("4xa100-40=2+mig=3g.20gb", 8), *priced("1xl4=1+shared=2", 1)]
    plan = make_plan(
        a_workload(gpus=0.5, types=(), run=train(microBatch=1)),
        sources(AnEstimator(states=5, activations=1)),
        snapshot=a_snapshot(found),
    )
    first, second = plan.parts[:2]

    assert (first.how, first.gpu, rate(first), first.nodes) == ("shared", "l4", 500_000, 1)
    assert first.isolation.startswith("memory is not isolated")
    assert (second.how, second.gpu, second.profile, rate(second)) == (
        "slice",
        "a100-40",
        "3g.20gb",
        1_000_000,
    )
