"""Where a run stands in Kueue's queues; the same rules meet the real Kueue in tests/sandbox/controllers."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from plan_builders import GPU, a_pod, a_snapshot, a_workload, loose, nodes, sources

from tonnage.cluster.objects.loose import Loose
from tonnage.planning.placing import Wanted
from tonnage.planning.plan import make_plan
from tonnage.planning.queue_quota import Holder
from tonnage.planning.queues import ask_queue

PRODUCT = "nvidia.com/gpu.product"


def a_queue(
    name: str, nominal: int, *, used: int = 0, cohort: str = "all", flavor: str = "h100", **more: Any
) -> Loose:
    limits = {key: more.pop(key) for key in ("borrowingLimit", "lendingLimit") if key in more}
    line = {"name": GPU, "nominalQuota": nominal, **limits}
    group = {"coveredResources": [GPU], "flavors": [{"name": flavor, "resources": [line]}]}
    usage = {"flavorsReservation": [{"name": flavor, "resources": [{"name": GPU, "total": used}]}]}
    spec = {"cohortName": cohort, "namespaceSelector": {}, "resourceGroups": [group], **more}
    return loose("ClusterQueue", name, spec, usage)


def standing(asked: int, *queues: Loose, pod: Any = None, **objects: Any) -> tuple[str, str]:
    """What the first queue says to so many GPUs."""
    snapshot = a_snapshot(
        local_queues=(loose("LocalQueue", "q", {"clusterQueue": queues[0].metadata.name}, namespace="team"),),
        cluster_queues=queues,
        **objects,
    )
    wall = ask_queue("q", "team", [Wanted("sft", pod or a_pod(asked), 1)], snapshot).wall
    assert wall is not None
    return wall.standing, wall.text


def test_own_quota_that_others_borrowed_is_gone_until_they_leave() -> None:
    ours, theirs = a_queue("ours", 8), a_queue("theirs", 8, used=16)

    assert standing(8, ours, theirs) == (
        "wait",
        f"queue q uses 0 of 8+8 {GPU}, you ask 8; others have borrowed it",
    )


def test_a_queue_that_reclaims_takes_its_own_quota_back() -> None:
    ours = a_queue("ours", 8, preemption={"reclaimWithinCohort": "Any"})

    found, text = standing(8, ours, a_queue("theirs", 8, used=12))

    assert found == "open"
    assert "4 of it is lent out and would be taken back" in text


def test_what_a_lending_limit_keeps_at_home_is_not_lent() -> None:
    ours, theirs = a_queue("ours", 0), a_queue("theirs", 8, lendingLimit=2)

    assert standing(2, ours, theirs)[0] == "open"
    assert standing(3, ours, theirs)[0] == "never"


def test_a_borrowing_limit_holds_however_much_is_free() -> None:
    ours = a_queue("ours", 4, borrowingLimit=2)

    assert standing(6, ours, a_queue("theirs", 100))[0] == "open"
    assert standing(7, ours, a_queue("theirs", 100))[0] == "never"


def test_a_cohort_in_a_cohort_borrows_from_its_parent() -> None:
    inner = loose("Cohort", "all", {"parentName": "company"})
    spare = a_queue("spare", 8, cohort="company")

    assert standing(12, a_queue("ours", 4), spare)[0] == "never"
    assert standing(12, a_queue("ours", 4), spare, cohorts=(inner,))[0] == "open"


def test_cohorts_in_a_circle_end() -> None:
    circle = (loose("Cohort", "all", {"parentName": "b"}), loose("Cohort", "b", {"parentName": "all"}))

    assert standing(4, a_queue("ours", 4), cohorts=circle)[0] == "open"


def test_a_queue_outside_a_cohort_neither_borrows_nor_lends() -> None:
    assert standing(8, a_queue("ours", 4, cohort=""), a_queue("theirs", 100, cohort=""))[0] == "never"


def test_a_flavor_the_pods_do_not_select_is_not_theirs() -> None:
    flavor = loose("ResourceFlavor", "h100", {"nodeLabels": {PRODUCT: "NVIDIA-H100-80GB-HBM3"}})
    pod = a_pod(8, nodeSelector={PRODUCT: "NVIDIA-L4"})

    assert standing(8, a_queue("ours", 8), flavors=(flavor,))[0] == "open"
    assert standing(8, a_queue("ours", 8), pod=pod, flavors=(flavor,)) == (
        "never",
        "queue q has no flavor that the pods' node selector and tolerations allow",
    )


def test_a_flavor_with_a_taint_is_for_those_who_bear_it() -> None:
    taint = {"key": "spot", "value": "true", "effect": "NoSchedule"}
    bare = loose("ResourceFlavor", "h100", {"nodeTaints": [taint]})
    helps = loose(
        "ResourceFlavor",
        "h100",
        {"nodeTaints": [taint], "tolerations": [{"key": "spot", "operator": "Exists"}]},
    )

    assert standing(8, a_queue("ours", 8), flavors=(bare,))[0] == "never"
    assert standing(8, a_queue("ours", 8), flavors=(helps,))[0] == "open"


def test_pods_get_the_labels_and_tolerations_of_their_flavor_before_nodes_are_asked() -> None:
    gpus = {"key": GPU, "operator": "Exists", "effect": "NoSchedule"}
    flavor = loose(
        "ResourceFlavor", "h100", {"nodeLabels": {PRODUCT: "NVIDIA-H100-80GB-HBM3"}, "tolerations": [gpus]}
    )
    snapshot = a_snapshot(
        nodes("8xh100=2,8xa100-80=2"),
        local_queues=(loose("LocalQueue", "q", {"clusterQueue": "ours"}, namespace="team"),),
        cluster_queues=(a_queue("ours", 16),),
        flavors=(flavor,),
    )
    pod = a_pod(8, tolerations=[])

    queued = make_plan(a_workload(pod=pod, queue="q", types=()), sources(), snapshot=snapshot)
    alone = make_plan(a_workload(pod=pod, types=()), sources(), snapshot=snapshot)

    assert queued.verdict.kind == "fits"
    assert queued.placement is not None
    assert all(name.startswith("8xh100") for name in queued.placement.now.feasible)
    assert alone.verdict.kind == "fits if"


def test_a_strict_queue_with_somebody_waiting_makes_one_wait() -> None:
    queue = a_queue("ours", 8, queueingStrategy="StrictFIFO")
    busy = loose("ClusterQueue", "ours", queue.spec, {"pendingWorkloads": 3})

    assert standing(4, busy)[0] == "wait"
    assert "3 already waiting" in standing(4, busy)[1]


def test_a_queue_that_lets_no_namespace_in_never_does() -> None:
    assert standing(4, a_queue("ours", 8, namespaceSelector=None))[0] == "never"


def test_admission_checks_are_said_not_to_be_asked() -> None:
    assert "admission checks" in standing(4, a_queue("ours", 8, admissionChecks=["budget"]))[1]


amounts = st.integers(0, 20)
limits = st.one_of(st.none(), amounts)


@given(
    queues=st.lists(st.tuples(amounts, limits, limits, amounts), min_size=1, max_size=5),
    spare=amounts,
    deep=st.booleans(),
)
def test_nobody_ever_gets_more_than_could_be_had_and_an_idle_cohort_gives_all_of_that(
    queues: list[tuple[int, int | None, int | None, int]], spare: int, deep: bool
) -> None:
    def made(is_idle: bool) -> list[Holder]:
        top = Holder(nominal=spare)
        cohort = Holder(parent=top) if deep else top
        if deep:
            top.children.append(cohort)
        found = [
            Holder(nominal, borrow, lend, 0 if is_idle else used, cohort)
            for nominal, borrow, lend, used in queues
        ]
        cohort.children += found
        return found

    for busy, idle in zip(made(False), made(True), strict=True):
        assert busy.available() <= busy.at_most()
        assert idle.available() == idle.at_most()
