"""The least an operation can take, and a first guess at what it takes: data sheet, tiles and waves, nothing measured.

`floor` is physics: arithmetic over the peak rate, bytes over the bandwidth. `first_guess` adds what every kernel
pays: the time to start, the share of the peak that real tiles reach, and the last wave of tiles that leaves
multiprocessors idle. Measured corrections (`corrections.py`) are ratios to the first guess, which is why it has
to carry the shape of the truth to other sizes and other GPUs, more than its height.
"""

from __future__ import annotations

import math

from tonnage.cluster.gpu_facts import GpuFacts
from tonnage.timing.work import Tiles, Work

START = 2.2e-6
"""Seconds a kernel needs however little it does: launch from a full queue, ramp up, drain."""
_BANDWIDTH_SHARE = 0.88
_BUS_SHARE = 0.85
_SEQUENTIAL_STEP = 8e-6

# Rows and columns of a tile, and the share of a multiprocessor's peak that it reaches on long products.
_HALF_TILES = (
    (256, 128, 0.82),
    (128, 256, 0.82),
    (128, 128, 0.72),
    (64, 128, 0.52),
    (128, 64, 0.52),
    (64, 64, 0.36),
)
_FULL_TILES = ((128, 128, 0.80), (128, 64, 0.72), (64, 64, 0.62), (32, 32, 0.35))
_SPLITS = (1, 2, 4, 8, 16)
_MULTIPROCESSOR_FILL = 1.2e-6
"""Seconds until a tile's first product can begin, and to write its result."""
_ATTENTION_BLOCK = 128
_ATTENTION_PAIR = {  # microseconds of a multiprocessor for a block of queries against one of keys: fixed, per width
    "cudnn": (0.75, 0.0067, 1.18),
    "flash": (0.75, 0.0172, 1.30),
    "efficient/half": (5.6, 0.012, 6.4),
    "efficient/full": (14.0, 0.09, 16.0),
}
_ATTENTION_BLOCK_START = 1.5e-6
_ATTENTION_BACKWARD = 2.75
_H200_RATE_PER_MULTIPROCESSOR = 989.4e12 / 132
_TURNING_SHARE = 0.55
"""Of the bandwidth, that a kernel reaches which turns one layout into another."""
_DEPTHWISE_SHARE = {"apart": 0.04, "last": 0.12}
"""Of the fp32 peak, that depthwise kernels reach forward; a third of it backward."""
_STRAND_ELEMENT = 0.8e-9
"""Seconds that a block alone needs for one element."""
_CACHE_SPEEDUP = 1.6
"""How much faster bytes come where everything stays in the L2 cache."""


def floor(work: Work, facts: GpuFacts) -> float:
    """No version of the work can be faster: arithmetic at the peak rate, bytes the cache cannot hold at bandwidth."""
    if work.kind == "moving":
        return work.bytes / facts.pcie
    # Convolutions can be done with fewer products than their definition has (Winograd), causal attention with fewer
    # pairs than half.
    arithmetic = work.flops / facts.peak(work.rate) * (1.0 if work.kind == "matrix" else 0.4)
    from_memory = max(0.0, work.bytes - facts.l2_bytes) if work.kind in ("memory", "lists", "matrix") else 0.0
    return max(arithmetic, 0.5 * from_memory / facts.bandwidth)  # half of it may still lie there from before


def first_guess(work: Work, facts: GpuFacts) -> float:
    """Seconds on the device before any correction."""
    if work.kind == "free":
        return 0.0
    if work.kind == "moving":
        return 8e-6 + work.bytes / (facts.pcie * _BUS_SHARE)
    moving = _moving(work, facts)
    start = START * max(1.0, work.kernels)
    if work.kind in ("memory", "lists"):
        return start + moving + work.steps * _SEQUENTIAL_STEP
    aside = work.aside / (facts.bandwidth * _TURNING_SHARE)
    return start + max(moving, _computing(work, facts)) + aside + work.steps * _SEQUENTIAL_STEP


