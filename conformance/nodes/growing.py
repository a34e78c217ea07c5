"""In-place resize, asked of a real API server and a real kubelet."""

from __future__ import annotations

import time
from typing import Any

import msgspec

from conformance.nodes.bench import Bench, is_running
from conformance.nodes.case import Facts, Outcome, Phase, caused
from conformance.nodes.manifests import Json, a_pod, held, python, shell
from tonnage.cluster.messages.resize import format_resize_event, is_usage_unreadable, parse_below_usage
from tonnage.cluster.node.resizing import (
    decrease_error,
    kubelet_answer,
    node_refusal,
    resize_faults,
    restarts_for,
)
from tonnage.cluster.objects import Pod
from tonnage.cluster.objects.meta import Condition
from tonnage.units import parse_quantity

Sizes = dict[str, str]


def _started(bench: Bench, name: str, requests: Sizes, limits: Sizes, script: str = "", **parts: Any) -> Pod:
    body = python("c", script) if script else shell("c", "sleep 3600")
    body["resources"] = {"requests": requests, "limits": limits}
    spec = {"restartPolicy": parts.pop("restart_policy", "Never")}
    body |= parts
    bench.create(a_pod(name, bench.node_name, body, **spec))
    return bench.await_pod(name, is_running)


def _wish(pod: Pod, requests: Sizes, limits: Sizes) -> tuple[Pod, Json]:
    """The pod as wished, and the patch that asks for it (what is not named stays)."""
    container = {"name": "c", "resources": {"requests": requests, "limits": limits}}
    (old,) = pod.spec.containers
    resources = msgspec.structs.replace(
        old.resources,
        requests={**old.resources.requests, **requests},
        limits={**old.resources.limits, **limits},
    )
    spec = msgspec.structs.replace(pod.spec, containers=(msgspec.structs.replace(old, resources=resources),))
    return msgspec.structs.replace(pod, spec=spec), container


def _cpu(memory: str) -> Sizes:
    return {"cpu": "20m", "memory": memory}


def _conditions(pod: Pod) -> dict[str, str]:
    return {
        c.type: f"{c.reason}: {c.message}" for c in pod.status.conditions if c.type.startswith("PodResize")
    }


def _done(bench: Bench, name: str, pod: Pod, requests: Sizes, limits: Sizes) -> Outcome:
    """A resize that is simply carried out."""
    wished, patch = _wish(pod, requests, limits)
    others = [p for p in bench.pods_here() if p.metadata.uid != pod.metadata.uid]
    restarted = restarts_for(pod, wished)
    event = format_resize_event("completed", wished, pod.metadata.generation + 1)
    predicted: Facts = {
        "faults": [],
        "refused": None,
        "kubelet": None,
        "in force": [str(parse_quantity(limits["memory"])), str(parse_quantity(requests["memory"]))],
        "restarts": len(restarted),
        "conditions": {},
        "event": event,
    }
    answered = kubelet_answer(pod, wished, bench.node(), others)
    judged: Facts = {
        "faults": resize_faults(pod, wished),
        "refused": node_refusal(wished, bench.node()),
        "kubelet": answered.cause if answered else None,
    }
    assert judged == {k: predicted[k] for k in judged}, judged
    bench.must(bench.resize(name, patch))
    now = bench.await_pod(
        name, lambda p: _in_force(p) == predicted["in force"] and not _conditions(p), seconds=40
    )
    completed = _completion(bench, name, event)
    real = judged | {
        "in force": _in_force(now),
        "restarts": now.status.container_statuses[0].restart_count,
        "conditions": _conditions(now),
        "event": completed,
    }
    bench.delete(name)
    return Outcome(predicted=predicted, real=real)


def _completion(bench: Bench, name: str, wanted: str) -> str | None:
    """The text of completion; the kubelet may announce it once too early, with the sizes of before."""
    texts: list[str] = []
    for _ in range(50):
        texts = [event.message for event in bench.events(name) if event.reason == "ResizeCompleted"]
        if wanted in texts:
            return wanted
        time.sleep(0.2)
    return texts[-1] if texts else None


