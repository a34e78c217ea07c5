"""A made-up world for solver tests: memory and time by simple formulas that obey the laws of real ones."""

from __future__ import annotations

from dataclasses import dataclass, field

from tonnage.memory.recipe import Parallel, Recipe
from tonnage.planning.solver.judging import Room
from tonnage.planning.solver.setup import Devices, Setup

GIB = 2**30


@dataclass
class AWorld:
    """A judge: states that are sharded, activations that grow with the micro-batch, time that shrinks with it."""

    states: int = 100
    activations: int = 10
    usable: dict[str, int] = field(default_factory=lambda: {"small": 40, "large": 80})
    rates: dict[str, int | None] = field(default_factory=lambda: {"small": 1_000, "large": 3_000})
    speed: dict[str, float] = field(default_factory=lambda: {"small": 1.0, "large": 2.0})
    jitter: tuple[float, ...] = (0.0,)
    blocked: frozenset[Devices] = frozenset()
    asked: int = 0

    def room(self, setup: Setup) -> Room | None:
        self.asked += 1
        return self._room(setup)

    def _room(self, setup: Setup) -> Room:
        recipe, parallel = setup.recipe, setup.recipe.parallel
        shards = parallel.fsdp * parallel.tensor if parallel.zero < 3 else parallel.data * parallel.tensor
        states = self.states // shards
        if recipe.offload != "none":
            states //= 2 if recipe.offload == "optimizer" else 8
        kept = {"none": 4, "selective": 2, "full": 1}[recipe.checkpointing]
        half = 2 if recipe.precision == "fp32" else 1
        needed = states + self.activations * kept * half * recipe.micro_batch // (4 * parallel.tensor)
        return Room(needed * GIB, self.usable[setup.devices.gpu] * GIB)

    def is_hopeless(self, setup: Setup) -> bool:
        """Known at little cost where twice as much would not be enough."""
        room = self._room(setup)
        return room.required > 2 * room.usable

    def seconds(self, setup: Setup) -> float | None:
        recipe, parallel = setup.recipe, setup.recipe.parallel
        again = {"none": 1.0, "selective": 1.1, "full": 1.33}[recipe.checkpointing]
        slow = {"none": 1.0, "optimizer": 1.4, "all": 2.5}[recipe.offload]
        samples = recipe.micro_batch * recipe.accumulation / parallel.tensor
        launches = recipe.accumulation * (0.1 + self.jitter[recipe.micro_batch % len(self.jitter)])
        shared = 1.0 if setup.sharding == "ddp" else 1.05
        return (samples / self.speed[setup.devices.gpu] + launches) * again * slow * shared

    def rate(self, devices: Devices) -> int | None:
        each = self.rates[devices.gpu]
        return None if each is None else each * devices.count

    def obstacle(self, setup: Setup) -> str | None:
        return "no such nodes" if setup.devices in self.blocked else None


def a_setup(
    *,
    micro_batch: int = 4,
    accumulation: int = 2,
    gpu: str = "large",
    per_node: int = 1,
    nodes: int = 1,
    parallel: Parallel | None = None,
    **recipe: object,
) -> Setup:
    """A setup; plain data parallel over all its devices unless said otherwise."""
    devices = Devices(gpu, per_node, nodes)
    shared = parallel or Parallel(ddp=devices.count)
    return Setup(
        Recipe(micro_batch=micro_batch, accumulation=accumulation, parallel=shared, **recipe),  # type: ignore[arg-type]
        devices,
    )
