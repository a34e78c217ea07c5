"""What a plan says: the verdict first, with the change that would turn it."""

from __future__ import annotations

import msgspec
import pytest
from plan_builders import (
    GIB,
    GPU,
    AnEstimator,
    a_busy_pod,
    a_claim,
    a_limit_range,
    a_pod,
    a_quota,
    a_run,
    a_snapshot,
    a_volume,
    a_workload,
    loose,
    nodes,
    priced,
    sources,
    train,
)

from tonnage.cluster.objects import PersistentVolumeClaim
from tonnage.planning.answers import Plan
from tonnage.planning.plan import make_plan
from tonnage.planning.workload import DiesWith, Durability


def changes(plan: Plan) -> list[str]:
    return [change.what for change in plan.verdict.changes]


# -- GPU memory


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


# -- the pod


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


# -- where


def test_what_others_hold_makes_it_wait_not_misfit() -> None:
    busy = [a_busy_pod(f"8xh100-{index}", 1) for index in range(6)]
    plan = make_plan(a_workload(run=train()), sources(AnEstimator()), snapshot=a_snapshot(pods=busy))

    assert plan.verdict.kind == "fits"
    assert plan.placement is not None
    assert not plan.placement.now.fits
    assert plan.placement.empty.fits


def test_a_taint_nobody_tolerates_is_named_and_the_change_is_checked() -> None:
    pod = a_pod(8, tolerations=[])
    plan = make_plan(a_workload(pod=pod), sources(), snapshot=a_snapshot())

    assert changes(plan) == [f"tolerate {GPU}=present:NoSchedule"]
    assert plan.verdict.changes[0].effect == "6 nodes would take it"


def test_a_label_no_node_has_is_named() -> None:
    pod = a_pod(8, nodeSelector={"gpu": "true"})
    plan = make_plan(a_workload(pod=pod), sources(), snapshot=a_snapshot())

    assert changes(plan) == ["drop the node selector gpu=true"]


def test_pods_larger_than_any_node_are_cut_up() -> None:
    plan = make_plan(
        a_workload(gpus=16, run=train()), sources(AnEstimator()), snapshot=a_snapshot("8xh100=2")
    )

    assert changes(plan) == ["nodes: 2, gpus: 8 x h100"]


def test_more_pods_than_nodes_are_counted() -> None:
    plan = make_plan(
        a_workload(count=4, run=train()), sources(AnEstimator()), snapshot=a_snapshot("8xh100=3")
    )

    assert changes(plan) == ["nodes: 3"]


def test_a_gpu_too_small_for_the_step_is_marked_though_the_pod_would_go_there() -> None:
    plan = make_plan(
        a_workload(types=(), run=train()),
        sources(AnEstimator()),
        snapshot=a_snapshot("8xa100-40=1,8xh100=1"),
    )
    assert plan.placement is not None
    marks = {group.gpu: group.memory_fits for group in plan.placement.groups}

    assert marks == {"a100-40": False, "h100": True}


# -- stranding


def test_more_ram_than_gpus_strands_gpus_at_a_price_and_is_no_refusal() -> None:
    pod = a_pod(2, memory="1500Gi")
    plan = make_plan(a_workload(gpus=2, pod=pod), sources(), snapshot=a_snapshot(priced("8xh100=2", 80)))

    assert plan.verdict.kind == "fits"
    assert plan.stranding is not None
    assert plan.stranding.scarcest == "memory"
    assert plan.stranding.stranded == 4  # 6 are left, RAM for 2
    assert plan.stranded_rate == 40_000_000


# -- walls


def test_a_quota_used_up_by_others_makes_it_wait() -> None:
    quota = a_quota({f"requests.{GPU}": "16"}, {f"requests.{GPU}": "12"})
    plan = make_plan(a_workload(), sources(), snapshot=a_snapshot(quotas=(quota,)))

    assert [wall.standing for wall in plan.walls] == ["wait"]
    assert plan.verdict.kind == "fits"


def test_a_quota_smaller_than_the_gang_never_lets_it_in() -> None:
    quota = a_quota({f"requests.{GPU}": "12"})
    plan = make_plan(a_workload(count=2), sources(), snapshot=a_snapshot(quotas=(quota,)))

    assert plan.verdict.kind == "cannot fit"
    assert plan.verdict.reasons == (f"quota wall: you ask 16 of requests.{GPU}, the wall is 12",)


