"""Pods bound to the node by hand that its kubelet will not run, and pods that others push off it."""

from __future__ import annotations

import time

import msgspec

from conformance.nodes.bench import HOLD, Bench, finished, is_running
from conformance.nodes.case import Facts, Outcome, Phase, caused
from conformance.nodes.killing import as_pod
from conformance.nodes.manifests import Json, a_pod, shell
from conformance.nodes.reading import disruption
from tonnage.cluster.ending.disrupting import answer_eviction
from tonnage.cluster.messages.disruption import (
    TAINT_EVENT_REASON,
    Disruption,
    disruption_condition,
    format_preempted_event,
    format_taint_event,
)
from tonnage.cluster.messages.rejection import PREFIX, format_rejection, parse_rejection, rejection_reason
from tonnage.cluster.node.rejecting import kubelet_rejection
from tonnage.cluster.objects import Pod
from tonnage.units import parse_quantity


def rejected(bench: Bench, manifest: Json, *, pressure: tuple[str, ...] = ()) -> Outcome:
    """The kubelet refuses the pod, with the numbers of this moment."""
    name = manifest["metadata"]["name"]
    others = bench.pods_here()
    refusal = kubelet_rejection(as_pod(manifest), bench.node(), others, pressure=pressure)
    assert refusal is not None, "our rules let the pod in"
    reason, text = rejection_reason(refusal), format_rejection(refusal)
    pod = bench.run(manifest, seconds=20)
    event = bench.await_event(name, reason)
    return Outcome(
        predicted={
            "phase": "Failed",
            "reason": reason,
            "message": PREFIX + text,
            "event": f"Warning: {text}",
            "DisruptionTarget": None,
            "read back": refusal,
            "containers": [],
        },
        real={
            "phase": pod.status.phase,
            "reason": pod.status.reason,
            "message": pod.status.message,
            "event": f"{event.type}: {event.message}" if event else None,
            "DisruptionTarget": disruption(pod),
            "read back": parse_rejection(pod.status.reason, pod.status.message),
            "containers": [s.name for s in pod.status.container_statuses],
        },
    )


@caused("more memory than is left", "OutOfmemory", phase=Phase.ALONE)
def out_of_memory(bench: Bench) -> Outcome:
    return _beside_another(bench, "out-memory", {"memory": "900Gi"})


@caused("more cpu than is left", "OutOfcpu", phase=Phase.ALONE)
def out_of_cpu(bench: Bench) -> Outcome:
    return _beside_another(bench, "out-cpu", {"cpu": "500"})


@caused("more local disk than is left", "OutOfephemeral-storage", phase=Phase.ALONE)
def out_of_disk(bench: Bench) -> Outcome:
    return _beside_another(bench, "out-disk", {"ephemeral-storage": "900Gi"})


@caused("more GPUs than are left", "OutOf an extended resource", phase=Phase.ALONE)
def out_of_gpus(bench: Bench) -> Outcome:
    return _beside_another(bench, "out-gpu", {"nvidia.com/gpu": "8"}, {"nvidia.com/gpu": "8"})


def _beside_another(bench: Bench, name: str, requests: Json, limits: Json | None = None) -> Outcome:
    """Another pod uses a little of everything, so that `used` is not zero."""
    little = {"cpu": "30m", "memory": "20Mi", "ephemeral-storage": "1Mi", "nvidia.com/gpu": "1"}
    sitting = shell("c", "sleep 3600", requests=little, limits={"nvidia.com/gpu": "1"})
    bench.create(a_pod(f"{name}-sitting", bench.node_name, sitting))
    bench.await_pod(f"{name}-sitting", is_running)
    return rejected(
        bench, a_pod(name, bench.node_name, shell("c", "true", requests=requests, limits=limits or {}))
    )


@caused("a selector the node does not match", "NodeAffinity at the kubelet")
def affinity(bench: Bench) -> Outcome:
    return rejected(
        bench, a_pod("refused-affinity", bench.node_name, shell("c", "true"), nodeSelector={"no": "such"})
    )


@caused("a host port that is taken", "NodePorts at the kubelet")
def host_port(bench: Bench) -> Outcome:
    ports = [{"containerPort": 80, "hostPort": 28123}]
    bench.create(a_pod("port-holder", bench.node_name, shell("c", "sleep 3600", ports=ports)))
    bench.await_pod("port-holder", is_running)
    outcome = rejected(bench, a_pod("refused-port", bench.node_name, shell("c", "true", ports=ports)))
    bench.delete("port-holder")
    return outcome


@caused("an extended resource the node does not know", "unknown extended resources are dropped")
def unknown_resource(bench: Bench) -> Outcome:
    asks = {"example.com/thing": "3"}
    manifest = a_pod("unknown-resource", bench.node_name, shell("c", "true", requests=asks, limits=asks))
    refusal = kubelet_rejection(as_pod(manifest), bench.node(), bench.pods_here())
    pod = bench.run(manifest)
    return Outcome(
        predicted={"refused": None, "phase": "Succeeded"},
        real={"refused": refusal, "phase": pod.status.phase},
    )


def _held(bench: Bench, name: str) -> Pod:
    """A running pod that stays readable after its deletion."""
    bench.create(a_pod(name, bench.node_name, shell("c", "sleep 3600"), finalizers=[HOLD]))
    return bench.await_pod(name, is_running)


def _going(pod: Pod) -> bool:
    return pod.metadata.deletion_timestamp is not None and finished(pod)


