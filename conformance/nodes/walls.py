"""What a node promises and enforces: allocatable, cgroup limits, oom_score_adj, memory volumes."""

from __future__ import annotations

import json
from pathlib import Path

import tonnage_agent.telemetry
from conformance.nodes.bench import Bench, is_running
from conformance.nodes.case import Facts, Outcome, caused
from conformance.nodes.killing import as_pod
from conformance.nodes.manifests import TERMINATION_LOG, Json, a_pod, python, shell
from tonnage.cluster.node.allocatable import kubepods_memory_limit, node_allocatable
from tonnage.cluster.node.memory_volumes import DEFAULT_SHM_BYTES, NO_SPACE, memory_volume_size, stopped_by
from tonnage.cluster.node.oom import (
    Victim,
    after_oom_kill,
    container_memory_limit,
    kills_whole_container,
    oom_score_adjust,
    plain_reason,
    pod_memory_limit,
)
from tonnage.cluster.objects import Pod
from tonnage.cluster.resources import all_containers
from tonnage.units import parse_quantity

_LIMIT = "/sys/fs/cgroup/memory/memory.limit_in_bytes"
_REPORT = f"cat /proc/self/oom_score_adj > {TERMINATION_LOG}"


def kubelet_settings(bench: Bench) -> Json:
    """The configuration the node's kubelet runs with."""
    settings: Json = json.loads(bench.real_node.kubelet_config.read_text())
    return settings


@caused("allocatable", "allocatable = capacity - reserved - thresholds", "percent thresholds are 32-bit")
def allocatable(bench: Bench) -> Outcome:
    settings, node = kubelet_settings(bench), bench.node()
    devices = {k: v for k, v in node.status.capacity.items() if "/" in k}
    predicted = node_allocatable(
        node.status.capacity,
        kube_reserved=settings.get("kubeReserved"),
        system_reserved=settings.get("systemReserved"),
        eviction_hard=settings.get("evictionHard"),
        devices=devices,
    )
    return Outcome(predicted=dict(predicted), real=dict(node.status.allocatable))


@caused("the wall around all pods", "kubepods limit leaves out the eviction threshold")
def kubepods_wall(bench: Bench) -> Outcome:
    settings = kubelet_settings(bench)
    limit = kubepods_memory_limit(
        bench.node().status.capacity, settings.get("kubeReserved"), settings.get("systemReserved")
    )
    real = _cgroup_limit(bench, "kubepods")
    return Outcome(predicted={"bytes": limit - limit % 4096}, real={"bytes": real})


@caused(
    "a pod's cgroup wall, with and without every limit", "pod wall needs every container's limit", seconds=6
)
def pod_walls(bench: Bench) -> Outcome:
    limited, open_ = {"limits": {"memory": "64Mi"}}, {"requests": {"memory": "16Mi"}}
    manifests = [
        a_pod(
            "wall-all", bench.node_name, shell("c", "sleep 60", **limited), shell("d", "sleep 60", **limited)
        ),
        a_pod(
            "wall-some", bench.node_name, shell("c", "sleep 60", **limited), shell("d", "sleep 60", **open_)
        ),
        a_pod(
            "wall-pod",
            bench.node_name,
            shell("c", "sleep 60"),
            resources={"limits": {"memory": "96Mi"}, "requests": {"memory": "16Mi"}},
        ),
    ]
    predicted: Facts = {m["metadata"]["name"]: pod_memory_limit(as_pod(m)) for m in manifests}
    for manifest in manifests:
        bench.create(manifest)
    real: Facts = {}
    for name in predicted:
        pod = bench.await_pod(name, is_running)
        real[name] = _cgroup_limit(bench, f"kubepods/burstable/pod{pod.metadata.uid}")
    bench.delete(*predicted)
    return Outcome(predicted=predicted, real=real)