def test_a_limit_range_refuses_in_the_api_servers_words() -> None:
    plan = make_plan(
        a_workload(pod=a_pod(8, memory="2Ti")),
        sources(),
        snapshot=a_snapshot("8xh100=6", limit_ranges=(a_limit_range(max={"memory": "1Ti"}),)),
    )

    assert plan.verdict.kind == "cannot fit"
    assert "maximum memory usage per Container is 1Ti" in " ".join(plan.verdict.reasons)


def test_quotas_of_other_namespaces_do_not_matter() -> None:
    quota = a_quota({f"requests.{GPU}": "1"}, namespace="other")

    assert make_plan(a_workload(), sources(), snapshot=a_snapshot(quotas=(quota,))).walls == ()


# -- money and time


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


# -- what can be lost


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


# -- parts of a GPU


def test_half_a_gpu_is_answered_with_slice_share_and_the_price_of_the_idle_half() -> None:
    plan = make_plan(
        a_workload(gpus=0.5, run=train(microBatch=1)),
        sources(AnEstimator(states=20)),
        snapshot=a_snapshot(priced("8xh100=1", 80)),
    )
    answers = {part.how: part for part in plan.parts}

    assert answers["slice"].resource == "nvidia.com/mig-3g.40gb"
    assert answers["slice"].rate == 5_000_000
    assert answers["slice"].nodes == 0  # nobody has cut a GPU so
    assert answers["whole"].idle_rate == 5_000_000
    assert plan.parts[0].how == "whole"


def test_slices_and_shares_that_nodes_offer_come_first() -> None:
    found = [*priced("8xh100=1", 80), *priced("4xa100-40=2+mig=3g.20gb", 8), *priced("1xl4=1+shared=2", 1)]
    plan = make_plan(
        a_workload(gpus=0.5, types=(), run=train(microBatch=1)),
        sources(AnEstimator(states=5, activations=1)),
        snapshot=a_snapshot(found),
    )
    first, second = plan.parts[:2]

    assert (first.how, first.gpu, first.rate, first.nodes) == ("shared", "l4", 500_000, 1)
    assert first.isolation.startswith("memory is not isolated")
    assert (second.how, second.gpu, second.profile, second.rate) == ("slice", "a100-40", "3g.20gb", 1_000_000)


def test_queues_are_asked_when_there_are_any() -> None:
    group = {
        "coveredResources": [GPU],
        "flavors": [{"name": "h100", "resources": [{"name": GPU, "nominalQuota": 8, "borrowingLimit": 24}]}],
    }
    lending = {
        "coveredResources": [GPU],
        "flavors": [{"name": "h100", "resources": [{"name": GPU, "nominalQuota": 16}]}],
    }

    def standing(used: int, asked: int, lent: int = 0) -> tuple[str, str]:
        def usage(total: int) -> dict[str, object]:
            return {"flavorsReservation": [{"name": "h100", "resources": [{"name": GPU, "total": total}]}]}

        snapshot = a_snapshot(
            nodes("8xh100=9"),
            local_queues=(loose("LocalQueue", "research", {"clusterQueue": "cq"}, namespace="team"),),
            cluster_queues=(
                loose("ClusterQueue", "cq", {"cohortName": "all", "resourceGroups": [group]}, usage(used)),
                loose(
                    "ClusterQueue", "other", {"cohortName": "all", "resourceGroups": [lending]}, usage(lent)
                ),
            ),
        )
        workload = a_workload(count=asked // 8, queue="research")
        (wall,) = make_plan(workload, sources(), snapshot=snapshot).walls
        return wall.standing, wall.text

    assert standing(0, 8)[0] == "open"
    assert standing(8, 8) == (
        "open",
        f"queue research uses 8 of 8+16 {GPU}; 8 would be borrowed and can be taken back",
    )
    assert standing(8, 16, lent=8)[0] == "wait"
    assert standing(0, 32)[0] == "never"


def test_a_claim_on_a_local_volume_dies_with_its_node() -> None:
    local = {"required": {"nodeSelectorTerms": [{"matchExpressions": [
        {"key": "kubernetes.io/hostname", "operator": "In", "values": ["8xh100-0"]}
    ]}]}}  # fmt: skip
    snapshot = a_snapshot(claims=(a_claim(),), volumes=(a_volume(nodeAffinity=local),))
    plan = make_plan(a_workload(), sources(), snapshot=snapshot)

    assert plan.risk.is_refused
    assert plan.risk.dies_with is DiesWith.NODE
