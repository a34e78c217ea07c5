"""Which pod goes first under node pressure."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from node_builders import GIB, MIB, a_container, a_pod, looked_up, usage

from tonnage.cluster.node.evicting import (
    Filesystems,
    acting_thresholds,
    eviction_message,
    eviction_request,
    first_to_go,
    grace_seconds,
    observe,
    pressure_conditions,
    rank,
    thresholds_met,
)
from tonnage.cluster.node.thresholds import Signal, parse_thresholds
from tonnage.cluster.node.usage import StatsSummary
from tonnage.units import parse_quantity


def order(signal, pods, usages, **settings):
    return [{p.metadata.name for p in group} for group in rank(signal, pods, looked_up(usages), **settings)]


def memory_pod(name, request="0", **parts):
    return a_pod(name, a_container(requests={"memory": request}), **parts)


def test_memory_ranking_asks_stats_then_excess_then_priority_then_how_much():
    pods = [
        memory_pod("within", "2Gi"),
        memory_pod("over-a-lot"),
        memory_pod("over-a-little"),
        memory_pod("over-but-important", priority=100),
        memory_pod("unmeasured", priority=1000),
        memory_pod("within-cheap", "2Gi", priority=-5),
    ]
    usages = [
        usage("within", memory=GIB),
        usage("over-a-lot", memory=3 * GIB),
        usage("over-a-little", memory=MIB),
        usage("over-but-important", memory=9 * GIB),
        usage("within-cheap", memory=GIB),
    ]
    assert order(Signal.MEMORY, pods, usages) == [
        {"unmeasured"},
        {"over-a-lot"},
        {"over-a-little"},
        {"over-but-important"},
        {"within-cheap"},
        {"within"},
    ]


def test_equal_pods_are_a_group_because_the_kubelets_sort_is_not_stable():
    pods = [memory_pod("a"), memory_pod("b"), memory_pod("c")]
    usages = [usage("a", memory=5), usage("b", memory=5), usage("c", memory=6)]
    assert order(Signal.MEMORY, pods, usages) == [{"c"}, {"a", "b"}]


def test_qos_is_not_asked():
    full = {"cpu": "1", "memory": "1Gi"}
    pods = [
        a_pod("guaranteed", a_container(requests=full, limits=full), priority=-1),
        memory_pod("burst", "1Gi"),
    ]
    usages = [usage("guaranteed", memory=MIB), usage("burst", memory=MIB)]
    assert order(Signal.MEMORY, pods, usages) == [{"guaranteed"}, {"burst"}]


def test_critical_and_static_pods_are_passed_over():
    pods = [
        memory_pod("system", priority=2_000_000_000),
        memory_pod("static", annotations={"kubernetes.io/config.mirror": "x"}),
        memory_pod("mine", "9Gi"),
    ]
    groups = rank(
        Signal.MEMORY, pods, looked_up([usage(n, memory=GIB) for n in ("system", "static", "mine")])
    )
    assert [p.metadata.name for p in first_to_go(groups)] == ["mine"]


def test_finished_pods_are_not_candidates():
    pods = [memory_pod("done", status={"phase": "Succeeded"}), memory_pod("live")]
    assert order(Signal.MEMORY, pods, []) == [{"live"}]


def test_overhead_raises_a_request_but_never_makes_one():
    with_request = memory_pod("a", "1Gi", overhead={"memory": "1Gi"})
    without = memory_pod("b", overhead={"memory": "1Gi"})
    assert str(eviction_request(with_request, "memory")) == "2Gi"
    assert eviction_request(without, "memory").is_zero()


def test_pod_level_resources_hide_what_containers_request():
    pod = a_pod(
        "p",
        a_container(requests={"memory": "1Gi", "ephemeral-storage": "1Gi"}),
        resources={"requests": {"cpu": "1"}},
    )
    assert eviction_request(pod, "ephemeral-storage").is_zero()
    assert eviction_request(pod, "memory").is_zero()


def disk(name, *, rootfs=0, logs=0, volume=0, **parts):
    return usage(
        name,
        containers=[
            {
                "name": "c",
                "rootfs": {"usedBytes": rootfs, "inodesUsed": rootfs},
                "logs": {"usedBytes": logs, "inodesUsed": logs},
            }
        ],
        volume=[{"name": "v", "usedBytes": volume, "inodesUsed": volume}],
        **parts,
    )


def test_disk_ranking_blames_what_lives_on_the_starved_file_system():
    volumes = [{"name": "v", "emptyDir": {}}]
    pods = [a_pod(n, a_container(), volumes=volumes) for n in ("layers", "logs", "volumes")]
    usages = [disk("layers", rootfs=30), disk("logs", logs=20), disk("volumes", volume=10)]

    assert order(Signal.NODEFS, pods, usages) == [{"layers"}, {"logs"}, {"volumes"}]
    dedicated = Filesystems.DEDICATED_IMAGES
    assert order(Signal.NODEFS, pods, usages, filesystems=dedicated) == [{"logs"}, {"volumes"}, {"layers"}]
    assert order(Signal.IMAGEFS, pods, usages, filesystems=dedicated) == [{"layers"}, {"logs", "volumes"}]
    assert order(Signal.CONTAINERFS, pods, usages, filesystems=dedicated) == [{"layers"}, {"logs", "volumes"}]
    split = Filesystems.SPLIT
    assert order(Signal.NODEFS, pods, usages, filesystems=split) == [{"layers"}, {"logs"}, {"volumes"}]
    assert order(Signal.IMAGEFS, pods, usages, filesystems=split) == [{"layers", "logs", "volumes"}]


def test_memory_volumes_and_claims_are_not_local_disk():
    pods = [
        a_pod("tmpfs", a_container(), volumes=[{"name": "v", "emptyDir": {"medium": "Memory"}}]),
        a_pod("claim", a_container(), volumes=[{"name": "v", "persistentVolumeClaim": {"claimName": "x"}}]),
        a_pod("host", a_container(), volumes=[{"name": "v", "hostPath": {"path": "/x"}}]),
        a_pod("config", a_container(), volumes=[{"name": "v", "configMap": {"name": "x"}}]),
    ]
    usages = [disk(p.metadata.name, volume=10) for p in pods]
    assert order(Signal.NODEFS, pods, usages) == [{"host", "config"}, {"tmpfs", "claim"}]


def test_inode_ranking_subtracts_the_byte_request_as_the_kubelet_does():
    asks = a_pod("asks", a_container(requests={"ephemeral-storage": "1Gi"}))
    plain = a_pod("plain", a_container())
    usages = [disk("asks", rootfs=1000), disk("plain", rootfs=5)]
    # Any inode use "exceeds" the request of zero; then 1000 - 1Gi is far below 5 - 0.
    assert order(Signal.NODEFS_INODES, [asks, plain], usages) == [{"plain"}, {"asks"}]


def test_process_ranking_asks_priority_first():
    pods = [a_pod("many", priority=1), a_pod("few"), a_pod("more")]
    usages = [
        usage(n, process_stats={"process_count": c}) for n, c in (("many", 900), ("few", 2), ("more", 3))
    ]
    assert order(Signal.PID, pods, usages) == [{"more"}, {"few"}, {"many"}]


SUMMARY = msgspec.convert(
    {
        "node": {
            "nodeName": "n",
            "memory": {"availableBytes": 500 * MIB, "workingSetBytes": 1500 * MIB},
            "systemContainers": [
                {"name": "pods", "memory": {"availableBytes": 2 * GIB, "workingSetBytes": GIB}},
                {"name": "kubelet"},
            ],
            "fs": {"availableBytes": 10, "capacityBytes": 100, "inodesFree": 1, "inodes": 100},
            "runtime": {"imageFs": {"availableBytes": 90, "capacityBytes": 100}},
            "rlimit": {"maxpid": 1000, "curproc": 400},
        }
    },
    StatsSummary,
)


def test_signals_are_read_from_the_kubelets_summary():
    seen = observe(SUMMARY)
    assert {s.value: (o.available.value(), o.capacity.value()) for s, o in seen.items()} == {
        "memory.available": (500 * MIB, 2000 * MIB),
        "allocatableMemory.available": (2 * GIB, 3 * GIB),
        "nodefs.available": (10, 100),
        "nodefs.inodesFree": (1, 100),
        "imagefs.available": (90, 100),
        "pid.available": (600, 1000),
    }


def test_memory_is_served_before_anything_else():
    thresholds = parse_thresholds(
        {"nodefs.available": "20%", "memory.available": "1Gi", "pid.available": "10"}
    )
    met = thresholds_met(thresholds, observe(SUMMARY))
    assert {t.signal for t in met} == {Signal.NODEFS, Signal.MEMORY}
    assert {t.signal for t in acting_thresholds(met)} == {Signal.MEMORY}
    assert pressure_conditions(met) == {"MemoryPressure", "DiskPressure"}


def test_minimum_reclaim_keeps_a_threshold_met_a_little_longer():
    thresholds = parse_thresholds({"memory.available": "400Mi"}, min_reclaim={"memory.available": "200Mi"})
    assert thresholds_met(thresholds, observe(SUMMARY)) == ()
    assert Signal.MEMORY in {
        t.signal for t in thresholds_met(thresholds, observe(SUMMARY), with_reclaim=True)
    }


def test_the_message_names_the_containers_above_their_request():
    pod = a_pod(
        "p", a_container("c", requests={"memory": "1Gi"}), a_container("d", requests={"memory": "9Gi"})
    )
    measured = usage(
        "p",
        containers=[
            {"name": "c", "memory": {"workingSetBytes": 2 * GIB}},
            {"name": "d", "memory": {"workingSetBytes": 2 * GIB}},
        ],
    )
    text = eviction_message(
        "memory", pod, measured, threshold=parse_quantity("200Mi"), available=parse_quantity("150000Ki")
    )
    assert text == (
        "The node was low on resource: memory. Threshold quantity: 200Mi, available: 150000Ki. "
        "Container c was using 2Gi, request is 1Gi, has larger consumption of memory. "
    )


def test_the_message_names_the_pod_when_it_requests_memory_itself():
    pod = a_pod("p", a_container(), resources={"requests": {"memory": "1Gi"}})
    text = eviction_message("memory", pod, usage("p", memory=MIB), threshold=None, available=None)
    assert text == (
        "The node was low on resource: memory. "
        "Pod p was using 1Mi, request is 1Gi, has larger consumption of memory. "
    )


@pytest.mark.parametrize(
    ("own", "most", "seconds"), [(None, 0, 1), (30, 10, 10), (5, 10, 5), (0, 10, 1), (None, 7, 7)]
)
def test_a_soft_eviction_gives_the_smaller_promise_but_at_least_a_second(own, most, seconds):
    (soft,) = parse_thresholds({}, soft={"memory.available": "1Gi"}, soft_grace={"memory.available": "1s"})
    (hard, _) = parse_thresholds({"memory.available": "1Gi"})
    pod = a_pod("p", terminationGracePeriodSeconds=own)
    assert grace_seconds(soft, pod, max_pod_grace_seconds=most) == seconds
    assert grace_seconds(hard, pod, max_pod_grace_seconds=most) == 1


pods_and_use = st.lists(
    st.tuples(st.integers(0, 4), st.integers(-2, 2), st.none() | st.integers(0, 4)), min_size=1, max_size=8
)


@given(pods_and_use)
def test_every_pod_is_ranked_once_and_none_within_its_request_precedes_one_above(drawn):
    pods = [
        memory_pod(str(i), f"{request}Gi", priority=priority)
        for i, (request, priority, _) in enumerate(drawn)
    ]
    usages = [usage(str(i), memory=u * GIB) for i, (_, _, u) in enumerate(drawn) if u is not None]
    groups = rank(Signal.MEMORY, pods, looked_up(usages))
    names = [p.metadata.name for group in groups for p in group]

    assert sorted(names) == sorted(str(i) for i in range(len(drawn)))
    exceeds = [drawn[int(n)][2] is None or drawn[int(n)][2] > drawn[int(n)][0] for n in names]
    assert exceeds == sorted(exceeds, reverse=True)
