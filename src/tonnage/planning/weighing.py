"""The judge the solver asks in a real plan: estimates for memory and time, offers for prices and nodes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Literal

from tonnage.cluster.gpu_facts import facts_of
from tonnage.cluster.gpus import find_gpu
from tonnage.cost.price import Price
from tonnage.memory.estimate import Estimate
from tonnage.planning.catalogue import Offer
from tonnage.planning.estimating import CannotEstimate, StepEstimator
from tonnage.planning.solver.judging import Room
from tonnage.planning.solver.setup import Devices, Setup

HostNeed = Callable[[Setup], int | None]
"""Bytes of RAM each node of a setup needs, where that is known."""

Care = Literal["where it decides", "always"]
"""When memory is worked out in full: where a rough answer leaves it open whether it fits, or always."""

SURELY = 0.85
"""Part of a rough allocated peak that is surely needed: at worst it was 10 % too high, and the allocator only adds."""


class Scales:
    """Weighs setups for one run on one cluster (or on none)."""

    def __init__(
        self,
        estimator: StepEstimator,
        *,
        offered: Sequence[Offer] | None,
        prices: Mapping[str, Price],
        host_need: HostNeed | None = None,
        longest_step: float | None = None,
        care: Care = "where it decides",
    ) -> None:
        self._estimator = estimator
        self._offered = offered
        self._prices = prices
        self._host_need = host_need
        self._longest_step = longest_step
        self._care = care

    def room(self, setup: Setup) -> Room | None:
        gpu = find_gpu(setup.devices.gpu)
        if gpu is None:
            return None
        usable = facts_of(gpu).usable_bytes
        bounds = () if self._care == "always" else self._estimator.bounds(setup)
        too_much = next((bound for bound in bounds if bound > usable), None)
        if too_much is not None:
            return Room(too_much, usable)
        memory = self._memory(setup)
        return None if memory is None else Room(memory.required, usable)

    def is_hopeless(self, setup: Setup) -> bool:
        gpu, rough = find_gpu(setup.devices.gpu), self._estimator.roughly(setup)
        return gpu is not None and rough is not None and _surely(rough) > facts_of(gpu).usable_bytes

    def seconds(self, setup: Setup) -> float | None:
        try:
            interval = self._estimator.seconds(setup)
        except CannotEstimate:
            return None
        return None if interval is None else interval.p50

    def rate(self, devices: Devices) -> int | None:
        price = self._prices.get(devices.gpu)
        return None if price is None else price.low * devices.count

    def obstacle(self, setup: Setup) -> str | None:
        devices, seconds = setup.devices, self.seconds(setup)
        if self._longest_step is not None and seconds is not None and seconds > self._longest_step:
            return "its deadline would pass"
        if self._offered is None:
            return None
        fitting = [
            offer
            for offer in self._offered
            if offer.gpu == devices.gpu and offer.per_node >= devices.per_node
        ]
        if sum(offer.nodes for offer in fitting) < devices.nodes:
            return f"there are no {devices} here"
        need = self._host_need(setup) if self._host_need is not None else None
        if need is not None and need > max(offer.memory for offer in fitting):
            return f"the RAM of its nodes would not do ({setup.recipe.offload} offloaded)"
        return None

    def _memory(self, setup: Setup) -> Estimate | None:
        try:
            return self._estimator.memory(setup)
        except CannotEstimate:
            return None


def _surely(rough: Estimate) -> int:
    """Bytes that a full answer will not go below."""
    return int(rough.peak_allocated * SURELY) + rough.outside_allocator
