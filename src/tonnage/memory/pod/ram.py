"""Host RAM, as a container's limit counts it, in the three phases that differ.

    load         ranks, and the weights on their way to the device
    steady       ranks, loaders, pinned memory, offloaded states
    checkpoint   the same, and what saving holds; file pages not yet written cannot be taken back

The most of the three is what the pod needs. File pages beyond a floor do not count: the kernel takes them back
before it kills.
"""

from __future__ import annotations

from collections.abc import Sequence

from tonnage.figures import plural
from tonnage.memory.pod import constants as c
from tonnage.memory.pod.loader import loader_parts
from tonnage.memory.pod.needs import Need, NeedPart, Phase
from tonnage.memory.pod.rounding import pinned_block
from tonnage.memory.pod.wish import PodWish

MARGIN_SHARE = 0.10
MARGIN_SHARE_ON_CPU = 0.20
SMALLEST_MARGIN = c.GIB // 2
_STEP = 64 * c.MIB
_READS = {"none": 0, "mapped": 0, "built": 1, "read": 1, "built and read": 2}
_LOADING_FLAGS = {
    True: "load on rank 0 alone, or straight to the device (from_pretrained with device_map)",
    False: "make the model on the meta device and load it sharded",
}


def ram_phases(wish: PodWish) -> dict[Phase, tuple[NeedPart, ...]]:
    """RAM in each phase, part by part."""
    always = [*_processes(wish), *_resident(wish)]
    steady = [*always, *loader_parts(wish)]
    saving = [*steady, *_saving(wish)]
    floor = _cache_floor(wish)
    phases: dict[Phase, Sequence[NeedPart]] = {
        "load": [*_processes(wish), *_loading(wish), floor],
        "steady": [*steady, floor],
        "checkpoint": [*saving, _dirty(wish, saving), floor],
    }
    return {name: tuple(part for part in parts if part.amount > 0) for name, parts in phases.items()}