def _in_force(pod: Pod) -> list[str] | None:
    status = pod.status.container_statuses[0] if pod.status.container_statuses else None
    if status is None or status.resources is None:
        return None
    return [status.resources.limits.get("memory", ""), status.resources.requests.get("memory", "")]


@caused("resize up", "resize carried out", "ResizeCompleted event", seconds=8)
def up(bench: Bench) -> Outcome:
    pod = _started(bench, "resize-up", _cpu("32Mi"), _cpu("64Mi") | {"cpu": "40m"})
    return _done(bench, "resize-up", pod, {"memory": "48Mi"}, {"memory": "128Mi"})


@caused("resize down, above what is used", "resize carried out", seconds=8)
def down(bench: Bench) -> Outcome:
    pod = _started(bench, "resize-down", _cpu("32Mi"), _cpu("200Mi") | {"cpu": "40m"})
    return _done(bench, "resize-down", pod, {"memory": "32Mi"}, {"memory": "96Mi"})


@caused("resize of a Guaranteed pod, both together", "Guaranteed stays Guaranteed", seconds=8)
def guaranteed(bench: Bench) -> Outcome:
    pod = _started(bench, "resize-guaranteed", _cpu("64Mi"), _cpu("64Mi"))
    return _done(bench, "resize-guaranteed", pod, {"memory": "96Mi"}, {"memory": "96Mi"})


@caused("resize with RestartContainer", "resizePolicy restarts the container", seconds=10)
def restarting(bench: Bench) -> Outcome:
    policy = [{"resourceName": "memory", "restartPolicy": "RestartContainer"}]
    limits = _cpu("64Mi") | {"cpu": "40m"}
    pod = _started(
        bench, "resize-restart", _cpu("32Mi"), limits, resizePolicy=policy, restart_policy="Always"
    )
    return _done(bench, "resize-restart", pod, {"memory": "48Mi"}, {"memory": "96Mi"})


@caused("resize below what is used", "PodResizeInProgress Error", "cannot decrease memory limits", seconds=12)
def below_usage(bench: Bench) -> Outcome:
    name = "resize-below"
    pod = _started(bench, name, _cpu("32Mi"), _cpu("256Mi") | {"cpu": "200m"}, script=held(120))
    _await_usage(bench, pod, 120 << 20)
    wished, patch = _wish(pod, {"memory": "32Mi"}, {"memory": "64Mi"})
    assert resize_faults(pod, wished) == []
    bench.must(bench.resize(name, patch))
    now = bench.await_pod(
        name, lambda p: "PodResizeInProgress" in _conditions(p) and _has_error(p), seconds=90
    )
    usage = bench.summary().of(pod)
    expected = decrease_error(pod, wished, usage) if usage else None
    seen = next((c for c in now.status.conditions if c.type == "PodResizeInProgress"), None)
    event = bench.await_event(name, "ResizeError")
    in_force = _in_force(now)
    bench.delete(name)
    return Outcome(
        predicted=_error_facts(expected, ["256Mi", "32Mi"]) | {"event": "Pod resize error"},
        real=_error_facts(seen, in_force) | {"event": event.message.split(":")[0] if event else None},
    )


def _has_error(pod: Pod) -> bool:
    # A kubelet without a reading says so and tries again: its verdict is the next one.
    return any(
        c.type == "PodResizeInProgress" and c.reason and not is_usage_unreadable(c.message)
        for c in pod.status.conditions
    )


def _error_facts(condition: Condition | None, in_force: list[str] | None) -> Facts:
    """What can be foretold of the error: everything but the byte count of a moment."""
    if condition is None:
        return {"condition": None, "in force": in_force}
    problems = parse_below_usage(condition.message)
    if not problems:
        return {
            "condition": f"{condition.type} {condition.reason}: {condition.message}",
            "in force": in_force,
        }
    return {
        "condition": f"{condition.type} {condition.status} {condition.reason}",
        "limits": [(p.container, p.limit_bytes) for p in problems],
        "usage is above the limit": all(p.usage_bytes >= p.limit_bytes for p in problems),
        "in force": in_force,
    }


def _await_usage(bench: Bench, pod: Pod, bytes_: int) -> None:
    for _ in range(60):
        usage = bench.summary().of(pod)
        if usage and usage.memory and (usage.memory.usage_bytes or 0) >= bytes_:
            return
        time.sleep(0.5)