def _moving(work: Work, facts: GpuFacts) -> float:
    """Seconds for the bytes; what fits into half the cache comes faster."""
    pace = facts.bandwidth * _BANDWIDTH_SHARE
    if work.strands:
        each = _STRAND_ELEMENT * (1.5 if "backward" in work.family else 1.0)
        alone = work.strand_length * each * max(1.0, work.strands / facts.sm_count)
        return max(work.bytes / (0.6 * pace), alone)
    cached = facts.l2_bytes / 2
    if work.bytes <= cached:
        return work.bytes / (pace * _CACHE_SPEEDUP)
    return cached / (pace * _CACHE_SPEEDUP) + (work.bytes - cached) / pace


def _computing(work: Work, facts: GpuFacts) -> float:
    peak = facts.peak(work.rate)
    if work.kind == "attention" and work.tiles is not None:
        return _attending(work, work.tiles, facts)
    if work.family.startswith("depthwise"):
        share = _DEPTHWISE_SHARE[work.family.split("/")[1]]
        return work.flops / (peak * share) * (2.5 if "/backward" in work.family else 1.0)
    if work.tiles is None:
        return work.flops / (peak * 0.3)
    once = 2.0 * work.tiles.batch * work.tiles.rows * work.tiles.columns * work.tiles.depth
    passes = max(1.0, work.flops / once) if work.kind == "convolution" else 1.0
    return passes * _in_waves(work.tiles, facts, peak, full=work.rate == "fp32")


def _attending(work: Work, sizes: Tiles, facts: GpuFacts) -> float:
    """Blocks of queries, each against all blocks of keys that it may see."""
    kernel = work.family.split("/")[0]
    full = work.rate in ("fp32", "tf32")
    fixed, per_width, least = _ATTENTION_PAIR[
        f"efficient/{'full' if full else 'half'}" if kernel == "efficient" else kernel
    ]
    slower = _H200_RATE_PER_MULTIPROCESSOR * facts.sm_count / facts.peak("fp16")
    pair = max(least, fixed + per_width * sizes.depth) * 1e-6 * slower
    if work.family.endswith("backward"):
        pair *= _ATTENTION_BACKWARD
    queries, keys = math.ceil(sizes.rows / _ATTENTION_BLOCK), math.ceil(sizes.columns / _ATTENTION_BLOCK)
    causal = (
        work.flops / (2.5 if work.family.endswith("backward") else 1.0)
        < 3.0 * sizes.batch * sizes.rows * sizes.columns * sizes.depth
    )
    pairs = queries * (keys + 1) / 2 if causal else queries * keys
    whole = sizes.batch * (pairs * pair + queries * _ATTENTION_BLOCK_START) / facts.sm_count
    longest = keys * pair + _ATTENTION_BLOCK_START
    return max(longest, whole + 0.3 * longest)


def _in_waves(tiles: Tiles, facts: GpuFacts, peak: float, *, full: bool) -> float:
    """The best of the usual tilings, with the depth split where there are too few tiles."""
    each = peak / facts.sm_count
    best = math.inf
    for height, width, share in _FULL_TILES if full else _HALF_TILES:
        pieces = math.ceil(tiles.rows / height) * math.ceil(tiles.columns / width) * tiles.batch
        for split in _SPLITS:
            if split > 1 and tiles.depth / split < 128:
                break
            waves = math.ceil(pieces * split / facts.sm_count)
            depth = math.ceil(tiles.depth / split / 32) * 32
            one = 2.0 * height * width * depth / (each * share) + _MULTIPROCESSOR_FILL
            gather = 0.0
            if split > 1:  # partial results are written and summed
                gather = 1.5e-6 + 4.0 * tiles.rows * tiles.columns * tiles.batch * split / facts.bandwidth
            best = min(best, waves * one + gather)
    return best