@caused("a container's cgroup wall", "container wall is its limit, else the pod's", only_cgroup_v1=True)
def container_walls(bench: Bench) -> Outcome:
    report = f"cat {_LIMIT} > {TERMINATION_LOG}"
    manifest = a_pod(
        "walls",
        bench.node_name,
        shell("c", report, limits={"memory": "48Mi"}),
        shell("d", report),
        resources={"limits": {"memory": "96Mi"}, "requests": {"memory": "64Mi"}},
    )
    pod = as_pod(manifest)
    predicted: Facts = {c.name: container_memory_limit(pod, c) for c in all_containers(pod)}
    ended = bench.run(manifest)
    return Outcome(predicted=predicted, real={name: _number(ended, name) for name in predicted})


@caused("oom_score_adj of Burstable, BestEffort, sidecar and pod-level pods", "oom_score_adj", seconds=6)
def score_adjustments(bench: Bench) -> Outcome:
    capacity = parse_quantity(bench.node().status.capacity["memory"]).value()
    manifests = [
        a_pod("adj-burstable", bench.node_name, shell("c", _REPORT, requests={"memory": "512Mi"})),
        a_pod("adj-tiny", bench.node_name, shell("c", _REPORT, requests={"memory": "1Mi"})),
        a_pod("adj-none", bench.node_name, shell("c", _REPORT)),
        a_pod("adj-gpu", bench.node_name, shell("c", _REPORT, limits={"nvidia.com/gpu": "1"})),
        a_pod(
            "adj-pod-level",
            bench.node_name,
            shell("c", _REPORT, requests={"memory": "64Mi"}),
            shell("d", _REPORT),
            resources={"requests": {"memory": "640Mi"}},
        ),
        a_pod(
            "adj-sidecar",
            bench.node_name,
            shell("c", f"sleep 1; {_REPORT}", requests={"memory": "768Mi"}),
            initContainers=[
                shell("side", f"{_REPORT}; sleep 60", requests={"memory": "16Mi"}, restartPolicy="Always")
            ],
        ),
    ]
    predicted: Facts = {}
    for manifest in manifests:
        pod = as_pod(manifest)
        bench.create(manifest)
        predicted |= {
            f"{pod.metadata.name}/{c.name}": oom_score_adjust(pod, c, capacity) for c in all_containers(pod)
        }
    real: Facts = {}
    for field in predicted:
        pod_name, _, container = field.partition("/")
        ended = bench.await_pod(pod_name, lambda pod: pod.status.phase in {"Succeeded", "Failed"})
        real[field] = _number(ended, container)
    return Outcome(predicted=predicted, real=real)


_SHM = f"df -k /dev/shm | tail -1 | (read a size rest; echo $size > {TERMINATION_LOG})"
_FILL_SHM = (
    "import errno, sys\n"
    "try:\n"
    "    with open('/dev/shm/x', 'wb') as f:\n"
    "        for _ in range(256): f.write(bytes(1 << 20)); f.flush()\n"
    "except OSError as e:\n"
    "    sys.exit(e.errno)\n"
)
_FILL_AND_REPORT = f'{_SHM}; exec python3 -c "{_FILL_SHM}"'


_INTERPRETER = 1 << 20
"""At least this much of the filling process is memory of another kind."""


def _filled(bench: Bench, manifest: Json, size: int) -> Outcome:
    """A container fills a memory volume of this size, and ends with the number of the error it is given."""
    as_seen = as_pod(manifest)
    (container,) = as_seen.spec.containers
    limit = container_memory_limit(as_seen, container)
    ending = f"{plain_reason(NO_SPACE)} {NO_SPACE}"
    if stopped_by(size, container_memory_limit=limit, also_held=_INTERPRETER) is not None:
        whole = kills_whole_container(cgroup_version=bench.cgroup_version)
        killed = after_oom_kill(Victim.PID_1, whole_container=whole)
        assert killed is not None
        ending = f"{killed.reason} {killed.exit_code}"
    pod = bench.run(manifest)
    end = pod.status.container_statuses[0].state.terminated
    return Outcome(
        predicted={"bytes": size, "ending": ending, "pod reason": ""},
        real={
            "bytes": (_number(pod, "c") or 0) * 1024,
            "ending": f"{end.reason} {end.exit_code}" if end else None,
            "pod reason": pod.status.reason,
        },
    )


