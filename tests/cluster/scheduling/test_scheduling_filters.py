"""Why a node will not do, rule by rule, in the words people will read."""

from __future__ import annotations

import pytest
from scheduling_builders import (
    GPU,
    HOST,
    ZONE,
    a_claim,
    a_class,
    a_node,
    a_pod,
    a_volume,
    mounting,
    required,
)

from tonnage.cluster.objects import Namespace, Pod
from tonnage.cluster.objects.meta import Meta
from tonnage.cluster.scheduling import (
    ClusterView,
    Gated,
    Scheduled,
    Storage,
    Unschedulable,
    schedule,
    unmodelled,
)
from tonnage.cluster.scheduling.tainting import untolerated_taints

NO_HELP = (
    "no new claims to deallocate, preemption: 0/{n} nodes are available: "
    "{n} Preemption is not helpful for scheduling."
)


def message(pod: Pod, view: ClusterView) -> str:
    decision = schedule(pod, view)
    assert isinstance(decision, Unschedulable), decision
    return decision.message


def reasons(pod: Pod, view: ClusterView) -> dict[str, int]:
    decision = schedule(pod, view)
    assert isinstance(decision, Unschedulable), decision
    return dict(decision.reasons)


def test_a_cluster_without_nodes_says_so() -> None:
    assert message(a_pod(), ClusterView()) == "no nodes available to schedule pods"


def test_a_gated_pod_is_not_looked_at() -> None:
    decision = schedule(a_pod(schedulingGates=[{"name": "kueue"}]), ClusterView([a_node("a")]))
    assert decision == Gated(("kueue",))


def test_gpu_and_taint_refusals_are_counted_by_node() -> None:
    nodes = [
        a_node("c1"),
        a_node("c2"),
        *(a_node(n, gpus=8, taints=(f"{GPU}=present:NoSchedule",)) for n in "gh"),
    ]
    assert message(a_pod(requests={GPU: "1"}), ClusterView(nodes)) == (
        "0/4 nodes are available: 2 Insufficient nvidia.com/gpu, 2 node(s) had untolerated taint(s). "
        + NO_HELP.format(n=4)
    )


def test_every_resource_that_falls_short_is_named() -> None:
    view = ClusterView([a_node("a", cpu="1", memory="1Gi", pods="0")])
    asked = a_pod(requests={"cpu": "2", "memory": "2Gi", GPU: "1", "ephemeral-storage": "1Gi"})
    assert set(reasons(asked, view)) == {
        "Too many pods",
        "Insufficient cpu",
        "Insufficient memory",
        "Insufficient ephemeral-storage",
        "Insufficient nvidia.com/gpu",
    }


def test_only_a_request_beyond_the_whole_node_cannot_be_helped() -> None:
    view = ClusterView([a_node("a", cpu="2")], [a_pod("busy", on="a", requests={"cpu": "1"})])
    fits_when_empty = schedule(a_pod(requests={"cpu": "2"}), view)
    never_fits = schedule(a_pod(requests={"cpu": "3"}), view)
    assert isinstance(fits_when_empty, Unschedulable)
    assert isinstance(never_fits, Unschedulable)
    assert fits_when_empty.refused["a"].resolvable
    assert not never_fits.refused["a"].resolvable


def test_what_is_full_counts_requests_and_not_finished_pods() -> None:
    pods = [
        a_pod("done", on="a", requests={"cpu": "4"}, status={"phase": "Succeeded"}),
        a_pod("going", on="a", requests={"cpu": "2"}, leaving=True),
    ]
    view = ClusterView([a_node("a", cpu="4")], pods)
    assert isinstance(schedule(a_pod(requests={"cpu": "2"}), view), Scheduled)
    assert reasons(a_pod(requests={"cpu": "2001m"}), view) == {"Insufficient cpu": 1}


def test_a_zero_request_asks_for_nothing() -> None:
    assert isinstance(schedule(a_pod(requests={GPU: "0"}), ClusterView([a_node("a")])), Scheduled)


@pytest.mark.parametrize(
    ("toleration", "fits"),
    [
        ({"key": "spot", "operator": "Exists"}, True),
        ({"operator": "Exists"}, True),
        ({"key": "spot", "value": "yes", "effect": "NoSchedule"}, True),
        ({"key": "spot", "value": "no"}, False),
        ({"key": "spot", "operator": "Exists", "effect": "NoExecute"}, False),
        ({"key": "spot", "operator": "Gt", "value": "0"}, False),
    ],
)
def test_a_taint_is_tolerated_by_key_value_and_effect(toleration: dict[str, str], fits: bool) -> None:
    node, asked = a_node("a", taints=("spot=yes:NoSchedule",)), a_pod(tolerations=[toleration])
    assert isinstance(schedule(asked, ClusterView([node])), Scheduled) is fits
    assert bool(untolerated_taints(asked, node)) is not fits


