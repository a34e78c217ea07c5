"""Node pressure, really caused: who is evicted, in which order, with which words.

The machine is never brought near its limits. Pods take a few hundred MiB, and the kubelet is restarted with
thresholds moved to where the node already stands: for memory around this node's pods alone (a small
`kubepods` wall, through systemReserved), for disk and inodes on the node's own small disk, for processes
above what is free. The order is predicted by our ranking from what the kubelet itself measured just before.
"""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from conformance.nodes.bench import Bench, is_running
from conformance.nodes.case import Facts, Outcome, Phase, caused
from conformance.nodes.manifests import Json, a_pod, held, python, shell
from conformance.nodes.reading import disruption
from conformance.nodes.refusing import rejected
from tonnage.cluster.ending.terminations import KILLED_ENDINGS
from tonnage.cluster.messages.disruption import Disruption
from tonnage.cluster.messages.eviction import (
    EVICTED,
    THRESHOLD_MET,
    NodeLow,
    format_eviction,
    format_reclaiming,
    parse_eviction,
    parse_reclaiming,
)
from tonnage.cluster.node.evicting import (
    Filesystems,
    disk_usage,
    eviction_message,
    observe,
    parts_measured,
    rank,
)
from tonnage.cluster.node.thresholds import CONDITION_OF, PRESSURES, RESOURCE_OF, Signal
from tonnage.cluster.node.usage import PodUsage, StatsSummary
from tonnage.cluster.objects import Pod
from tonnage.sandbox import realnode
from tonnage.units import parse_quantity

MIB = 1 << 20


@contextmanager
def _settings(bench: Bench, overrides: Mapping[str, Any]) -> Iterator[None]:
    """The kubelet with other settings, for a while."""
    realnode.reconfigure(bench.sandbox, bench.node_name, overrides)
    try:
        yield
    finally:
        bench.clear()
        realnode.reconfigure(bench.sandbox, bench.node_name, {})
        realnode.ensure_images(bench.real_node)


def _started(bench: Bench, manifests: list[Json]) -> list[Pod]:
    for manifest in manifests:
        bench.create(manifest)
    return [bench.await_pod(manifest["metadata"]["name"], is_running) for manifest in manifests]


def _measured(bench: Bench, pods: list[Pod], is_there: Callable[[Pod, PodUsage], bool]) -> StatsSummary:
    """The kubelet's statistics once they show what every pod holds, and the disk has come to rest."""
    last = 0
    for _ in range(60):
        summary = bench.summary()
        usages = [(pod, summary.of(pod)) for pod in pods]
        there = all(usage is not None and is_there(pod, usage) for pod, usage in usages)
        free = _free_disk(summary)
        if there and abs(free - last) < 4 * MIB:
            return summary
        last = free
        time.sleep(1.5)
    raise TimeoutError("the kubelet never measured what the pods hold")


def _free_disk(summary: StatsSummary) -> int:
    seen = observe(summary).get(Signal.NODEFS)
    return seen.available.value() if seen else 0


def _ranked(signal: Signal, pods: list[Pod], summary: StatsSummary) -> list[str]:
    """Names in our order; a case is built so that there are no ties."""
    groups = rank(signal, pods, summary.of, filesystems=Filesystems.SINGLE)
    assert all(len(group) == 1 for group in groups), "the case has a tie"
    return [group[0].metadata.name for group in groups]


