"""What an offloading rank keeps in host memory: it is not on the GPU, but it is part of the model all the same.

Who sizes host RAM, disks and checkpoints asks an estimate how large the model is. The parts on the GPU alone would tell
them of a model without optimizer states, or of none.
"""

from __future__ import annotations

from tonnage.memory.estimate import Part
from tonnage.memory.ledger.stepping import Run
from tonnage.memory.recipe import Recipe

MASTER_BYTES = 4
FACTORED = 0.02
"""Adafactor's row and column sums, for each byte of a weight."""


def host_parts(run: Run, recipe: Recipe) -> tuple[Part, ...]:
    """One rank's parts in host memory, by the names that they have on the GPU."""
    if recipe.offload == "none":
        return ()
    states = -(-int(run.trained * _state_bytes(run, recipe)) // run.sharing.state)
    found = [Part("optimizer", states, f"{run.trained:,} trained weights, over {run.sharing.state} ranks")]
    if recipe.offload == "all":
        weights = -(-run.weights * run.width // run.sharing.weights)
        said = f"{run.weights:,} weights x {run.width} bytes, over {run.sharing.weights} ranks"
        found.append(Part("parameters", weights, said))
    return tuple(part for part in found if part.bytes)


def _state_bytes(run: Run, recipe: Recipe) -> float:
    """Of one trained weight."""
    if recipe.optimizer == "adafactor":
        return run.width * FACTORED
    moments = 2 if recipe.optimizer.startswith("adamw") else 1 if recipe.optimizer == "sgdm" else 0
    if run.sharing.has_masters:
        return MASTER_BYTES * (1 + moments)
    return run.width * moments
