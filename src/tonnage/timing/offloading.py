"""What offloading costs in time: bytes over PCIe, and an optimizer that runs on the host's cores.

    optimizer   once a step: the rank's gradients go to the host, its cores update the weights there, which come back
    all         also: the rank's weights come in for the forward and again for the backward of every micro-batch

Each is a stream of bytes through one of two narrow places: the GPU's PCIe link, and the host's memory, of which every
GPU of a node has its share. An update does little arithmetic, so the memory decides there too: it reads gradient,
weight and moments and writes the weight and the moments back, all in fp32.

None of it was measured, unlike the step on the GPU, so the interval is wide on purpose: at best both places reach what
their data sheets say and weights come in while the GPU works on the block before; in the middle nothing overlaps; at
worst both reach half of the middle.
"""

from __future__ import annotations

import msgspec

from tonnage.cluster.gpu_facts import facts_of
from tonnage.cluster.gpus import GpuType
from tonnage.memory.estimate import Interval
from tonnage.memory.ledger import rank_weights
from tonnage.memory.recipe import Recipe
from tonnage.memory.shapes import ModelShape

HOST_BANDWIDTH = 25e9
"""Bytes per second of host memory for each GPU: two sockets of eight DDR4-3200 channels are 410 GB/s on the data sheet;
mixed reads and writes reach half; eight GPUs share it."""
PCIE_SHARE = 0.8
"""Of the link's data sheet that large copies from pinned memory reach."""
BEST, WORST = 2.0, 0.5
"""Speed against the middle of what both places reach at the ends of the interval."""

FULL = 4
"""Bytes of a number on the host: optimizers work in fp32 there."""
_MOMENTS = {"adamw": 2, "adamw-fused": 2, "adamw-forloop": 2, "sgdm": 1, "sgd": 0, "adafactor": 1}
PASSES = 2
"""Times that weights come in for a micro-batch: forward, and backward (which recomputes while they are there)."""


class Offloading(msgspec.Struct, frozen=True):
    """Seconds of a step that offloading takes, as if nothing overlapped."""

    streaming: float = 0.0
    """Weights on their way in."""
    updating: float = 0.0
    """Gradients out, the update on the host, weights back."""


def with_offloading(computed: Interval, shape: ModelShape, recipe: Recipe, gpu: GpuType) -> Interval:
    """The seconds of a step that offloads, from those of its part on the GPU."""
    cost = offloading_of(shape, recipe, gpu)
    whole = cost.streaming + cost.updating
    # While weights come in the GPU can work on others: at best the longer of the two is all that is seen.
    hidden = max(computed.p10, cost.streaming / BEST)
    return Interval(hidden + cost.updating / BEST, computed.p50 + whole, computed.p90 + whole / WORST)


def offloading_of(shape: ModelShape, recipe: Recipe, gpu: GpuType) -> Offloading:
    """What the recipe's offloading costs a rank in each step."""
    if recipe.offload == "none":
        return Offloading()
    held = rank_weights(shape, recipe)
    copying = min(facts_of(gpu).pcie * PCIE_SHARE, HOST_BANDWIDTH)
    updated = held.trained / held.sharing.state
    traffic = updated * FULL * (3 + 2 * _MOMENTS[recipe.optimizer])
    updating = 2 * updated * held.width / copying + traffic / HOST_BANDWIDTH
    if recipe.offload == "optimizer":
        return Offloading(updating=updating)
    micro_batches = recipe.accumulation + recipe.parallel.pipeline - 1
    streamed = PASSES * micro_batches * held.total * held.width / held.sharing.weights
    return Offloading(streamed / copying, updating)