def _pressed(
    bench: Bench, signal: Signal, pods: list[Pod], summary: StatsSummary, *, threshold: str, leave: int
) -> tuple[Facts, Facts]:
    """Watch evictions until only `leave` pods are left; what was foretold, and what came."""
    resource, order = RESOURCE_OF[signal], _ranked(signal, pods, summary)
    enough = len(order) - leave
    seen = _evictions(bench, order, enough)
    # The runtime frees disk space in its own time; a kubelet that looks sooner takes one more, in order.
    gone = max(enough, len(seen)) if resource in {"ephemeral-storage", "inodes"} else enough
    going, staying = order[:gone], order[gone:]
    condition = CONDITION_OF[resource]
    predicted: Facts = {"order": going, "staying": dict.fromkeys(staying, "Running")}
    real: Facts = {"order": list(seen), "staying": {name: bench.pod(name).status.phase for name in staying}}
    by_name = {pod.metadata.name: pod for pod in pods}
    for name, pod in seen.items():
        spec = by_name[name]
        foretold = eviction_message(
            resource,
            spec,
            summary.of(spec),
            threshold=parse_quantity(threshold),
            available=parse_quantity("1"),
        )
        predicted[name] = _words(foretold, foretold, foretold)
        event = bench.await_event(name, EVICTED)
        real[name] = _words(
            pod.status.message,
            (disruption(pod) or "").removeprefix(f"{Disruption.KUBELET}: "),
            event.message if event else "",
        )
        predicted[f"{name} ends"] = f"Failed {EVICTED} killed"
        real[f"{name} ends"] = f"{pod.status.phase} {pod.status.reason} {_end(pod)}"
    predicted |= {
        "condition": f"True {PRESSURES[condition].insufficient}",
        "taint": True,
        "node event": f"Warning: {format_reclaiming(resource)}",
    }
    return predicted, real | _node_facts(bench, condition, resource)


def _words(message: str, condition: str, event: str) -> Facts:
    """An eviction's words without the numbers of the moment; the three places must say the same."""
    low = parse_eviction(message)
    if not isinstance(low, NodeLow):
        return {"text": message}
    return {
        "resource": low.resource,
        "threshold": low.threshold,
        "offenders": [(o.name, o.request) for o in low.offenders],
        "written back": format_eviction(low) == message,
        "the same everywhere": message == condition == event,
    }


def _end(pod: Pod) -> str:
    """`killed` when the container's end is one that killing may show."""
    statuses = pod.status.container_statuses
    state = statuses[0].state.terminated if statuses else None
    if state is None:
        return "running" if statuses else "never run"
    shown = {(end.exit_code, end.reason, end.message) for end in KILLED_ENDINGS}
    ending = (state.exit_code, state.reason, state.message)
    return "killed" if ending in shown else f"{state.reason} {state.exit_code}"


def _evictions(bench: Bench, names: list[str], number: int) -> dict[str, Pod]:
    """Pods in the order they were evicted; after the expected number, a little longer for one too many."""
    seen: dict[str, Pod] = {}
    give_up = time.monotonic() + 90
    while time.monotonic() < give_up:
        for name in names:
            if name not in seen and (pod := bench.pod(name)).status.phase == "Failed":
                seen[name] = pod
        if len(seen) >= number and number:
            give_up = min(give_up, time.monotonic() + 12)
            number = 0
        time.sleep(0.2)
    return {name: bench.pod(name) for name in seen}


def _node_facts(bench: Bench, condition: str, resource: str) -> Facts:
    for _ in range(50):
        node = bench.node()
        found = next(c for c in node.status.conditions if c.type == condition)
        tainted = any(
            t.key == PRESSURES[condition].taint and t.effect == "NoSchedule" for t in node.spec.taints
        )
        if tainted and found.status == "True":
            break
        time.sleep(0.2)
    events = bench.events(bench.node_name, namespace="default")
    wanted = [e for e in events if e.reason == THRESHOLD_MET and parse_reclaiming(e.message) == resource]
    return {
        "condition": f"{found.status} {found.reason}",
        "taint": tainted,
        "node event": f"{wanted[-1].type}: {wanted[-1].message}" if wanted else None,
    }


def _refusals(bench: Bench, condition: str, facts: tuple[Facts, Facts], *, burstable_too: bool) -> Outcome:
    """Under pressure new pods are refused: under memory pressure BestEffort ones, otherwise all."""
    predicted, real = facts
    late = f"late-{condition.lower()}"
    plain = a_pod(late, bench.node_name, shell("c", "true"))
    small = a_pod(f"{late}-burstable", bench.node_name, shell("c", "true", requests={"memory": "1Mi"}))
    refused = rejected(bench, plain, pressure=(condition,))
    predicted |= {f"late: {k}": v for k, v in refused.predicted.items()}
    real |= {f"late: {k}": v for k, v in refused.real.items()}
    if burstable_too:
        second = rejected(bench, small, pressure=(condition,))
        predicted |= {f"late burstable: {k}": v for k, v in second.predicted.items()}
        real |= {f"late burstable: {k}": v for k, v in second.real.items()}
    else:
        predicted["late burstable"] = "Succeeded"
        real["late burstable"] = bench.run(small).status.phase
    return Outcome(predicted=predicted, real=real)


