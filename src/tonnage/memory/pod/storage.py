"""`/dev/shm` and the pod's own disk.

Shared memory is memory: its size is a wall, its use counts against the memory limit (`ram.py` counts it). The
disk is what the kubelet adds up: the containers' writable layers, their logs, and emptyDirs on disk; claims do
not count. The kubelet looks every ten seconds or so, a burst overshoots what it allows, and who is over is
evicted with everything on that disk.
"""

from __future__ import annotations

from tonnage.figures import plural
from tonnage.memory.pod import constants as c
from tonnage.memory.pod.loader import batches_alive, shared_bytes
from tonnage.memory.pod.needs import Need, NeedPart
from tonnage.memory.pod.wish import PodWish

SHM_MARGIN = 0.10
DISK_MARGIN = 0.15
_STEP = 64 * c.MIB


def shm_need(wish: PodWish) -> Need:
    """The size to give /dev/shm; never below the 64 MiB a container has anyway."""
    loader = wish.loader
    workers = plural(loader.workers, "worker")
    parts = [
        NeedPart(
            "batches", wish.ranks * shared_bytes(loader),
            f"{plural(wish.ranks, 'rank')} x ({workers} x {loader.prefetch} + {c.BATCHES_BEYOND_PREFETCH}) "
            f"= {batches_alive(loader) if loader.workers else 0} batches each",
            "measured", "train.loader.prefetch",
        )
    ]  # fmt: skip
    if wish.gpus and wish.ranks > 1:
        formula = (
            f"{plural(wish.ranks, 'rank')} x {c.NCCL_SHM_PER_RANK // c.MIB} MiB: NCCL between ranks of a pod"
        )
        parts.append(
            NeedPart("collectives", wish.ranks * c.NCCL_SHM_PER_RANK, formula, "estimated", "NCCL_BUFFSIZE")
        )
    parts = [part for part in parts if part.amount]
    total = sum(part.amount for part in parts)
    amount = max(c.DEFAULT_SHM, -(-int(total * (1 + SHM_MARGIN)) // _STEP) * _STEP)
    return Need(amount, tuple(parts), amount - total, "a tenth: a batch can be larger than the one before")


def disk_need(wish: PodWish) -> Need:
    """Ephemeral storage of the pod."""
    checkpoint = wish.checkpoint
    parts = [
        NeedPart("logs", wish.containers * c.LOG_FILES, "5 files of 10 MiB per container", "computed", ""),
        NeedPart("scratch", c.SCRATCH, "temporary files, experiment logs, profiles", "estimated", ""),
        NeedPart(
            "downloaded model", wish.download_bytes, "weights fetched into a cache in the container", "computed",
            "mount a claim at HF_HOME",
        ),
        NeedPart("staged data", wish.staged_bytes, "datasets copied to the node's disk", "computed", "data.stage"),
        NeedPart("results", wish.output_bytes, "results written to the pod's own disk", "computed", "output.to"),
    ]  # fmt: skip
    if wish.compiles:
        parts.append(
            NeedPart(
                "compile caches",
                c.COMPILE_CACHE,
                "Inductor's and Triton's caches",
                "estimated",
                "train.compile",
            )
        )
    if checkpoint.is_on_pod_disk and checkpoint.saving != "none":
        local = checkpoint.bytes
        if checkpoint.saving in ("sharded", "background"):
            local = -(-checkpoint.bytes // max(wish.pods, 1))
        formula = f"{checkpoint.keep} + 1 checkpoints: the new one is whole before an old one goes"
        parts.append(
            NeedPart("checkpoints", local * (checkpoint.keep + 1), formula, "computed", "checkpoints.keep")
        )
    parts = [part for part in parts if part.amount]
    total = sum(part.amount for part in parts)
    amount = -(-int(total * (1 + DISK_MARGIN)) // _STEP) * _STEP
    reason = "15 %: the kubelet looks only now and then, and evicts whoever is over"
    return Need(amount, tuple(parts), amount - total, reason)
