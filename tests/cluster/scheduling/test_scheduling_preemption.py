"""Who has to go, and where."""

from __future__ import annotations

from scheduling_builders import GPU, HOST, a_budget, a_node, a_pod, required

from tonnage.cluster.objects import Pod
from tonnage.cluster.scheduling import (
    ClusterView,
    NoCandidate,
    NotEligible,
    Preempts,
    Unschedulable,
    schedule,
)
from tonnage.cluster.scheduling.preempting import candidates_to_find


def outcome(pod: Pod, view: ClusterView) -> Unschedulable:
    decision = schedule(pod, view)
    assert isinstance(decision, Unschedulable), decision
    return decision


def choices(pod: Pod, view: ClusterView) -> list[tuple[str, list[str]]]:
    preemption = outcome(pod, view).preemption
    assert isinstance(preemption, Preempts), preemption
    return sorted((choice.node, [victim.name for victim in choice.victims]) for choice in preemption.choices)


def full(name: str, node: str, *, cpu: str = "4", priority: int = 0, **more: object) -> Pod:
    return a_pod(name, on=node, requests={"cpu": cpu}, priority=priority, **more)  # type: ignore[arg-type]


IMPORTANT = a_pod(requests={"cpu": "4"}, priority=100)


def test_only_lower_priorities_are_victims() -> None:
    view = ClusterView([a_node("a")], [full("equal", "a", priority=100)])
    said = outcome(IMPORTANT, view)
    assert said.message == (
        "0/1 nodes are available: 1 Insufficient cpu. no new claims to deallocate, "
        "preemption: 0/1 nodes are available: 1 No preemption victims found for incoming pod."
    )


def test_preemption_that_succeeds_leaves_no_remark() -> None:
    view = ClusterView([a_node("a")], [full("x", "a")])
    assert outcome(IMPORTANT, view).message == "0/1 nodes are available: 1 Insufficient cpu."
    assert choices(IMPORTANT, view) == [("a", ["x"])]


def test_a_pod_that_never_preempts_says_so() -> None:
    view = ClusterView([a_node("a")], [full("x", "a")])
    asked = a_pod(requests={"cpu": "4"}, priority=100, preemptionPolicy="Never")
    said = outcome(asked, view)
    assert isinstance(said.preemption, NotEligible)
    assert said.message.endswith("preemption: not eligible due to preemptionPolicy=Never.")


def test_no_more_pods_die_than_must_and_the_less_important_first() -> None:
    pods = [full("old", "a", cpu="1"), full("vip", "a", cpu="1", priority=9), full("big", "a", cpu="2")]
    view = ClusterView([a_node("a")], pods)
    assert choices(a_pod(requests={"cpu": "2"}, priority=100), view) == [("a", ["big"])]
    ((node, victims),) = choices(a_pod(requests={"cpu": "3"}, priority=100), view)
    assert (node, set(victims)) == ("a", {"old", "big"})


def test_of_equal_pods_the_youngest_dies() -> None:
    pods = [
        full("older", "a", cpu="2", started="2026-01-01T00:00:00Z"),
        full("younger", "a", cpu="2", started="2026-01-02T00:00:00Z"),
    ]
    assert choices(a_pod(requests={"cpu": "2"}, priority=1), ClusterView([a_node("a")], pods)) == [
        ("a", ["younger"])
    ]


def test_pods_that_tie_in_everything_are_equally_good_victims() -> None:
    pods = [full("one", "a", cpu="2"), full("two", "a", cpu="2")]
    found = choices(a_pod(requests={"cpu": "2"}, priority=1), ClusterView([a_node("a")], pods))
    assert found == [("a", ["one"]), ("a", ["two"])]


def test_the_node_with_the_lower_top_priority_is_chosen() -> None:
    pods = [full("x", "a", priority=10), full("y", "b", priority=5)]
    assert choices(IMPORTANT, ClusterView([a_node("a"), a_node("b")], pods)) == [("b", ["y"])]


def test_fewer_broken_budgets_beat_lower_priorities() -> None:
    pods = [full("x", "a", priority=10), full("y", "b", priority=5, labels={"app": "y"})]
    budget = a_budget("keep", allowed=0, labels={"app": "y"})
    assert choices(IMPORTANT, ClusterView([a_node("a"), a_node("b")], pods, budgets=[budget])) == [
        ("a", ["x"])
    ]