def test_a_cordoned_node_takes_only_pods_that_tolerate_it() -> None:
    view = ClusterView([a_node("a", unschedulable=True)])
    assert reasons(a_pod(), view) == {"node(s) were unschedulable": 1}
    anyway = [{"key": "node.kubernetes.io/unschedulable", "operator": "Exists"}]
    assert isinstance(schedule(a_pod(tolerations=anyway), view), Scheduled)


def test_a_pod_that_names_its_node_fits_no_other() -> None:
    view = ClusterView([a_node("a"), a_node("b")])
    assert schedule(a_pod(nodeName="b"), view) == Scheduled(frozenset({"b"}), ("b",))
    gone = message(a_pod(nodeName="c"), view)
    assert gone.startswith("0/2 nodes are available: 2 node(s) didn't match the requested node name. ")


@pytest.mark.parametrize(
    ("line", "fits"),
    [
        ({"key": "rank", "operator": "Gt", "values": ["4"]}, True),
        ({"key": "rank", "operator": "Lt", "values": ["5"]}, False),
        ({"key": "pool", "operator": "NotIn", "values": ["spot"]}, True),
        ({"key": "absent", "operator": "NotIn", "values": ["x"]}, True),
        ({"key": "absent", "operator": "DoesNotExist"}, True),
        ({"key": "pool", "operator": "Gt", "values": ["1"]}, False),
        ({"key": "pool", "operator": "Exists"}, True),
    ],
)
def test_node_affinity_reads_labels_as_kubernetes_does(line: dict[str, object], fits: bool) -> None:
    view = ClusterView([a_node("a", labels={"rank": "5", "pool": "gpu"})])
    wanted = {"nodeSelectorTerms": [{"matchExpressions": [line]}]}
    affinity = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": wanted}}
    assert isinstance(schedule(a_pod(affinity=affinity), view), Scheduled) is fits


def test_nodes_the_pod_does_not_name_are_not_looked_at() -> None:
    view = ClusterView([a_node("a", cpu="1"), a_node("b"), a_node("c", unschedulable=True)])
    field = {"key": "metadata.name", "operator": "In", "values": ["a"]}
    wanted = {"nodeSelectorTerms": [{"matchFields": [field]}]}
    affinity = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": wanted}}
    assert reasons(a_pod(affinity=affinity, requests={"cpu": "2"}), view) == {
        "Insufficient cpu": 1,
        "node(s) didn't satisfy plugin(s) [NodeAffinity]": 2,
    }


def test_a_promised_node_is_looked_at_even_when_the_pod_names_others() -> None:
    field = {"key": "metadata.name", "operator": "In", "values": ["b"]}
    wanted = {"nodeSelectorTerms": [{"matchFields": [field]}]}
    affinity = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": wanted}}
    view = ClusterView([a_node("a"), a_node("c")])
    assert reasons(a_pod(affinity=affinity, status={"nominatedNodeName": "a"}), view) == {
        "node(s) didn't match Pod's node affinity/selector": 1,
        "node(s) didn't satisfy plugin(s) [NodeAffinity]": 1,
    }


def test_nodes_that_are_passed_over_hear_who_refused_the_promised_one() -> None:
    field = {"key": "metadata.name", "operator": "In", "values": ["a"]}
    wanted = {"nodeSelectorTerms": [{"matchFields": [field]}]}
    affinity = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": wanted}}
    view = ClusterView([a_node("a", cpu="1"), a_node("b")])
    asked = a_pod(affinity=affinity, requests={"cpu": "2"}, status={"nominatedNodeName": "a"})
    assert reasons(asked, view) == {
        "Insufficient cpu": 1,
        "node(s) didn't satisfy plugin(s) [NodeAffinity NodeResourcesFit]": 1,
    }


def test_contradicting_node_names_stop_everything() -> None:
    lines = [{"key": "metadata.name", "operator": "In", "values": [name]} for name in "ab"]
    wanted = {"nodeSelectorTerms": [{"matchFields": lines}]}
    affinity = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": wanted}}
    said = message(a_pod(affinity=affinity), ClusterView([a_node("a"), a_node("b")]))
    assert said == "0/2 nodes are available: pod affinity terms conflict. not found"


@pytest.mark.parametrize(
    ("mine", "theirs", "clash"),
    [
        ({}, {}, True),
        ({"hostIP": "10.0.0.1"}, {}, True),
        ({"hostIP": "10.0.0.1"}, {"hostIP": "10.0.0.2"}, False),
        ({"protocol": "UDP"}, {}, False),
    ],
)
def test_host_ports_clash_by_address_and_protocol(
    mine: dict[str, str], theirs: dict[str, str], clash: bool
) -> None:
    port = {"containerPort": 80, "hostPort": 8080}
    view = ClusterView([a_node("a")], [a_pod("other", on="a", ports=[{**port, **theirs}])])
    decision = schedule(a_pod(ports=[{**port, **mine}]), view)
    assert isinstance(decision, Unschedulable) is clash


