"""How much is added to a shape estimate to be safe.

The step on paper is the library's own. Two things about the user's are not known and are covered here: what it
does besides (a loss or logits kept, a tensor logged, weights built in another precision first), by a share of
what is expected; and how the allocator's luck falls out, by never going below what it would hold unpressed,
except for convolutional networks, whose workspaces fill the cache without being needed.

Shares leave about a third to spare over the worst residual of the measured steps that a shape can describe. The
rule about the unpressed allocator was added after a step of the reported half had needed it, so the tests that
compare the two halves are no blind trial of this guard. GPT-NeoX and OPT were compared with traces
and with one measured step each (`expected` right to 0.1 % both times); they have the share of the other decoders.
"""

from __future__ import annotations

from tonnage.memory.estimate import Guard
from tonnage.memory.recipe import Recipe
from tonnage.memory.shapes.shape import ModelShape
from tonnage.units import format_bytes

MIB = 2**20
SHARES = {
    "gpt2": 0.07,
    "gpt_neox": 0.07,
    "opt": 0.07,
    "llama": 0.07,
    "mixtral": 0.09,
    "bert": 0.07,
    "t5": 0.07,
    "vit": 0.08,
    "convnet": 0.10,
}
LEAST = 128 * MIB
UNPRESSED = 0.015
"""Added to what the allocator holds without a limit."""
AMONG_RANKS = 0.04
"""More, where ranks share the work: their buffers vary with version and topology."""


def guard_for_shape(shape: ModelShape, recipe: Recipe, *, expected: int, unpressed: int) -> Guard:
    """The guard of a described step; `unpressed` is what the device holds when nothing presses the allocator."""
    share = SHARES[shape.family] + (AMONG_RANKS if recipe.parallel.world_size > 1 else 0)
    size = max(LEAST, int(expected * share))
    reason = (
        f"a described {shape.family} step: {share:.0%} of what is expected, at least {format_bytes(LEAST)}"
    )
    if shape.family != "convnet":
        free = int(unpressed * (1 + UNPRESSED)) - expected
        if free > size:
            size = free
            reason = f"what the allocator holds unpressed, {format_bytes(unpressed)}, and {UNPRESSED:.1%}"
    return Guard(-(-size // MIB) * MIB, reason)