def ram_need(phases: dict[Phase, tuple[NeedPart, ...]], *, trains_on_cpu: bool = False) -> Need:
    """The hungriest phase, with a margin for what no model sees: malloc keeps more where gradients are on the CPU."""
    name = max(phases, key=lambda phase: sum(part.amount for part in phases[phase]))
    parts = phases[name]
    total = sum(part.amount for part in parts)
    share = MARGIN_SHARE_ON_CPU if trains_on_cpu else MARGIN_SHARE
    margin = max(SMALLEST_MARGIN, int(total * share))
    amount = -(-(total + margin) // _STEP) * _STEP
    reason = f"{share:.0%}, at least 512 MiB: the program's own objects, and what malloc does not give back"
    return Need(amount, parts, amount - total, reason, name)


def _processes(wish: PodWish) -> list[NeedPart]:
    each = c.RANK_ON_GPU if wish.gpus else c.RANK_ON_CPU
    each += c.TRANSFORMERS if wish.uses_transformers else 0
    what = "torch, libraries and CUDA" if wish.gpus else "torch and libraries"
    parts = [
        NeedPart(
            "framework", wish.ranks * each, f"{plural(wish.ranks, 'rank')} x {each // c.MIB} MiB: {what}", "measured",
            "processesPerNode",
        )
    ]  # fmt: skip
    if wish.gpus and wish.ranks * wish.pods > 1:
        formula = f"{plural(wish.ranks, 'rank')} x {c.NCCL // c.MIB} MiB: NCCL's host side"
        parts.append(NeedPart("collectives", wish.ranks * c.NCCL, formula, "measured", "processesPerNode"))
    if wish.compiles:
        parts.append(_compiling(wish))
    return parts


def _compiling(wish: PodWish) -> NeedPart:
    workers = compile_workers(wish)
    each = c.COMPILER + ((c.COMPILE_POOL + workers * c.COMPILE_WORKER) if workers > 1 else 0)
    formula = (
        f"{plural(wish.ranks, 'rank')} x ({c.COMPILER // c.MIB} MiB compiler + {c.COMPILE_POOL // c.MIB} MiB pool "
        f"+ {plural(workers, 'worker')} x {c.COMPILE_WORKER // c.MIB} MiB)"
    )
    return NeedPart("compiler", wish.ranks * each, formula, "estimated", "env TORCHINDUCTOR_COMPILE_THREADS")


def compile_workers(wish: PodWish) -> int:
    """Inductor's processes per rank: as told, else its own rule, the machine's cores up to 32 for every rank."""
    if wish.compile_workers:
        return wish.compile_workers
    return max(1, min(c.MOST_COMPILE_WORKERS, wish.cores_per_node or c.MOST_COMPILE_WORKERS))


def _resident(wish: PodWish) -> list[NeedPart]:
    """States that live in host memory all the time."""
    parts = []
    if wish.host_state_bytes:
        formula = "weights, gradients, optimizer and activations, which live in host memory without a GPU"
        parts.append(
            NeedPart("training on the CPU", wish.host_state_bytes, formula, "computed", "train.microBatch")
        )
        if wish.loader.workers and wish.loader.start == "fork":
            copies = wish.ranks * wish.parameter_bytes * (2 if "read" in wish.loading else 1)
            formula = "weights, and memory freed after loading, as they were when loader workers were forked"
            parts.append(
                NeedPart("pages kept by workers", copies, formula, "measured", "train.loader.workers")
            )
    if wish.offload_bytes:
        share = wish.offload_bytes // max(wish.ranks, 1)
        amount = wish.ranks * (pinned_block(share) if wish.offload_is_pinned else share)
        rounded = ", each rank's block rounded up to a power of two" if wish.offload_is_pinned else ""
        formula = f"{plural(wish.ranks, 'rank')} x offloaded states{rounded}"
        parts.append(NeedPart("offload", amount, formula, "computed", "train.offload"))
    if wish.staged_in_memory_bytes:
        formula = "datasets copied to memory"
        parts.append(NeedPart("staged data", wish.staged_in_memory_bytes, formula, "computed", "data.stage"))
    return parts


def _loading(wish: PodWish) -> list[NeedPart]:
    if wish.loading == "none":
        return []
    ranks = wish.ranks if wish.loads_on_every_rank else 1
    if wish.loading == "mapped":
        formula = f"{plural(ranks, 'rank')} x the largest tensor: a mapped file is read tensor by tensor"
        return [NeedPart("loading weights", ranks * wish.largest_tensor_bytes, formula, "measured", "")]
    copies = _READS[wish.loading]
    how = {"built": "made in host memory first", "read": "read whole by torch.load"}.get(
        wish.loading, "made in host memory and read over by torch.load"
    )
    who = f"{plural(ranks, 'rank')}" if wish.loads_on_every_rank else "rank 0"
    formula = f"{who} x {copies} x the weights: {how}"
    return [
        NeedPart(
            "loading weights",
            ranks * copies * wish.parameter_bytes,
            formula,
            "measured",
            _LOADING_FLAGS[wish.loads_on_every_rank],
        )
    ]


def _saving(wish: PodWish) -> list[NeedPart]:
    checkpoint = wish.checkpoint
    local = -(-checkpoint.bytes // max(wish.pods, 1))
    match checkpoint.saving:
        case "none":
            return []
        case "streamed":
            amount = wish.largest_tensor_bytes + c.SAVE_BUFFERS
            formula, flag = "one tensor at a time, from rank 0", ""
        case "gathered":
            amount = checkpoint.bytes + wish.largest_tensor_bytes + c.SAVE_BUFFERS
            formula, flag = (
                "the whole checkpoint in rank 0's memory, and one tensor more",
                "save sharded (DCP)",
            )
        case "sharded" if wish.gpus:
            amount = int(local * c.PINNED_COPY) + wish.ranks * c.SAVE_BUFFERS
            formula, flag = (
                "this pod's part, page-locked on its way from the GPU and kept for the next save",
                "",
            )
        case "sharded":
            amount = wish.ranks * c.SAVE_BUFFERS
            formula, flag = "written from where it is", ""
        case "background":
            amount = int(local * c.BACKGROUND_COPY) + wish.ranks * c.SAVE_BUFFERS
            formula, flag = "a copy of this pod's part while it is written", "save without async"
    parts = [NeedPart("saving", amount, formula, "measured", flag)]
    if checkpoint.is_in_memory:
        kept = local * (checkpoint.keep + 1)
        formula = f"{checkpoint.keep} + 1 checkpoints on a memory volume"
        parts.append(NeedPart("checkpoints in memory", kept, formula, "computed", "checkpoints.keep"))
    return parts


def _dirty(wish: PodWish, parts: list[NeedPart]) -> NeedPart:
    """File pages of a checkpoint that are not on the disk yet: not to be taken back until they are."""
    checkpoint = wish.checkpoint
    written = (
        checkpoint.bytes if checkpoint.saving in ("streamed", "gathered") else checkpoint.bytes // wish.pods
    )
    if checkpoint.saving == "none" or not checkpoint.passes_page_cache or checkpoint.is_in_memory:
        written = 0
    held = sum(part.amount for part in parts)
    amount = min(written, int(held * c.DIRTY_SHARE / (1 - c.DIRTY_SHARE)))
    formula = "a checkpoint's file pages that are still being written, at most a fifth of the memory"
    return NeedPart("pages being written", amount, formula, "estimated", "checkpoints.to")


def _cache_floor(wish: PodWish) -> NeedPart:
    amount = c.CACHE_FLOOR_GPU if wish.gpus else c.CACHE_FLOOR_CPU
    formula = "libraries and files in use; below this the machine reads them again and again"
    return NeedPart("page cache floor", amount, formula, "estimated", "")
