"""The books stay true whatever is added, removed and copied."""

from __future__ import annotations

import datetime as dt

from hypothesis import given
from hypothesis import strategies as st
from scheduling_builders import GPU, a_claim, a_node, a_pod, a_volume, mounting

from tonnage.cluster.scheduling import ClusterView, best_nodes, facts_of, view_of
from tonnage.cluster.snapshot import Snapshot

amounts = st.fixed_dictionaries(
    {},
    optional={
        "cpu": st.integers(0, 9).map(str),
        "memory": st.integers(0, 9).map(str),
        GPU: st.sampled_from("018"),
    },
)


@given(st.lists(amounts, max_size=6), st.data())
def test_removing_what_was_added_leaves_the_node_as_it_was(
    requests: list[dict[str, str]], data: st.DataObject
) -> None:
    view = ClusterView([a_node("a", gpus=8)])
    pods = [a_pod(f"p{index}", on="a", requests=wanted) for index, wanted in enumerate(requests)]
    for pod in pods:
        view.observe(pod)
    for pod in data.draw(st.permutations(pods)):
        view.remove(pod)
    info = view.nodes["a"]
    assert not info.pods
    assert not info.ports
    assert (info.requested.cpu, info.requested.memory, info.scoring_cpu, info.scoring_memory) == (0, 0, 0, 0)
    assert not any(info.requested.scalars.values())


def test_a_copy_is_independent() -> None:
    view = ClusterView([a_node("a")])
    trial = view.copy()
    trial.add(facts_of(a_pod("x", requests={"cpu": "1"})), "a")
    assert not view.nodes["a"].pods
    assert trial.nodes["a"].requested.cpu == 1000
    trial.remove("uid-x")
    assert trial.nodes["a"].requested.cpu == 0


def test_host_ports_are_freed_with_their_last_user() -> None:
    port = [{"containerPort": 80, "hostPort": 80}]
    view = ClusterView([a_node("a")], [a_pod(name, on="a", ports=port) for name in ("x", "y")])
    view.remove("uid-x")
    assert view.nodes["a"].ports
    view.remove("uid-y")
    assert not view.nodes["a"].ports


def test_pods_of_unknown_nodes_count_nowhere() -> None:
    view = ClusterView([a_node("a")], [a_pod("x", on="gone")])
    assert view.remove("uid-x") is None


def test_a_snapshot_becomes_a_view_with_everything_rules_read() -> None:
    seen = Snapshot(
        taken_at=dt.datetime(2026, 1, 1, tzinfo=dt.UTC),
        source="a test",
        nodes=(a_node("a"), a_node("b")),
        pods=(a_pod("x", on="a", requests={"cpu": "4"}), a_pod("waits", status={"nominatedNodeName": "b"})),
        claims=(a_claim("data", volume="v"),),
        volumes=(a_volume("v"),),
    )
    view = view_of(seen)
    assert view.nodes["a"].requested.cpu == 4000
    assert list(view.nominated["b"]) == ["uid-waits"]
    assert best_nodes(a_pod(requests={"cpu": "1"}, volumes=mounting("data")), view) == {"b"}
