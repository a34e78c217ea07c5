"""Which node is best: worked by hand from the formulas."""

from __future__ import annotations

import pytest
from scheduling_builders import GPU, HOST, ZONE, a_node, a_pod

from tonnage.cluster.objects.loose import Loose
from tonnage.cluster.objects.meta import Meta
from tonnage.cluster.scheduling import ClusterView, Owners, Scheduled, best_nodes, schedule
from tonnage.cluster.scheduling.scoring import NodeScore, nodes_to_find


def scores(pod: object, view: ClusterView) -> dict[str, NodeScore]:
    decision = schedule(pod, view)  # type: ignore[arg-type]
    assert isinstance(decision, Scheduled)
    return dict(decision.scores)


def test_the_emptier_node_wins() -> None:
    view = ClusterView(
        [a_node("a"), a_node("b")], [a_pod("busy", on="a", requests={"cpu": "2", "memory": "4Gi"})]
    )
    assert best_nodes(a_pod(requests={"cpu": "1", "memory": "2Gi"}), view) == {"b"}


def test_equal_nodes_are_equally_best() -> None:
    assert best_nodes(a_pod(), ClusterView([a_node("a"), a_node("b")])) == {"a", "b"}


def test_least_allocated_is_integer_arithmetic_over_cpu_and_memory() -> None:
    view = ClusterView([a_node("a", cpu="3", memory="7"), a_node("b")])
    # cpu (3000-1000)*100//3000 = 66, memory (7-2)*100//7 = 71, mean 137//2 = 68
    found = scores(a_pod(requests={"cpu": "1", "memory": "2"}), view)
    assert found["a"].by_plugin["NodeResourcesFit"] == 68


def test_a_container_without_requests_weighs_something() -> None:
    view = ClusterView(
        [a_node("a", cpu="1", memory="1Gi"), a_node("b", cpu="1", memory="1Gi")], [a_pod("x", on="a")]
    )
    # asked and x: 100m + 200 MiB each: cpu 80, memory (1024-400)*100//1024 = 60 -> 70; alone 90 and 80 -> 85
    found = scores(a_pod(), view)
    assert found["a"].by_plugin["NodeResourcesFit"] == 70
    assert found["b"].by_plugin["NodeResourcesFit"] == 85
    assert "NodeResourcesBalancedAllocation" not in found["a"].by_plugin


def test_balance_rewards_what_brings_cpu_and_memory_together() -> None:
    lopsided = a_pod("x", on="a", requests={"cpu": "2", "memory": "0"})
    view = ClusterView([a_node("a", cpu="4", memory="4Gi"), a_node("b", cpu="4", memory="4Gi")], [lopsided])
    found = scores(a_pod(requests={"memory": "2Gi"}), view)
    # a: deviation 0.25 -> 0, 75 -> 100: 50 + (50 + 25) // 2; b: 0 -> 0.25: 50 + (50 - 25) // 2
    assert found["a"].by_plugin["NodeResourcesBalancedAllocation"] == 87
    assert found["b"].by_plugin["NodeResourcesBalancedAllocation"] == 62


def test_gpus_are_not_scored() -> None:
    nodes = [a_node("a", gpus=8), a_node("b", gpus=8)]
    view = ClusterView(nodes, [a_pod("x", on="a", requests={GPU: "7", "cpu": "100m", "memory": "200Mi"})])
    idle = a_pod("y", on="b", requests={"cpu": "100m", "memory": "200Mi"})
    view.observe(idle)
    assert best_nodes(a_pod(requests={GPU: "1"}), view) == {"a", "b"}


def test_prefer_no_schedule_taints_are_avoided() -> None:
    view = ClusterView([a_node("a", taints=("slow=:PreferNoSchedule",)), a_node("b")])
    assert best_nodes(a_pod(), view) == {"b"}
    assert best_nodes(a_pod(tolerations=[{"key": "slow", "operator": "Exists"}]), view) == {"a", "b"}


def test_preferred_node_affinity_is_stretched_to_a_hundred() -> None:
    view = ClusterView([a_node("a", labels={"disk": "ssd"}), a_node("b")])
    preference = {"matchExpressions": [{"key": "disk", "operator": "Exists"}]}
    preferred = [{"weight": 7, "preference": preference}]
    affinity = {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": preferred}}
    found = scores(a_pod(affinity=affinity), view)
    assert found["a"].by_plugin["NodeAffinity"] == 100
    assert found["b"].by_plugin["NodeAffinity"] == 0


@pytest.mark.parametrize(("kind", "best"), [("podAffinity", "a"), ("podAntiAffinity", "b")])
def test_preferred_company_is_sought_or_avoided(kind: str, best: str) -> None:
    nodes = [a_node("a", zone="za"), a_node("b", zone="zb")]
    view = ClusterView(nodes, [a_pod("one", on="a", labels={"app": "x"}, requests={"cpu": "1m"})])
    term = {"topologyKey": ZONE, "labelSelector": {"matchLabels": {"app": "x"}}}
    weighted = {"preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 5, "podAffinityTerm": term}]}
    assert best_nodes(a_pod(affinity={kind: weighted}), view) == {best}


def test_a_large_image_already_there_helps() -> None:
    view = ClusterView([a_node("a", images={"app:1": 900 * 2**20}), a_node("b")])
    found = scores(a_pod(image="app:1"), view)
    # half the nodes have it: 450 MiB count; (450 - 23) * 100 // (1000 - 23)
    assert found["a"].by_plugin["ImageLocality"] == 43
    assert found["b"].by_plugin["ImageLocality"] == 0


def test_pods_of_a_service_are_spread_by_default() -> None:
    service = Loose(metadata=Meta(name="s", namespace="team"), spec={"selector": {"app": "x"}})
    nodes = [a_node("a", zone="za"), a_node("b", zone="zb")]
    one = a_pod("one", on="a", labels={"app": "x"}, requests={"cpu": "100m", "memory": "200Mi"})
    other = a_pod("other", on="b", requests={"cpu": "100m", "memory": "200Mi"})
    asked = a_pod(labels={"app": "x"})
    assert best_nodes(asked, ClusterView(nodes, [one, other])) == {"a", "b"}
    served = ClusterView(nodes, [one, other], owners=Owners(services=(service,)))
    assert best_nodes(asked, served) == {"b"}


def test_schedule_anyway_only_scores() -> None:
    constraint = {"maxSkew": 1, "topologyKey": HOST, "whenUnsatisfiable": "ScheduleAnyway"}
    constraint |= {"labelSelector": {"matchLabels": {"app": "x"}}}
    view = ClusterView([a_node("a"), a_node("b")], [a_pod("one", on="a", labels={"app": "x"})])
    found = scores(a_pod(labels={"app": "x"}, topologySpreadConstraints=[constraint]), view)
    # raw a: 1 * ln 4 = 1.39 -> 1, b: 0; reversed: a 100 * (1 + 0 - 1) // 1, b 100
    assert found["a"].by_plugin["PodTopologySpread"] == 0
    assert found["b"].by_plugin["PodTopologySpread"] == 100


@pytest.mark.parametrize(
    ("nodes", "found"), [(5, 5), (99, 99), (100, 100), (1000, 420), (5000, 500), (6000, 300)]
)
def test_large_clusters_are_looked_at_in_part(nodes: int, found: int) -> None:
    assert nodes_to_find(nodes) == found