@caused(
    "memory pressure: four pods, three go",
    "memory ranking",
    "TerminationByKubelet",
    "The node was low on resource: memory",
    "EvictionThresholdMet",
    "MemoryPressure refuses BestEffort pods",
    phase=Phase.PRESSURE,
    seconds=60,
)
def memory(bench: Bench) -> Outcome:
    sizes = {"over-much": (150, "5Mi", "usual"), "over-little": (60, "5Mi", "usual")}
    sizes |= {"over-urgent": (200, "5Mi", "urgent"), "within-spare": (100, "140Mi", "spare")}
    manifests = [
        a_pod(
            name,
            bench.node_name,
            python("c", held(size), requests={"memory": request}),
            priorityClassName=importance,
        )
        for name, (size, request, importance) in sizes.items()
    ]
    pods = _started(bench, manifests)
    summary = _measured(
        bench, pods, lambda pod, usage: usage.working_set() > sizes[pod.metadata.name][0] * MIB
    )
    # 520 MiB and a little are held inside a wall of 1400: 1150 must be free, so all but the last 110 must go.
    capacity = parse_quantity(bench.node().status.capacity["memory"]).value()
    settings = {
        "systemReserved": {"memory": str(capacity - 1400 * MIB)},
        "evictionHard": {"memory.available": "1150Mi"},
    }
    with _settings(bench, settings):
        facts = _pressed(bench, Signal.ALLOCATABLE_MEMORY, pods, summary, threshold="1150Mi", leave=1)
        return _refusals(bench, "MemoryPressure", facts, burstable_too=False)


def _disk_pod(bench: Bench, name: str, script: str, importance: str, request: str | None = None) -> Json:
    container = shell("c", f"{script}; sleep 3600", volumeMounts=[{"name": "v", "mountPath": "/v"}])
    if request:
        container["resources"] = {"requests": {"ephemeral-storage": request}}
    return a_pod(
        name,
        bench.node_name,
        container,
        priorityClassName=importance,
        volumes=[{"name": "v", "emptyDir": {}}],
    )


@contextmanager
def _ballast(bench: Bench, fill: str) -> Iterator[None]:
    """Something on the node's disk that is no pod's, made by a shell command, for a while.

    Pressure must begin while the kubelet runs: one that starts under disk pressure refuses the pods it finds.
    """
    realnode.enter(bench.real_node, ["sh", "-c", f"mkdir -p {_BALLAST} && cd {_BALLAST} && {fill}"])
    try:
        yield
    finally:
        realnode.enter(bench.real_node, ["rm", "-rf", _BALLAST])


_BALLAST = "/var/ballast"


@caused(
    "disk pressure: four pods, three go",
    "disk ranking",
    "The node was low on resource: ephemeral-storage",
    "DiskPressure refuses every pod",
    phase=Phase.PRESSURE,
    seconds=80,
)
def disk(bench: Bench) -> Outcome:
    sizes = {"disk-much": 150, "disk-little": 60, "disk-urgent": 120, "disk-within": 100}
    manifests = [
        _disk_pod(bench, "disk-much", _write("/big", 150), "usual"),
        _disk_pod(bench, "disk-little", _write("/v/big", 60), "usual"),
        _disk_pod(bench, "disk-urgent", _write("/big", 120), "urgent"),
        _disk_pod(bench, "disk-within", _write("/big", 100), "spare", "200Mi"),
    ]
    pods = _started(bench, manifests)
    everything = parts_measured(Signal.NODEFS, Filesystems.SINGLE)

    def holds_its_size(pod: Pod, usage: PodUsage) -> bool:
        return disk_usage(pod, usage, everything) >= sizes[pod.metadata.name] * MIB

    before = _measured(bench, pods, holds_its_size)
    threshold = str(observe(before)[Signal.NODEFS].available.value() - 100 * MIB)
    with _settings(bench, {"evictionHard": {"memory.available": "100Mi", "nodefs.available": threshold}}):
        summary = _measured(bench, pods, holds_its_size)
        # 280 MiB will be missing; 330 come free when three have gone, 210 when two have.
        with _ballast(bench, "fallocate -l 380M x"):
            facts = _pressed(bench, Signal.NODEFS, pods, summary, threshold=threshold, leave=1)
            return _refusals(bench, "DiskPressure", facts, burstable_too=True)


