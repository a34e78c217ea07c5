"""Where a plan's figures come from: whoever makes a plan brings these, and nothing is read behind its back."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from tonnage.cost.price import Price
from tonnage.memory.estimate import Estimate
from tonnage.memory.recipe import Recipe
from tonnage.planning.answers import NeedPart
from tonnage.planning.catalogue import PriceOf
from tonnage.planning.estimating import StepEstimator
from tonnage.planning.solver.setup import Devices, Setup
from tonnage.planning.workload import Workload


class Figure(msgspec.Struct, frozen=True, kw_only=True):
    """How much of one thing a pod needs, and the sum it comes from."""

    amount: int
    parts: tuple[NeedPart, ...] = ()
    text: str = ""
    """The sum in one line."""
    limit: int | None = None
    """What it can use at most, where that is more than it needs to ask for."""


class PodFigures(msgspec.Struct, frozen=True, kw_only=True):
    """What one pod needs beside GPU memory. `cpu` in thousandths of a core."""

    figures: Mapping[str, Figure] = msgspec.field(default_factory=dict)
    """By name: `memory`, `shm`, `disk`, `cpu`; what is not known is absent."""
    checkpoint_bytes: int | None = None
    is_sharded: bool = False
    """Whether every rank writes its own part of a checkpoint."""
    cpu_seconds: float | None = None
    """Core-seconds of one step of a pod, where the time of a step is known."""
    warnings: tuple[str, ...] = ()


FiguresOf = Callable[[Workload, Setup | None, Estimate | None], PodFigures]

OwnOf = Callable[[Recipe, Devices], Mapping[str, Any]]
"""What a traced step's build() itself uses where it is told nothing: its knobs and their values. Ranks and devices are
those of the recipe, which may be wrong in what build() decides; raises CannotEstimate."""


def no_price(_node: object) -> Price | None:
    """Nobody knows a price."""
    return None


def no_figures(_workload: Workload, _setup: Setup | None, _estimate: Estimate | None) -> PodFigures:
    """Nobody knows what the pod needs."""
    return PodFigures()


class Sources(msgspec.Struct, frozen=True, kw_only=True):
    """Who answers about memory and time, about the rest of the pod, and about prices."""

    estimator: StepEstimator | None = None
    why_no_estimate: str = "the model is not described"
    price_of: PriceOf = no_price
    figures_of: FiguresOf = no_figures
    own_of: OwnOf | None = None
    heads: int | None = None
    """Attention heads of the model, where they are known: they bound tensor parallelism."""
