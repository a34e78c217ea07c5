"""Pods that break their own disk limits, without any pressure on the node."""

from __future__ import annotations

import msgspec

from conformance.nodes.bench import Bench
from conformance.nodes.case import Facts, Outcome, caused
from conformance.nodes.killing import as_pod
from conformance.nodes.manifests import Json, a_pod, filled, shell
from conformance.nodes.reading import disruption
from tonnage.cluster.messages.eviction import EVICTED, format_eviction, parse_eviction
from tonnage.cluster.node.local_storage import Breach, limit_breach
from tonnage.cluster.node.usage import PodUsage
from tonnage.cluster.objects import Pod

_SECONDS = 30


def _evicted(bench: Bench, manifest: Json, expected: Breach) -> Outcome:
    """The pod is evicted for `expected`, and what was measured before says the same by our rules."""
    name = manifest["metadata"]["name"]
    created = bench.create(manifest)
    measured: PodUsage | None = None
    breach: Breach | None = None

    def over(pod: Pod) -> bool:
        nonlocal measured, breach
        usage = bench.summary().of(created)
        if usage is not None and (found := limit_breach(as_pod(manifest), usage)) is not None:
            measured, breach = usage, found
        return pod.status.phase == "Failed"

    pod = bench.await_pod(name, over, seconds=60)
    event = bench.await_event(name, EVICTED)
    text = format_eviction(expected)
    predicted: Facts = {
        "phase": "Failed",
        "reason": EVICTED,
        "message": text,
        "event": f"Warning: {text}",
        "DisruptionTarget": None,
        "read back": expected,
    }
    real: Facts = {
        "phase": pod.status.phase,
        "reason": pod.status.reason,
        "message": pod.status.message,
        "event": f"{event.type}: {event.message}" if event else None,
        "DisruptionTarget": disruption(pod),
        "read back": parse_eviction(pod.status.message),
    }
    if breach is not None and measured is not None:
        # Statistics may be seen before the kubelet acts; when they are, our rule must name the same breach.
        predicted["by measured usage"], real["by measured usage"] = expected, breach
    return Outcome(predicted=predicted, real=real)


def _breach(manifest: Json, usage: PodUsage) -> Breach:
    found = limit_breach(as_pod(manifest), usage)
    assert found is not None
    return found


def _usage(
    *, total: int = 0, volume: tuple[str, int] = ("", 0), container: tuple[str, int] = ("", 0)
) -> PodUsage:
    mib = 1 << 20
    return msgspec.convert(
        {
            "ephemeral-storage": {"usedBytes": total * mib},
            "volume": [{"name": volume[0], "usedBytes": volume[1] * mib}],
            "containers": [
                {"name": container[0], "logs": {"usedBytes": 0}, "rootfs": {"usedBytes": container[1] * mib}}
            ],
        },
        PodUsage,
    )


@caused("the writable layer over the limit", "pod total over its ephemeral-storage limit", seconds=_SECONDS)
def rootfs(bench: Bench) -> Outcome:
    container = shell("c", filled("/big", 40), limits={"ephemeral-storage": "20Mi"})
    manifest = a_pod("disk-rootfs", bench.node_name, container)
    return _evicted(bench, manifest, _breach(manifest, _usage(total=40)))


@caused("logs over the limit", "pod total over its ephemeral-storage limit", seconds=_SECONDS)
def logs(bench: Bench) -> Outcome:
    script = "head -c 12000000 /dev/zero | tr '\\0' 'x' | fold -w 1000; sleep 3600"
    container = shell("c", script, limits={"ephemeral-storage": "8Mi"})
    manifest = a_pod("disk-logs", bench.node_name, container)
    return _evicted(bench, manifest, _breach(manifest, _usage(total=12)))


@caused("an emptyDir over the containers' limits", "a limit on one container caps the pod", seconds=_SECONDS)
def volume_over_total(bench: Bench) -> Outcome:
    mount = [{"name": "v", "mountPath": "/v"}]
    manifest = a_pod(
        "disk-volume",
        bench.node_name,
        shell("c", filled("/v/big", 40), volumeMounts=mount),
        shell("d", "sleep 3600", limits={"ephemeral-storage": "20Mi"}),
        volumes=[{"name": "v", "emptyDir": {}}],
    )
    return _evicted(bench, manifest, _breach(manifest, _usage(total=40)))


@caused("an emptyDir over its sizeLimit", "emptyDir over its sizeLimit", seconds=_SECONDS)
def empty_dir(bench: Bench) -> Outcome:
    mount = [{"name": "scratch", "mountPath": "/v"}]
    manifest = a_pod(
        "disk-empty-dir",
        bench.node_name,
        shell("c", filled("/v/big", 40), volumeMounts=mount),
        volumes=[{"name": "scratch", "emptyDir": {"sizeLimit": "20Mi"}}],
    )
    return _evicted(bench, manifest, _breach(manifest, _usage(volume=("scratch", 40))))


@caused(
    "one container over its own limit, the pod within",
    "container over its ephemeral-storage limit",
    seconds=_SECONDS,
)
def one_container(bench: Bench) -> Outcome:
    manifest = a_pod(
        "disk-container",
        bench.node_name,
        shell("c", filled("/big", 40), limits={"ephemeral-storage": "20Mi"}),
        shell("d", "sleep 3600", limits={"ephemeral-storage": "200Mi"}),
    )
    return _evicted(bench, manifest, _breach(manifest, _usage(total=40, container=("c", 40))))


@caused(
    "the volume is looked at before the pod's total", "order of the three storage checks", seconds=_SECONDS
)
def order(bench: Bench) -> Outcome:
    mount = [{"name": "v", "mountPath": "/v"}]
    manifest = a_pod(
        "disk-order",
        bench.node_name,
        shell("c", filled("/v/big", 60), volumeMounts=mount, limits={"ephemeral-storage": "20Mi"}),
        volumes=[{"name": "v", "emptyDir": {"sizeLimit": "30Mi"}}],
    )
    return _evicted(
        bench, manifest, _breach(manifest, _usage(total=60, volume=("v", 60), container=("c", 60)))
    )