def _write(path: str, mebibytes: int) -> str:
    return f"dd if=/dev/zero of={path} bs=1M count={mebibytes} 2>/dev/null"


def _touch(number: int) -> str:
    return f"python3 -c \"[open('/v/%d' % i, 'w').close() for i in range({number})]\""


@caused(
    "inode pressure: a byte request hides inodes",
    "inode ranking",
    "The node was low on resource: inodes",
    phase=Phase.PRESSURE,
    seconds=80,
)
def inodes(bench: Bench) -> Outcome:
    counts = {"inodes-many": 6000, "inodes-few": 2500, "inodes-asking": 9000}
    manifests = [
        _disk_pod(bench, name, _touch(count), "usual", "1Mi" if name == "inodes-asking" else None)
        for name, count in counts.items()
    ]
    pods = _started(bench, manifests)
    everything = parts_measured(Signal.NODEFS_INODES, Filesystems.SINGLE)

    def holds_its_files(pod: Pod, usage: PodUsage) -> bool:
        return disk_usage(pod, usage, everything, inodes=True) >= counts[pod.metadata.name]

    before = _measured(bench, pods, holds_its_files)
    threshold = str(observe(before)[Signal.NODEFS_INODES].available.value() - 1000)
    with _settings(bench, {"evictionHard": {"memory.available": "100Mi", "nodefs.inodesFree": threshold}}):
        summary = _measured(bench, pods, holds_its_files)
        # 7,000 will be missing; 8,500 come free when two have gone, 6,000 when one has.
        with _ballast(bench, "seq 8000 | xargs touch"):
            predicted, real = _pressed(
                bench, Signal.NODEFS_INODES, pods, summary, threshold=threshold, leave=1
            )
    return Outcome(predicted=predicted, real=real)


@contextmanager
def _threads(number: int) -> Iterator[None]:
    """Idle threads beside the node, for a while: the node counts the whole machine's."""
    script = (
        "import threading, time\nthreading.stack_size(1 << 16)\n"
        f"for _ in range({number}): threading.Thread(target=time.sleep, args=(600,), daemon=True).start()\n"
        "print('ready', flush=True)\ntime.sleep(600)"
    )
    with subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE) as many:
        assert many.stdout is not None
        many.stdout.readline()
        try:
            yield
        finally:
            many.kill()


@caused(
    "process pressure: priority first, then number",
    "pid ranking",
    "The node was low on resource: pids",
    "PIDPressure refuses every pod",
    phase=Phase.PRESSURE,
    seconds=80,
)
def processes(bench: Bench) -> Outcome:
    def many(name: str, number: int, importance: str) -> Json:
        script = "sleep 3600 & " * number + "wait"
        return a_pod(name, bench.node_name, shell("c", script), priorityClassName=importance)

    counts = {"pids-many": 30, "pids-few": 5, "pids-spare": 2, "pids-urgent": 60}
    importance = {"pids-spare": "spare", "pids-urgent": "urgent"}
    pods = _started(
        bench, [many(name, number, importance.get(name, "usual")) for name, number in counts.items()]
    )

    def has_its_processes(pod: Pod, usage: PodUsage) -> bool:
        return usage.processes() >= counts[pod.metadata.name]

    before = _measured(bench, pods, has_its_processes)
    threshold = str(observe(before)[Signal.PID].available.value() - 1500)
    with _settings(bench, {"evictionHard": {"memory.available": "100Mi", "pid.available": threshold}}):
        summary = _measured(bench, pods, has_its_processes)
        # Far more than the pods could free: everyone goes in turn.
        with _threads(4000):
            facts = _pressed(bench, Signal.PID, pods, summary, threshold=threshold, leave=0)
            return _refusals(bench, "PIDPressure", facts, burstable_too=True)