def test_a_budget_does_not_save_its_pods() -> None:
    view = ClusterView(
        [a_node("a")],
        [full("y", "a", labels={"app": "y"})],
        budgets=[a_budget("keep", allowed=0, labels={"app": "y"})],
    )
    preemption = outcome(IMPORTANT, view).preemption
    assert isinstance(preemption, Preempts)
    assert [choice.violations for choice in preemption.choices] == [1]


def test_pods_under_a_broken_budget_are_put_back_first() -> None:
    pods = [
        full("guarded", "a", cpu="2", labels={"app": "y"}, started="2026-01-09T00:00:00Z"),
        full("free", "a", cpu="2", started="2026-01-01T00:00:00Z"),
    ]
    budget = a_budget("keep", allowed=0, labels={"app": "y"})
    view = ClusterView([a_node("a")], pods, budgets=[budget])
    assert choices(a_pod(requests={"cpu": "2"}, priority=1), view) == [("a", ["free"])]


def test_what_stays_wrong_without_the_victims_is_told() -> None:
    apart = required("podAntiAffinity", HOST, {"app": "db"})
    pods = [full("db", "a", cpu="1", labels={"app": "db"}, priority=1000), full("x", "a", cpu="3")]
    asked = a_pod(requests={"cpu": "3"}, priority=100, affinity=apart)
    said = outcome(asked, ClusterView([a_node("a")], pods))
    assert isinstance(said.preemption, NoCandidate)
    assert said.message.endswith(
        "preemption: 0/1 nodes are available: 1 node(s) didn't match pod anti-affinity rules."
    )


def test_a_pod_waits_for_victims_of_its_own_that_are_still_leaving() -> None:
    sent_away = {
        "conditions": [{"type": "DisruptionTarget", "status": "True", "reason": "PreemptionByScheduler"}],
        "phase": "Running",
    }
    going = full("x", "a", leaving=True, status=sent_away)
    asked = a_pod(requests={"cpu": "4"}, priority=100, status={"nominatedNodeName": "a"})
    said = outcome(asked, ClusterView([a_node("a")], [going]))
    assert said.message.endswith("preemption: not eligible due to a terminating pod on the nominated node.")


def test_preemption_is_not_tried_where_it_cannot_help() -> None:
    nodes = [a_node("a", gpus=1), a_node("b")]
    pods = [a_pod("x", on="a", requests={GPU: "1"}, priority=100)]
    said = outcome(a_pod(requests={GPU: "1"}, priority=50), ClusterView(nodes, pods))
    assert said.message == (
        "0/2 nodes are available: 2 Insufficient nvidia.com/gpu. no new claims to deallocate, preemption: "
        "0/2 nodes are available: 1 No preemption victims found for incoming pod, "
        "1 Preemption is not helpful for scheduling."
    )


def test_asking_changes_nothing() -> None:
    view = ClusterView([a_node("a")], [full("x", "a")])
    assert outcome(IMPORTANT, view) == outcome(IMPORTANT, view)
    assert list(view.nodes["a"].pods) == ["uid-x"]
    assert view.nodes["a"].requested.cpu == 4000


def test_where_very_many_nodes_could_be_freed_the_answer_says_that_only_a_part_is_compared() -> None:
    def sampled(nodes: int, *, guarded: bool = False) -> bool:
        names = [f"n{i}" for i in range(nodes)]
        budgets = [a_budget("b", labels={"app": "x"}, allowed=0)] if guarded else []
        pods = [full(f"p-{name}", name, labels={"app": "x"}) for name in names]
        view = ClusterView([a_node(name) for name in names], pods, budgets=budgets)
        preemption = outcome(IMPORTANT, view).preemption
        assert isinstance(preemption, Preempts)
        return preemption.sampled

    assert not sampled(100)
    assert sampled(101)
    assert not sampled(101, guarded=True)  # the search goes on until a budget would hold
    assert [candidates_to_find(n) for n in (3, 100, 500, 5000)] == [3, 100, 100, 500]
