"""Answers to a wish for part of a GPU, from what the cluster offers or from the table alone."""

from __future__ import annotations

from tonnage.cluster.gpus import GpuType
from tonnage.planning.catalogue import gpu_prices
from tonnage.planning.choosing import Candidate, candidate_types
from tonnage.planning.ground import Ground
from tonnage.planning.solver.parts import OnOffer, PartAnswer, part_answers, part_answers_on
from tonnage.planning.workload import Workload


def parts_for(workload: Workload, chosen: Candidate | None, ground: Ground | None) -> tuple[PartAnswer, ...]:
    """Answers to a wish for part of a GPU."""
    wish = workload.trainer.gpus
    if not wish.is_fraction or chosen is None:
        return ()
    estimate = chosen.memory.estimate
    required = estimate.required if estimate else None
    types = candidate_types(workload, ground.snapshot if ground else None)
    if ground is None:
        return tuple(part_answers(required, wish.milli, types))
    return tuple(part_answers_on(required, wish.milli, [_on_offer(gpu, ground) for gpu in types]))


def _on_offer(gpu: GpuType, ground: Ground) -> OnOffer:
    prices = gpu_prices(ground.offered)
    whole = sum(offer.nodes for offer in ground.offered if offer.gpu == gpu.name)
    parts = tuple((offer.part, offer.nodes, offer.price) for offer in ground.parts if offer.gpu == gpu.name)
    return OnOffer(gpu, whole, prices.get(gpu.name), parts)
