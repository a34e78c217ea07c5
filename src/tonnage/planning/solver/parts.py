"""Part of a GPU: a MIG slice, a shared GPU, or a whole one with an idle part.

Kubernetes counts `nvidia.com/gpu` in whole numbers, so `gpus: 0.5` has three honest answers. They differ in
what a neighbour can do to you, and that is said with each:

    slice    memory and compute are cut off from the neighbours; the size is one of a few
    shared   memory is not isolated: a neighbour that takes too much makes *you* run out of it
    whole    nobody else is on it, and the part you do not use is paid for all the same

A slice has up to 2 % less memory than its part of the whole (H100: 39.50 GiB of 79.1 for `3g.40gb`). A step
on a slice takes longer in proportion to the compute it does not have; small steps that wait for launches
less so, which makes the figure an upper bound.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import msgspec
from msgspec.structs import replace

from tonnage.cluster.gpu_facts import facts_of
from tonnage.cluster.gpus import GpuType, MigProfile
from tonnage.cost.parts import idle_price, share_price, slice_price, slice_share
from tonnage.cost.price import Price

SLICE_LOSS = 0.02


class PartAnswer(msgspec.Struct, frozen=True):
    """One way to give a run part of a GPU."""

    how: Literal["slice", "shared", "whole"]
    gpu: str
    resource: str
    """What a pod asks Kubernetes for."""
    profile: str
    memory: int
    """Bytes it may count on."""
    fits: bool
    isolation: str
    slower: float
    """Factor on the time of a step, at most."""
    price: Price | None
    """By the hour, of what is paid for; a range where nodes differ."""
    idle: Price | None = None
    """Of that, what nobody asked for."""
    nodes: int | None = None
    """Nodes that offer it; None where no cluster was looked at."""


class OnOffer(msgspec.Struct, frozen=True):
    """What a cluster offers of one GPU type: nodes with whole ones, and parts by kind with nodes and price."""

    gpu: GpuType
    whole_nodes: int
    whole_price: Price | None
    parts: tuple[tuple[str, int, Price | None], ...] = ()
    """MIG profile or `shared`, nodes that have it, and the price of one."""


def part_answers(required: int | None, milli: int, gpus: Sequence[GpuType]) -> list[PartAnswer]:
    """Every answer to a wish for part of a GPU where no cluster is known, the smallest slice first."""
    answers: list[PartAnswer] = []
    for gpu in gpus:
        answers += [_slice(gpu, profile, required, None) for profile in _offered(gpu, required, milli)]
        answers.append(_shared(gpu, required, milli, None))
        answers.append(_whole(gpu, required, milli, None))
    return sorted(answers, key=_preference)


def part_answers_on(required: int | None, milli: int, there: Sequence[OnOffer]) -> list[PartAnswer]:
    """The same on a cluster: what its nodes offer, and what their GPUs could be cut into; offered ones first."""
    answers: list[PartAnswer] = []
    for offer in there:
        gpu = offer.gpu
        for part, nodes, price in offer.parts:
            profile = gpu.mig_profile(part)
            if profile is not None:
                answers.append(replace(_slice(gpu, profile, required, None), nodes=nodes, price=price))
            elif part == "shared":
                answers.append(replace(_shared(gpu, required, milli, None), nodes=nodes, price=price))
        if offer.whole_nodes:
            could = [_slice(gpu, one, required, offer.whole_price) for one in _offered(gpu, required, milli)]
            answers += [replace(answer, nodes=0) for answer in could]
            answers.append(replace(_whole(gpu, required, milli, offer.whole_price), nodes=offer.whole_nodes))
    return sorted(answers, key=_preference)


def slice_memory(gpu: GpuType, profile: MigProfile) -> int:
    """Bytes torch may count on in a slice."""
    part = profile.memory_slices / gpu.memory_slices
    return int(facts_of(gpu).usable_bytes * part * (1 if part == 1 else 1 - SLICE_LOSS))


def _offered(gpu: GpuType, required: int | None, milli: int) -> list[MigProfile]:
    """The slices worth naming: the smallest that holds the run, else the one nearest to the part asked for."""
    partial = [profile for profile in gpu.mig if profile.memory_slices < gpu.memory_slices]
    if not partial:
        return []
    if required is not None:
        holding = [profile for profile in partial if slice_memory(gpu, profile) >= required]
        holding.sort(key=lambda profile: (slice_share(gpu, profile), -profile.compute_slices))
        return holding[:1]
    wanted = milli / 1000
    return [min(partial, key=lambda profile: abs(profile.memory_slices / gpu.memory_slices - wanted))]


def _slice(gpu: GpuType, profile: MigProfile, required: int | None, price: Price | None) -> PartAnswer:
    memory = slice_memory(gpu, profile)
    return PartAnswer(
        how="slice",
        gpu=gpu.name,
        resource=f"nvidia.com/mig-{profile.name}",
        profile=profile.name,
        memory=memory,
        fits=required is None or required <= memory,
        isolation="memory and compute are cut off from neighbours",
        slower=max(item.compute_slices for item in gpu.mig) / profile.compute_slices,
        price=None if price is None else slice_price(price, gpu, profile),
    )


def _shared(gpu: GpuType, required: int | None, milli: int, price: Price | None) -> PartAnswer:
    usable = facts_of(gpu).usable_bytes
    fair = usable * milli // 1000
    return PartAnswer(
        how="shared",
        gpu=gpu.name,
        resource="nvidia.com/gpu",
        profile="",
        memory=fair,
        fits=required is None or required <= fair,
        isolation="memory is not isolated: a neighbour can take yours",
        slower=1000 / milli if milli else 1.0,
        price=None if price is None else share_price(price, 1000 // max(milli, 1)),
    )


def _whole(gpu: GpuType, required: int | None, milli: int, price: Price | None) -> PartAnswer:
    usable = facts_of(gpu).usable_bytes
    return PartAnswer(
        how="whole",
        gpu=gpu.name,
        resource="nvidia.com/gpu",
        profile="",
        memory=usable,
        fits=required is None or required <= usable,
        isolation="nobody else is on it",
        slower=1.0,
        price=price,
        idle=None if price is None else idle_price(price, milli),
    )


def _preference(answer: PartAnswer) -> tuple[object, ...]:
    order = {"slice": 0, "shared": 1, "whole": 2}
    is_missing = answer.nodes == 0
    price = answer.price
    rate = price.low if price is not None else 0
    return (not answer.fits, is_missing, price is None, rate, order[answer.how], answer.gpu)