def test_a_missing_claim_stops_everything() -> None:
    said = message(a_pod(volumes=mounting("missing")), ClusterView([a_node(n) for n in "abcd"]))
    assert said == '0/4 nodes are available: persistentvolumeclaim "missing" not found. not found'


def test_an_unbound_claim_of_an_immediate_class_stops_everything() -> None:
    storage = Storage.of(
        claims=[a_claim(class_="now")], classes=[a_class("now", provisioner="x", waits=False)]
    )
    said = message(a_pod(volumes=mounting("data")), ClusterView([a_node("a")], storage=storage))
    assert said == "0/1 nodes are available: pod has unbound immediate PersistentVolumeClaims. not found"


def test_a_bound_volume_ties_the_pod_to_its_zone() -> None:
    storage = Storage.of(claims=[a_claim(volume="v")], volumes=[a_volume("v", zone="za")])
    nodes = [a_node("a", zone="za"), a_node("b", zone="zb")]
    assert schedule(a_pod(volumes=mounting("data")), ClusterView(nodes, storage=storage)) == Scheduled(
        frozenset({"a"}), ("a",)
    )
    assert reasons(a_pod(volumes=mounting("data")), ClusterView(nodes[1:], storage=storage)) == {
        "node(s) didn't match PersistentVolume's node affinity": 1
    }


def test_zone_labels_of_a_volume_bind_too_but_not_where_nodes_have_none() -> None:
    volume = a_volume("v", labels={"failure-domain.beta.kubernetes.io/zone": "za__zb"})
    storage = Storage.of(claims=[a_claim(volume="v")], volumes=[volume])
    asked = a_pod(volumes=mounting("data"))
    assert reasons(asked, ClusterView([a_node("c", zone="zc")], storage=storage)) == {
        "node(s) had no available volume zone": 1
    }
    for fine in (a_node("b", zone="zb"), a_node("plain")):
        assert isinstance(schedule(asked, ClusterView([fine], storage=storage)), Scheduled)


def test_a_waiting_claim_takes_a_volume_that_exists_or_one_that_can_be_made() -> None:
    nodes = [a_node("a", zone="za"), a_node("b", zone="zb")]
    only_here = [{"matchLabelExpressions": [{"key": ZONE, "values": ["zb"]}]}]
    static = a_class("static", provisioner="kubernetes.io/no-provisioner")
    dynamic = a_class("dynamic", provisioner="csi.example", allowedTopologies=only_here)
    volumes = [a_volume("free", class_="static", zone="za")]
    asked = a_pod(volumes=mounting("data"))
    for class_, node in (("static", "a"), ("dynamic", "b")):
        storage = Storage.of(claims=[a_claim(class_=class_)], volumes=volumes, classes=[static, dynamic])
        assert schedule(asked, ClusterView(nodes, storage=storage)) == Scheduled(frozenset({node}), (node,))
    none_free = Storage.of(claims=[a_claim(class_="static")], classes=[static])
    assert reasons(asked, ClusterView(nodes, storage=none_free)) == {
        "node(s) didn't find available persistent volumes to bind": 2
    }


def test_a_claim_for_one_pod_is_refused_everywhere_while_in_use() -> None:
    claim = a_claim(volume="v", accessModes=["ReadWriteOncePod"])
    storage = Storage.of(claims=[claim], volumes=[a_volume("v")])
    user = a_pod("user", on="a", volumes=mounting("data"))
    view = ClusterView([a_node("a"), a_node("b")], [user], storage=storage)
    assert list(reasons(a_pod(volumes=mounting("data")), view).values()) == [2]
    view.remove(user)
    assert isinstance(schedule(a_pod(volumes=mounting("data")), view), Scheduled)


def spread(**more: object) -> list[dict[str, object]]:
    base = {"maxSkew": 1, "topologyKey": ZONE, "whenUnsatisfiable": "DoNotSchedule"}
    return [{**base, "labelSelector": {"matchLabels": {"app": "a"}}, **more}]


def test_spreading_refuses_the_fuller_zone() -> None:
    nodes = [a_node("a", zone="za"), a_node("b", zone="zb"), a_node("lost")]
    view = ClusterView(nodes, [a_pod("one", on="a", labels={"app": "a"})])
    asked = a_pod(labels={"app": "a"}, topologySpreadConstraints=spread())
    assert schedule(asked, view) == Scheduled(frozenset({"b"}), ("b",))
    too_few = a_pod(labels={"app": "a"}, topologySpreadConstraints=spread(minDomains=3, maxSkew=1))
    view.add(view.nodes["a"].pods["uid-one"], "b")
    assert reasons(too_few, view) == {
        "node(s) didn't match pod topology spread constraints": 2,
        "node(s) didn't match pod topology spread constraints (missing required label)": 1,
    }


