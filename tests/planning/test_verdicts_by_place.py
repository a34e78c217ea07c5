"""Where a run fits, now and empty, and what quotas, limits and queues say to it."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace
from plan_builders import (
    GPU,
    AnEstimator,
    a_busy_pod,
    a_limit_range,
    a_pod,
    a_quota,
    a_run,
    a_snapshot,
    a_workload,
    changes,
    loose,
    nodes,
    sources,
    train,
)

from tonnage.cluster.objects import Pod
from tonnage.planning.answers import Plan
from tonnage.planning.plan import make_plan
from tonnage.planning.workload import GpuWish, Role
from tonnage.planning.workload.of_run import workload_of_run
from tonnage.reporting.plan import view_plan
from tonnage.reporting.plan.rows import rows


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


def beside(*roles: Role, **objects: Any) -> Plan:
    """A manifest of several roles, on six nodes of eight H100."""
    workload = replace(a_workload(), roles=roles)
    return make_plan(workload, sources(), snapshot=a_snapshot("8xh100=6,cpu=2", **objects))


def a_role(name: str, pod: Pod, *, gpus: int = 8, count: int = 1) -> Role:
    wish = GpuWish(gpus * 1000, "whole" if gpus else "none", GPU if gpus else "", ())
    return Role(name=name, count=count, pod=pod, gpus=wish, container="train")


def test_what_keeps_the_pods_beside_the_trainers_away_is_found_too() -> None:
    lost = a_role("Master", a_pod(8, tolerations=[], nodeSelector={"cloud": "nowhere"}))
    plan = beside(a_role("Worker", a_pod(8, tolerations=[]), count=3), lost)

    assert plan.verdict.kind == "fits if"
    assert changes(plan) == [
        f"tolerate {GPU}=present:NoSchedule",
        "drop the node selector cloud=nowhere",
    ]


def test_what_runs_short_is_named_with_the_node_that_comes_closest() -> None:
    run = a_run(nodes=3, cpu=1, memory="1Gi", disk="300Gi", command="true")
    plan = make_plan(workload_of_run(run), sources(), snapshot=a_snapshot("cpu=1"))

    (change,) = plan.verdict.changes
    assert change.what == "nodes: 1"
    assert change.why.startswith("there is room for 1 of 3 pods; the next: 300 GiB disk asked for, ")
    assert change.why.endswith(" disk left on cpu-0")


def test_pods_that_do_not_train_and_find_no_node_are_named() -> None:
    plan = beside(a_role("Worker", a_pod(8)), a_role("PS", a_pod(0, memory="90Ti"), gpus=0))

    assert plan.verdict.kind == "cannot fit"
    (reason,) = plan.verdict.reasons
    assert reason.startswith("PS: only 1 of 2 pods find a node, even empty; to the others: ")
    assert "Insufficient memory" in reason
    assert "preemption" not in reason


def test_nodes_are_not_called_small_where_a_taint_closes_them() -> None:
    asked = a_pod(16, tolerations=[])
    plan = make_plan(a_workload(gpus=16, pod=asked), sources(), snapshot=a_snapshot("8xh100=6,cpu=2"))
    assert plan.verdict.reasons == (f"no node is large enough: 16 {GPU} asked for, 8 {GPU} there",)

    away = a_pod(8, tolerations=[], affinity=elsewhere())
    plan = make_plan(a_workload(pod=away), sources(), snapshot=a_snapshot("8xh100=6,cpu=2"))
    assert not any("large enough" in reason for reason in plan.verdict.reasons)


def elsewhere() -> dict[str, Any]:
    """An affinity for a zone that is not there."""
    line = {"key": "topology.kubernetes.io/zone", "operator": "In", "values": ["moon"]}
    terms = {"nodeSelectorTerms": [{"matchExpressions": [line]}]}
    return {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}}


def test_a_document_whose_ranks_do_not_divide_is_not_said_to_fit() -> None:
    run = train(parallel={"fsdp": 3})
    plan = make_plan(a_workload(run=run), sources(AnEstimator()), snapshot=a_snapshot())

    assert plan.verdict.kind == "fits if"
    assert changes(plan) == ["train.parallel.fsdp: 2"]
    assert plan.verdict.changes[0].why == "fsdp 3 does not divide the 8 ranks that see different samples"

    run = train(parallel={"tensor": 3})
    plan = make_plan(a_workload(run=run), sources(AnEstimator()), snapshot=a_snapshot())
    assert plan.verdict.reasons == ("tensor 3 x pipeline 1 does not divide 8 ranks",)


def test_a_cluster_without_nodes_says_so() -> None:
    plan = make_plan(a_workload(run=train()), sources(AnEstimator()), snapshot=a_snapshot([]))
    lines = [line for part in rows(view_plan(plan)) for row in part for line in row.lines]

    assert plan.verdict.reasons == ("there are no nodes",)
    assert lines.count("there are no nodes") == 2  # why it cannot fit, and when it starts


def test_without_a_gpu_type_what_follows_from_it_is_said_to_be_unknown() -> None:
    run = a_run(gpus="8", image="a:1", command="x", train={"microBatch": 4})
    plan = make_plan(workload_of_run(run), sources(AnEstimator()))

    assert ("RAM, /dev/shm, disk, CPU", "the GPU type is not known; they follow from it") in [
        (item.what, item.why) for item in plan.unknown
    ]


def by_range(memory: str = "1536Mi", run: bool = False, **more: Any) -> Plan:
    """A pod with a memory limit where a limit range and a quota stand."""
    quota = a_quota({"limits.memory": "64Gi", "requests.nvidia.com/gpu": "16"}, {"limits.memory": "2Gi"})
    item = {"max": {"memory": "1Gi"}, **more}
    return make_plan(
        a_workload(pod=a_pod(8, memory=memory), run=train() if run else None),
        sources(AnEstimator()) if run else sources(),
        snapshot=a_snapshot("8xh100=6", limit_ranges=(a_limit_range(**item),), quotas=(quota,)),
    )


def test_a_limit_range_is_named_with_amounts_that_people_read() -> None:
    (wall,) = [wall for wall in by_range().walls if wall.kind == "limit range"]

    assert (wall.name, wall.resource, wall.standing) == ("range", "memory", "never")
    assert wall.text == (
        "limit range range: a container has at most 1 GiB of memory, and this one's limit is 1.5 GiB"
    )
    assert (wall.asked, wall.hard) == ("1536Mi", "1Gi")


def test_what_is_refused_by_a_limit_range_is_still_counted_by_quotas_and_has_its_class() -> None:
    plan = by_range(default={"cpu": "4"}, defaultRequest={"cpu": "2"})

    quotas = {wall.resource: wall.text for wall in plan.walls if wall.kind == "quota"}
    assert quotas["limits.memory"] == "quota wall: limits.memory 3.5 GiB of 64 GiB with this run"
    assert "requests.nvidia.com/gpu" in quotas
    assert plan.risk.qos == "Burstable"  # the limit range gives it a cpu limit above its request
    assert any(value.field.endswith("limits.cpu") and value.value == "4" for value in plan.effective)


def test_every_wall_of_a_limit_range_is_told_once() -> None:
    texts = [wall.text for wall in by_range(min={"cpu": "1"}, max={"memory": "1Gi", "cpu": "2"}).walls]

    assert len(texts) == len(set(texts))
    assert (
        sum(text.startswith("limit range range: ") for text in texts) == 1
    )  # its maximum is the default too


def test_a_ratio_and_a_missing_limit_are_said_in_words() -> None:
    ratio = by_range("1Gi", max={}, maxLimitRequestRatio={"cpu": "2"})
    least = by_range("1Gi", max={}, min={"memory": "2Gi"})

    assert [wall.text for wall in ratio.walls if wall.kind == "limit range"] == [
        "limit range range: the cpu limit of a container may be at most 2 times its request, "
        "and cannot be told without both"
    ]
    assert [wall.text for wall in least.walls if wall.kind == "limit range"] == [
        "limit range range: a container has at least 2 GiB of memory, and this one's request is 1 GiB"
    ]


def test_what_a_limit_range_allows_is_the_change_where_it_may_be_enough() -> None:
    plan = by_range()

    assert plan.verdict.kind == "fits if"
    assert changes(plan) == ["limits: {memory: 1Gi}"]
    assert "whether that is enough is not known" in plan.verdict.changes[0].effect


def test_where_a_limit_range_allows_less_than_is_needed_nothing_helps() -> None:
    plan = make_plan(
        a_workload(pod=a_pod(8, memory="1536Mi"), run=train()),
        sources(AnEstimator(), memory=1400 * 2**20),
        snapshot=a_snapshot("8xh100=6", limit_ranges=(a_limit_range(max={"memory": "1Gi"}),)),
    )

    assert plan.verdict.kind == "cannot fit"
    assert "at most 1 GiB of memory" in plan.verdict.reasons[0]


def test_quotas_of_other_namespaces_do_not_matter() -> None:
    quota = a_quota({f"requests.{GPU}": "1"}, namespace="other")

    assert make_plan(a_workload(), sources(), snapshot=a_snapshot(quotas=(quota,))).walls == ()


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
