"""How much is added to a shape estimate to be safe.

The step on paper is the library's own; the user's may differ (another loss, a logged tensor, another order of
allocation). The bands below cover the residuals between `expected` and truth per family.
"""

from __future__ import annotations

from tonnage.memory.estimate import Guard
from tonnage.memory.recipe import Recipe
from tonnage.memory.shapes.shape import ModelShape

MIB = 2**20
SHARES = {
    "gpt2": 0.06,
    "llama": 0.06,
    "mixtral": 0.10,
    "bert": 0.06,
    "t5": 0.06,
    "vit": 0.08,
    "convnet": 0.10,
}
LEAST = 96 * MIB


def guard_for_shape(shape: ModelShape, recipe: Recipe, expected: int) -> Guard:
    """The guard band of a step that was only described."""
    share = SHARES[shape.family]
    if recipe.parallel.world_size > 1:
        share += 0.04
    size = max(LEAST, int(expected * share))
    return Guard(
        -(-size // MIB) * MIB, f"residuals of {shape.family} shapes: {share:.0%} of what is expected"
    )