def _shm(name: str, bench: Bench, *, size: str, limit: str) -> Outcome:
    container = shell(
        "c",
        _FILL_AND_REPORT,
        volumeMounts=[{"name": "shm", "mountPath": "/dev/shm"}],
        limits={"memory": limit},
    )
    volume = {"name": "shm", "emptyDir": {"medium": "Memory", "sizeLimit": size}}
    manifest = a_pod(name, bench.node_name, container, volumes=[volume])
    expected = memory_volume_size(
        size_limit=parse_quantity(size).value(),
        pod_memory_limit=pod_memory_limit(as_pod(manifest)),
        node_allocatable_memory=parse_quantity(bench.node().status.allocatable["memory"]).value(),
    )
    return _filled(bench, manifest, expected)


@caused(
    "/dev/shm of a memory volume with a sizeLimit is full",
    "memory volume size",
    "full memory volume is ENOSPC",
)
def shm_limited(bench: Bench) -> Outcome:
    return _shm("shm-limited", bench, size="32Mi", limit="200Mi")


@caused(
    "a memory volume larger than the pod's limit",
    "memory volume size",
    "a memory volume is its writer's memory",
)
def shm_larger_than_pod(bench: Bench) -> Outcome:
    return _shm("shm-large", bench, size="512Mi", limit="64Mi")


@caused("/dev/shm without a volume", "default /dev/shm is 64 MiB")
def shm_default(bench: Bench) -> Outcome:
    container = shell("c", _FILL_AND_REPORT, limits={"memory": "200Mi"})
    return _filled(bench, a_pod("shm-default", bench.node_name, container), DEFAULT_SHM_BYTES)


@caused("the agent inside a container", "agent reads its own container's cgroup")
def agent(bench: Bench) -> Outcome:
    """The agent's sample, taken while 100 MiB are held, against the limit set and the kernel's own count."""
    code = Path(tonnage_agent.__file__).parent
    script = (
        "x = bytearray(100 << 20)\nx[::4096] = b'x' * len(x[::4096])\n"
        "import sys, time\nsys.path.insert(0, '/agent')\n"
        "from tonnage_agent.cgroup import read_sample\n"
        f"open({TERMINATION_LOG!r}, 'w').write(read_sample(time.time()).as_line())"
    )
    mount = {"name": "agent", "mountPath": "/agent/tonnage_agent", "readOnly": True}
    manifest = a_pod(
        "agent",
        bench.node_name,
        python("c", script, limits={"memory": "160Mi"}, volumeMounts=[mount]),
        volumes=[{"name": "agent", "hostPath": {"path": str(code), "type": "Directory"}}],
    )
    end = bench.run(manifest).status.container_statuses[0].state.terminated
    assert end is not None
    assert end.exit_code == 0, end
    sample = tonnage_agent.telemetry.parse_sample(end.message)
    held = sample.anon_bytes or 0
    return Outcome(
        predicted={
            "source": f"cgroup-v{bench.cgroup_version}",
            "limit": 160 << 20,
            "OOM kills": 0,
            "anonymous memory holds the 100 MiB": True,
            "working set lies between it and usage": True,
        },
        real={
            "source": sample.source,
            "limit": sample.limit_bytes,
            "OOM kills": sample.oom_kills,
            "anonymous memory holds the 100 MiB": 100 << 20 <= held < 150 << 20,
            "working set lies between it and usage": held <= sample.working_set_bytes <= sample.usage_bytes,
        },
    )


def _cgroup_limit(bench: Bench, below: str) -> int | None:
    """The memory limit of a cgroup of the node; None where there is none."""
    if bench.cgroup_version == 2:
        text = (Path("/sys/fs/cgroup") / bench.real_node.cgroup / below / "memory.max").read_text().strip()
        return None if text == "max" else int(text)
    path = Path("/sys/fs/cgroup/memory") / bench.real_node.cgroup / below / "memory.limit_in_bytes"
    limit = int(path.read_text())
    return None if limit >= 2**62 else limit


def _number(pod: Pod, container: str) -> int | None:
    """What the container wrote as its last words."""
    for status in (*pod.status.container_statuses, *pod.status.init_container_statuses):
        end = status.state.terminated
        if status.name == container and end is not None and end.message.strip().lstrip("-").isdigit():
            return int(end.message.strip())
    return None