def test_spreading_may_leave_tainted_nodes_out_of_the_count() -> None:
    nodes = [a_node("a", zone="za"), a_node("b", zone="zb", taints=("no=:NoSchedule",))]
    view = ClusterView(nodes, [a_pod("one", on="a", labels={"app": "a"})])
    counted = a_pod(labels={"app": "a"}, topologySpreadConstraints=spread())
    left_out = a_pod(labels={"app": "a"}, topologySpreadConstraints=spread(nodeTaintsPolicy="Honor"))
    assert isinstance(schedule(counted, view), Unschedulable)
    assert schedule(left_out, view) == Scheduled(frozenset({"a"}), ("a",))


def test_match_label_keys_count_only_pods_of_the_same_revision() -> None:
    nodes = [a_node("a", zone="za"), a_node("b", zone="zb")]
    view = ClusterView(nodes, [a_pod("old", on="a", labels={"app": "a", "rev": "1"})])
    constraints = spread(matchLabelKeys=["rev"])
    asked = a_pod(labels={"app": "a", "rev": "2"}, topologySpreadConstraints=constraints)
    decision = schedule(asked, view)
    assert isinstance(decision, Scheduled)
    assert set(decision.feasible) == {"a", "b"}


def test_affinity_finds_company_or_is_the_first_of_its_group() -> None:
    nodes = [a_node("a", zone="za"), a_node("b", zone="zb")]
    seeks = required("podAffinity", ZONE, {"app": "a"})
    view = ClusterView(nodes)
    assert reasons(a_pod(affinity=seeks), view) == {"node(s) didn't match pod affinity rules": 2}
    first = schedule(a_pod(labels={"app": "a"}, affinity=seeks), view)
    assert isinstance(first, Scheduled)
    assert set(first.feasible) == {"a", "b"}
    view = ClusterView(nodes, [a_pod("one", on="b", labels={"app": "a"})])
    assert schedule(a_pod(affinity=seeks), view) == Scheduled(frozenset({"b"}), ("b",))


def test_anti_affinity_works_both_ways() -> None:
    nodes = [a_node("a")]
    avoids = required("podAntiAffinity", HOST, {"app": "a"})
    view = ClusterView(nodes, [a_pod("one", on="a", labels={"app": "a"})])
    assert reasons(a_pod(affinity=avoids), view) == {"node(s) didn't match pod anti-affinity rules": 1}
    view = ClusterView(nodes, [a_pod("one", on="a", affinity=avoids)])
    assert reasons(a_pod(labels={"app": "a"}), view) == {
        "node(s) didn't satisfy existing pods anti-affinity rules": 1
    }


def test_affinity_means_pods_of_the_own_namespace_unless_it_says_otherwise() -> None:
    spaces = [Namespace(metadata=Meta(name=name, labels={"team": name})) for name in ("team", "other")]
    there = a_pod("one", on="a", labels={"app": "a"}, namespace="other")
    view = ClusterView([a_node("a")], [there], namespaces=spaces)
    seeks = required("podAffinity", HOST, {"app": "a"})
    assert isinstance(schedule(a_pod(affinity=seeks), view), Unschedulable)
    term = seeks["podAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"][0]
    term["namespaceSelector"] = {"matchLabels": {"team": "other"}}
    assert isinstance(schedule(a_pod(affinity=seeks), view), Scheduled)


def test_a_node_promised_to_an_equal_pod_counts_as_taken() -> None:
    rival = a_pod("rival", requests={"cpu": "3"}, priority=5, status={"nominatedNodeName": "a"})
    view = ClusterView([a_node("a", cpu="4")], [rival])
    assert reasons(a_pod(requests={"cpu": "2"}, priority=5), view) == {"Insufficient cpu": 1}
    assert isinstance(schedule(a_pod(requests={"cpu": "2"}, priority=6), view), Scheduled)


def test_a_promised_node_is_taken_before_any_other() -> None:
    asked = a_pod(status={"nominatedNodeName": "b"})
    assert schedule(asked, ClusterView([a_node("a"), a_node("b")])) == Scheduled(frozenset({"b"}), ("b",))


def test_what_is_not_understood_is_said() -> None:
    assert unmodelled(a_pod()) == ()
    strange = a_pod(resourceClaims=[{"name": "gpu"}], schedulerName="volcano")
    assert [text.split(":")[0] for text in unmodelled(strange)] == [
        "spec.resourceClaims",
        "spec.schedulerName",
    ]
