"""This machine as a cluster of one node, so that `plan` and `run` ask it what they ask any cluster."""

from __future__ import annotations

import datetime as dt
import os
import shutil
import socket
from pathlib import Path

from tonnage.cluster.gpus import find_gpu
from tonnage.cluster.objects.node import Node
from tonnage.cluster.shapes import NodeShape, node_from_shape
from tonnage.cluster.snapshot import NOT_DESCRIBED, Gap, Snapshot
from tonnage.kube.decoding import decode_object
from tonnage_agent.cgroup import CgroupError, read_sample

NAME = "this machine"
_NOT_HERE = ("persistentvolumeclaims", "persistentvolumes", "storageclasses", "resourcequotas", "limitranges")
"""What a machine has none of, and a plan must not take for missing."""
RESERVE = 0.9
"""Part of the free memory a run may ask for: the rest is the desktop's, the page cache's and ours."""


def observe_machine(now: dt.datetime, disk: Path, *, promised: int = 0) -> Snapshot:
    """What this machine has, and has free, now; `promised` is memory that runs here may still take."""
    shape = _shape(disk)
    manifest = node_from_shape(shape, shape.name)
    manifest["metadata"]["annotations"] = {}
    manifest["metadata"]["labels"].pop("type", None)
    manifest["status"]["allocatable"] |= {
        "memory": str(max(usable_memory() - promised, 0)),
        "cpu": str(shape.cpu),
        "ephemeral-storage": str(shape.disk),
    }
    unknown = tuple(Gap(resource=name, reason=NOT_DESCRIBED) for name in _NOT_HERE)
    return Snapshot(taken_at=now, source=NAME, nodes=(decode_object(manifest, Node),), gaps=unknown)


def usable_memory() -> int:
    """Bytes a run may be given: most of what is free, or of what our own container has left."""
    free = _meminfo("MemAvailable")
    try:
        sample = read_sample(0.0)
    except CgroupError:
        return int(free * RESERVE)
    if sample.limit_bytes is not None:
        free = min(free, sample.limit_bytes - sample.working_set_bytes)
    return int(free * RESERVE)


def _shape(disk: Path) -> NodeShape:
    gpus, kind = _gpus()
    found = find_gpu(kind) if kind else None
    return NodeShape(
        name=socket.gethostname().split(".")[0].lower() or "localhost",
        cpu=len(os.sched_getaffinity(0)),
        memory=_meminfo("MemTotal"),
        disk=shutil.disk_usage(_existing(disk)).free,
        gpus=gpus if found else 0,
        gpu_type=found,
        has_gpu_taint=False,
        zones=("here",),
    )


def _gpus(driver: Path = Path("/proc/driver/nvidia/gpus")) -> tuple[int, str]:
    """How many GPUs there are, and which, as the driver says."""
    models = []
    for card in sorted(driver.glob("*/information")):
        lines = card.read_text(errors="replace").splitlines()
        models += [line.partition(":")[2].strip() for line in lines if line.startswith("Model:")]
    return len(models), models[0] if models else ""


def _meminfo(name: str) -> int:
    for line in Path("/proc/meminfo").read_text().splitlines():
        if line.startswith(f"{name}:"):
            return int(line.split()[1]) * 1024
    return 0


def _existing(path: Path) -> Path:
    while not path.exists():
        path = path.parent
    return path