def _refused(bench: Bench, name: str, patch: Json, faults: list[str], refusal: str | None) -> Outcome:
    """A resize that the API server turns down."""
    answer = bench.resize(name, patch)
    details = answer.body.get("details", {})
    bench.delete(name)
    if faults:
        causes = sorted(f"{c['field']}: {c['message']}" for c in details.get("causes", []))
        return Outcome(
            predicted={"status": 422, "causes": sorted(faults)},
            real={"status": answer.status, "causes": causes},
        )
    text = f'pods "{name}" is forbidden: {refusal}'
    return Outcome(
        predicted={"status": 403, "message": text}, real={"status": answer.status, "message": answer.message}
    )


@caused("resize that would change the QoS class", "QoS may not change by resize")
def qos_change(bench: Bench) -> Outcome:
    pod = _started(bench, "resize-qos", _cpu("64Mi"), _cpu("64Mi"))
    wished, patch = _wish(pod, {}, {"memory": "96Mi"})
    return _refused(bench, "resize-qos", patch, resize_faults(pod, wished), None)


@caused("resize of ephemeral storage", "only cpu and memory may be resized")
def other_resource(bench: Bench) -> Outcome:
    pod = _started(bench, "resize-disk", _cpu("32Mi"), _cpu("64Mi") | {"cpu": "40m"})
    wished, patch = _wish(pod, {"ephemeral-storage": "1Mi"}, {"ephemeral-storage": "1Gi"})
    return _refused(bench, "resize-disk", patch, resize_faults(pod, wished), None)


@caused("resize that takes a limit away", "limits may not be removed by resize")
def removal(bench: Bench) -> Outcome:
    name = "resize-removal"
    pod = _started(bench, name, _cpu("32Mi"), {"memory": "64Mi"})
    (old,) = pod.spec.containers
    resources = msgspec.structs.replace(old.resources, limits={})
    wished = msgspec.structs.replace(
        pod,
        spec=msgspec.structs.replace(
            pod.spec, containers=(msgspec.structs.replace(old, resources=resources),)
        ),
    )
    patch = {"name": "c", "resources": {"limits": {"memory": None}}}
    return _refused(bench, name, patch, resize_faults(pod, wished), None)


@caused("resize beyond the whole node", "node too small for the resize")
def beyond_node(bench: Bench) -> Outcome:
    pod = _started(bench, "resize-huge", _cpu("32Mi"), _cpu("64Mi") | {"cpu": "40m"})
    wished, patch = _wish(pod, {"memory": "900Gi", "cpu": "500"}, {"memory": "901Gi", "cpu": "500"})
    assert resize_faults(pod, wished) == []
    return _refused(bench, "resize-huge", patch, [], node_refusal(wished, bench.node()))


@caused("resize that does not fit beside others", "PodResizePending Deferred", phase=Phase.ALONE, seconds=10)
def deferred(bench: Bench) -> Outcome:
    allocatable = parse_quantity(bench.node().status.allocatable["memory"]).value()
    other = a_pod(
        "resize-other", bench.node_name, shell("c", "sleep 3600", requests={"memory": str(allocatable // 2)})
    )
    bench.create(other)
    bench.await_pod("resize-other", is_running)
    pod = _started(bench, "resize-deferred", _cpu("32Mi"), {"memory": str(allocatable)} | {"cpu": "40m"})
    wished, patch = _wish(pod, {"memory": str(allocatable * 3 // 4)}, {})
    others = [p for p in bench.pods_here() if p.metadata.uid != pod.metadata.uid]
    expected = kubelet_answer(pod, wished, bench.node(), others)
    assert expected is not None
    bench.must(bench.resize("resize-deferred", patch))
    now = bench.await_pod("resize-deferred", lambda p: "PodResizePending" in _conditions(p), seconds=20)
    event = bench.await_event("resize-deferred", "ResizeDeferred")
    return Outcome(
        predicted={
            "conditions": {
                expected.condition.type: f"{expected.condition.reason}: {expected.condition.message}"
            },
            "event": expected.event(wished, pod.metadata.generation + 1),
        },
        real={"conditions": _conditions(now), "event": event.message if event else None},
    )
