"""In-place resize: refused, put off, or done."""

from node_builders import GIB, a_container, a_node, a_pod, usage

from tonnage.cluster.messages.resize import (
    BelowUsage,
    format_below_usage,
    format_usage_unreadable,
    is_usage_unreadable,
)
from tonnage.cluster.node.resizing import (
    NodeManagers,
    decrease_error,
    kubelet_answer,
    node_refusal,
    resize_faults,
    restarts_for,
)
from tonnage.cluster.objects import Meta, Pod


def sized(request="1Gi", limit="2Gi", name="p", **parts):
    resources = {"requests": {"memory": request, "cpu": "1"}, "limits": {"memory": limit, "cpu": "2"}}
    return a_pod(name, a_container(**resources, **parts))


def guaranteed(memory="1Gi"):
    full = {"memory": memory, "cpu": "1"}
    return a_pod("p", a_container(requests=full, limits=full))


def test_growing_within_the_node_is_allowed():
    assert resize_faults(sized(), sized("2Gi", "4Gi")) == []
    assert node_refusal(sized("2Gi", "4Gi"), a_node()) is None
    assert kubelet_answer(sized(), sized("2Gi", "4Gi"), a_node(), []) is None


def test_the_qos_class_may_not_change():
    lopsided = a_pod(
        "p", a_container(requests={"memory": "1Gi", "cpu": "1"}, limits={"memory": "2Gi", "cpu": "1"})
    )
    assert resize_faults(guaranteed(), lopsided) == [
        'spec: Invalid value: "Burstable": Pod QOS Class may not change as a result of resizing'
    ]
    assert resize_faults(guaranteed(), guaranteed("2Gi")) == []


def test_a_value_may_not_be_taken_away():
    without = a_pod("p", a_container(requests={"memory": "1Gi", "cpu": "1"}, limits={"cpu": "2"}))
    assert resize_faults(sized(), without) == [
        "spec.containers[0].resources.limits: Forbidden: resource limits cannot be removed"
    ]


def test_only_cpu_and_memory_may_change():
    more_disk = a_pod(
        "p",
        a_container(
            requests={"memory": "1Gi", "cpu": "1", "ephemeral-storage": "1Gi"},
            limits={"memory": "2Gi", "cpu": "2"},
        ),
    )
    assert resize_faults(sized(), more_disk) == ["spec: Forbidden: only cpu and memory resources are mutable"]


def test_containers_may_not_come_go_or_be_renamed():
    two = a_pod("p", a_container("c"), a_container("d"))
    assert resize_faults(a_pod("p"), two) == [
        "spec.containers: Forbidden: containers may not be added or removed on resize"
    ]
    assert resize_faults(a_pod("p", a_container("c")), a_pod("p", a_container("e"))) == [
        "spec.containers[0].name: Forbidden: containers may not be renamed or reordered on resize"
    ]


def test_static_pods_are_not_resized():
    mirror = a_pod("p", annotations={"kubernetes.io/config.mirror": "x"})
    assert resize_faults(mirror, mirror) == [": Forbidden: static pods cannot be resized"]


def test_more_than_the_whole_node_is_refused_by_the_api():
    assert node_refusal(sized("64Gi", "64Gi"), a_node()) == (
        "node didn't have enough allocatable resources: "
        "memory, requested: 68719476736, allocatable: 8589934592"
    )
    huge = a_pod("p", a_container(requests={"memory": "9Gi", "cpu": "5"}))
    assert node_refusal(huge, a_node()) == (
        "node didn't have enough allocatable resources: cpu, requested: 5000, allocatable: 4000; "
        "memory, requested: 9663676416, allocatable: 8589934592"
    )


def test_what_does_not_fit_beside_the_others_is_deferred():
    beside = [a_pod("other", a_container(requests={"memory": "6Gi"}))]
    answer = kubelet_answer(sized(), sized("3Gi", "4Gi"), a_node(), beside)
    assert (answer.condition.type, answer.condition.reason) == ("PodResizePending", "Deferred")
    assert answer.event(sized("3Gi", "4Gi"), 2).startswith("Pod resize OutOfmemory: {")
    assert answer.message == (
        "Node didn't have enough resource: memory, "
        "requested: 3221225472, used: 6442450944, capacity: 8589934592"
    )


def test_static_managers_pin_guaranteed_pods():
    pinned = NodeManagers(static_memory=True)
    answer = kubelet_answer(guaranteed(), guaranteed("2Gi"), a_node(), [], managers=pinned)
    assert (answer.condition.reason, answer.message) == (
        "Infeasible",
        'Resize is infeasible for Guaranteed Pods alongside Memory Manager policy "Static"',
    )
    assert kubelet_answer(sized(), sized("2Gi"), a_node(), [], managers=pinned) is None


def test_a_limit_below_usage_is_accepted_and_not_carried_out():
    held = usage("p", memory=GIB, containers=[{"name": "c", "memory": {"usageBytes": GIB}}])
    error = decrease_error(sized("256Mi"), sized("256Mi", "512Mi"), held)
    assert (error.type, error.reason) == ("PodResizeInProgress", "Error")
    assert error.message == (
        "cannot decrease memory limits: "
        "[attempting to set pod memory limit (536870912) below current usage (1073741824), "
        'attempting to set container "c" memory limit (536870912) below current usage (1073741824)]'
    )
    assert decrease_error(sized(), sized("1Gi", "1536Mi"), held) is None
    assert decrease_error(sized(), sized("1Gi", "4Gi"), held) is None


def test_a_resize_policy_restarts_the_container_only_for_its_resource():
    policy = [{"resourceName": "memory", "restartPolicy": "RestartContainer"}]
    before, more_memory = sized(resizePolicy=policy), sized("2Gi", "3Gi", resizePolicy=policy)
    more_cpu = a_pod(
        "p",
        a_container(
            requests={"memory": "1Gi", "cpu": "2"}, limits={"memory": "2Gi", "cpu": "2"}, resizePolicy=policy
        ),
    )
    assert restarts_for(before, more_memory) == ("c",)
    assert restarts_for(before, more_cpu) == ()


def test_a_kubelet_without_a_reading_is_told_from_a_refusal():
    pod = Pod(metadata=Meta(name="train-0", namespace="ml", uid="32c91c12"))

    assert is_usage_unreadable('unable to read memory usage for pod "train-0_ml(32c91c12)"')
    assert is_usage_unreadable(format_usage_unreadable(pod))
    assert not is_usage_unreadable(format_below_usage((BelowUsage(1, 2),)))
