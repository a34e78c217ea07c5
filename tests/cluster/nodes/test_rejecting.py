"""What a node refuses although a pod is bound to it."""

import pytest
from node_builders import a_container, a_node, a_pod

from tonnage.cluster.messages.eviction import NodeHadCondition
from tonnage.cluster.messages.rejection import OutOf, PredicateFailed, format_rejection
from tonnage.cluster.node.rejecting import kubelet_rejection, pressure_rejection, shortages


def asking(name="p", **requests):
    named = {k.replace("_", "-"): v for k, v in requests.items()}
    return a_pod(name, a_container(requests=named))


def test_memory_counts_in_bytes_and_cpu_in_thousandths():
    beside = [asking("a", memory="5Gi", cpu="3")]
    assert kubelet_rejection(asking(memory="4Gi"), a_node(), beside) == OutOf(
        "memory", 4 * 2**30, 5 * 2**30, 8 * 2**30
    )
    assert kubelet_rejection(asking(cpu="1100m"), a_node(), beside) == OutOf("cpu", 1100, 3000, 4000)
    assert kubelet_rejection(asking(cpu="1"), a_node(), beside) is None


def test_the_first_shortage_is_the_reason():
    full = a_node({"pods": "1"})
    found = shortages(asking(memory="9Gi", cpu="9"), full, [asking("a")])
    assert [s.resource for s in found] == ["pods", "cpu", "memory"]
    assert kubelet_rejection(asking(memory="9Gi"), full, [asking("a")]).resource == "pods"


def test_finished_pods_leave_room():
    done = a_pod("a", a_container(requests={"memory": "8Gi"}), status={"phase": "Failed"})
    assert kubelet_rejection(asking(memory="8Gi"), a_node(), [done]) is None


def test_gpus_the_node_knows_run_out_and_those_it_does_not_know_are_not_asked_for():
    wants = a_pod("p", a_container(requests={"nvidia.com/gpu": "2"}, limits={"nvidia.com/gpu": "2"}))
    assert kubelet_rejection(wants, a_node({"nvidia.com/gpu": "1"}), []) == OutOf("nvidia.com/gpu", 2, 0, 1)
    assert kubelet_rejection(wants, a_node({"nvidia.com/gpu": "0"}), []) == OutOf("nvidia.com/gpu", 2, 0, 0)
    assert kubelet_rejection(wants, a_node(), []) is None


def test_a_selector_that_does_not_match_refuses_the_pod():
    pod = a_pod("p", a_container(), nodeSelector={"gpu": "yes"})
    assert kubelet_rejection(pod, a_node(), []) == PredicateFailed(
        "NodeAffinity", "node(s) didn't match Pod's node affinity/selector"
    )


def test_only_no_execute_taints_refuse_a_bound_pod():
    tainted = a_node(spec={"taints": [{"key": "k", "effect": "NoExecute"}]})
    repelling = a_node(spec={"taints": [{"key": "k", "effect": "NoSchedule"}]})
    tolerant = a_pod("t", a_container(), tolerations=[{"key": "k", "operator": "Exists"}])
    assert kubelet_rejection(asking(), tainted, []) == PredicateFailed(
        "TaintToleration", "node(s) had taints that the pod didn't tolerate"
    )
    assert kubelet_rejection(asking(), repelling, []) is None
    assert kubelet_rejection(tolerant, tainted, []) is None


def test_a_host_port_is_taken_once_unless_addresses_differ():
    def on(name, address="", port=8000):
        ports = [{"containerPort": 80, "hostPort": port, "hostIP": address}]
        return a_pod(name, a_container(ports=ports))

    taken = PredicateFailed("NodePorts", "node(s) didn't have free ports for the requested pod ports")
    assert kubelet_rejection(on("a"), a_node(), [on("b")]) == taken
    assert kubelet_rejection(on("a", "10.0.0.1"), a_node(), [on("b")]) == taken
    assert kubelet_rejection(on("a", "10.0.0.1"), a_node(), [on("b", "10.0.0.2")]) is None
    assert kubelet_rejection(on("a"), a_node(), [on("b", port=9000)]) is None


@pytest.mark.parametrize(
    ("pod", "pressure", "refused"),
    [
        (a_pod("best-effort", a_container()), ("MemoryPressure",), True),
        (asking("burstable", memory="1Mi"), ("MemoryPressure",), False),
        (asking("burstable", memory="1Mi"), ("DiskPressure",), True),
        (asking("burstable", memory="1Mi"), ("MemoryPressure", "PIDPressure"), True),
        (a_pod("critical", a_container(), priority=2_000_000_000), ("DiskPressure",), False),
        (
            a_pod(
                "tolerant",
                a_container(),
                tolerations=[{"key": "node.kubernetes.io/memory-pressure", "operator": "Exists"}],
            ),
            ("MemoryPressure",),
            False,
        ),
        (a_pod("calm", a_container()), (), False),
    ],
)
def test_admission_under_pressure(pod, pressure, refused):
    assert pressure_rejection(pod, pressure) == (NodeHadCondition(pressure) if refused else None)


def test_the_words_are_the_kubelets():
    assert format_rejection(OutOf("memory", 3, 2, 1)) == (
        "Node didn't have enough resource: memory, requested: 3, used: 2, capacity: 1"
    )