@caused("evicted through the API", "EvictionByEvictionAPI", seconds=6)
def api_eviction(bench: Bench) -> Outcome:
    pod = _held(bench, "evict-plain")
    expected = answer_eviction(pod, [])
    answer = bench.evict("evict-plain")
    pod = bench.await_pod("evict-plain", _going)
    condition = disruption_condition(Disruption.EVICTION_API)
    bench.delete("evict-plain")
    return Outcome(
        predicted={
            "status": expected.code,
            "DisruptionTarget": f"{condition.reason}: {condition.message}",
            "phase": "Failed",
        },
        real={"status": answer.status, "DisruptionTarget": disruption(pod), "phase": pod.status.phase},
    )


@caused("an eviction that a budget forbids", "429 from a disruption budget", seconds=8)
def budget(bench: Bench) -> Outcome:
    name = "evict-guarded"
    bench.must(
        bench.api.create(
            bench.budgets,
            {
                "metadata": {"name": name},
                "spec": {"minAvailable": 1, "selector": {"matchLabels": {"case": name}}},
            },
        )
    )
    bench.create(a_pod(name, bench.node_name, shell("c", "sleep 3600")))
    pod = bench.await_pod(name, _is_ready)
    for _ in range(50):
        guard = bench.budget(name)
        if (
            guard.status.current_healthy == 1
            and guard.status.observed_generation == guard.metadata.generation
        ):
            break
        time.sleep(0.2)
    expected = answer_eviction(pod, [guard])
    answer = bench.evict(name)
    causes = answer.body.get("details", {}).get("causes", [{}])
    real: Facts = {
        "status": answer.status,
        "message": answer.message,
        "cause": causes[0].get("message"),
        "DisruptionTarget": disruption(bench.pod(name)),
    }
    bench.delete(name)
    return Outcome(
        predicted={
            "status": expected.code,
            "message": expected.message,
            "cause": expected.cause,
            "DisruptionTarget": None,
        },
        real=real,
    )


def _is_ready(pod: Pod) -> bool:
    return any(c.type == "Ready" and c.status == "True" for c in pod.status.conditions)


@caused(
    "preempted by a more important pod",
    "PreemptionByScheduler",
    "Preempted event",
    phase=Phase.ALONE,
    seconds=10,
)
def preemption(bench: Bench) -> Outcome:
    gpus = {"nvidia.com/gpu": str(parse_quantity(bench.node().status.allocatable["nvidia.com/gpu"]).value())}
    all_gpus: Json = {"limits": gpus, "requests": gpus}
    place: Json = {"nodeSelector": {"kubernetes.io/hostname": bench.node_name}}
    container = shell("c", "sleep 3600", **all_gpus)
    bench.create(a_pod("victim", None, container, finalizers=[HOLD], priorityClassName="spare", **place))
    bench.await_pod("victim", is_running)
    urgent = a_pod("preemptor", None, shell("c", "true", **all_gpus), priorityClassName="urgent", **place)
    preemptor = bench.create(urgent)
    victim = bench.await_pod("victim", _going)
    event = bench.await_event("victim", "Preempted")
    after = bench.await_pod("preemptor", lambda pod: pod.spec.node_name != "" and finished(pod), seconds=60)
    condition = disruption_condition(Disruption.PREEMPTED_BY_SCHEDULER)
    bench.delete("victim")
    return Outcome(
        predicted={
            "DisruptionTarget": f"{condition.reason}: {condition.message}",
            "event": f"Normal: {format_preempted_event(preemptor.metadata.uid, bench.node_name)}",
            "preemptor": "Succeeded",
        },
        real={
            "DisruptionTarget": disruption(victim),
            "event": f"{event.type}: {event.message}" if event else None,
            "preemptor": after.status.phase,
        },
    )


@caused(
    "a NoExecute taint",
    "DeletionByTaintManager",
    "NoExecute taint at the kubelet",
    phase=Phase.ALONE,
    seconds=15,
)
def taint(bench: Bench) -> Outcome:
    _held(bench, "tainted")
    path = f"/api/v1/nodes/{bench.node_name}"
    before = [msgspec.to_builtins(t) for t in bench.node().spec.taints]
    mark = {"key": "conformance", "value": "x", "effect": "NoExecute"}
    bench.must(bench.api.patch(path, {"spec": {"taints": [*before, mark]}}))
    try:
        pod = bench.await_pod("tainted", _going, seconds=40)
        event = bench.await_event("tainted", TAINT_EVENT_REASON)
        # A pod bound while the taint stands is refused by the kubelet itself.
        late = a_pod("refused-taint", bench.node_name, shell("c", "true"), finalizers=[HOLD])
        refused = rejected(bench, late)
    finally:
        bench.must(bench.api.patch(path, {"spec": {"taints": before or None}}))
    condition = disruption_condition(Disruption.TAINT)
    predicted: Facts = {
        "DisruptionTarget": f"{condition.reason}: {condition.message}",
        "event": f"Normal: {format_taint_event(f'{bench.namespace}/tainted')}",
        "phase": "Failed",
    }
    real: Facts = {
        "DisruptionTarget": disruption(pod),
        "event": f"{event.type}: {event.message}" if event else None,
        "phase": pod.status.phase,
    }
    bench.delete("tainted", "refused-taint")
    # The taint manager marks the late pod too, sooner or later: only the kubelet's own words are compared.
    words = ("phase", "reason", "message", "event")
    return Outcome(
        predicted=predicted | {f"refused: {word}": refused.predicted[word] for word in words},
        real=real | {f"refused: {word}": refused.real[word] for word in words},
    )
