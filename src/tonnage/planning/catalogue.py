"""What GPUs there are to choose from: by type, how many on how many nodes, and what one costs by the hour.

A node is paid for whole, so a GPU costs its part of the node. Where nodes of one type have different prices
(two pools, two clouds), all are kept with who says them: the plan shows a range. Nodes that the run may not use by its
own choice about spot offer it nothing, however cheap they are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

import msgspec
from msgspec.structs import replace

from tonnage.cluster.announcing import devices_of, gpu_type_of, is_usable
from tonnage.cluster.gpus import find_gpu
from tonnage.cluster.objects import Node
from tonnage.cluster.resources import amounts
from tonnage.cost.parts import gpu_price
from tonnage.cost.price import Price, spanned
from tonnage.cost.pricing import (
    INSTANCE_LABELS,
    POOL_LABEL,
    PRICE_ANNOTATION,
    REGION_LABELS,
    SPOT_LABELS,
    is_spot,
)
from tonnage.planning.workload.value import SpotUse
from tonnage.units import Quantity

PriceOf = Callable[[Node], Price | None]


class Offer(msgspec.Struct, frozen=True, kw_only=True):
    """GPUs of one type, `per_node` of them on each of `nodes` usable nodes."""

    gpu: str
    per_node: int
    nodes: int
    gpu_price: Price | None
    memory: int
    """Allocatable bytes of RAM of the smallest such node."""
    cpu: int
    disk: int
    example: str
    node_price: Price | None = None


def open_to(nodes: Iterable[Node], spot: SpotUse) -> list[Node]:
    """The nodes that a choice about spot leaves open."""
    if spot not in ("never", "only"):
        return list(nodes)
    return [node for node in nodes if is_spot(node) == (spot == "only")]


def whole_gpus(node: Node) -> int:
    """Whole GPUs of a node; slices and shares are none."""
    return devices_of(node).get("", 0)


def offers(nodes: Iterable[Node], price_of: PriceOf) -> tuple[Offer, ...]:
    """Whole GPUs by type and number per node; nodes that are cordoned or not ready offer nothing."""
    groups: dict[tuple[str, int], list[Node]] = {}
    for node in nodes:
        count = whole_gpus(node)
        name = gpu_type_of(node)
        if count and is_usable(node) and find_gpu(name) is not None:
            groups.setdefault((name, count), []).append(node)
    return tuple(_offer(name, count, members, price_of) for (name, count), members in sorted(groups.items()))


def host_offer(nodes: Iterable[Node], price_of: PriceOf) -> Offer | None:
    """The roomiest nodes for a run without GPUs: those without GPUs too, where there are any."""
    usable = [node for node in nodes if is_usable(node)]
    plain = [node for node in usable if not devices_of(node)] or usable
    if not plain:
        return None
    looks: dict[tuple[int, int], list[Node]] = {}
    for node in plain:
        room, zero = room_of(node), Quantity(0)
        looks.setdefault((room.get("memory", zero).value(), room.get("cpu", zero).milli()), []).append(node)
    return _offer("", 0, looks[max(looks)], price_of)


class PartOffer(msgspec.Struct, frozen=True, kw_only=True):
    """Parts of GPUs of one type and kind on offer: a MIG profile, or `shared`."""

    gpu: str
    part: str
    nodes: int
    price: Price | None
    """Of one part: a node is paid for whole, so each costs its share of it."""


def part_offers(nodes: Iterable[Node], price_of: PriceOf) -> tuple[PartOffer, ...]:
    """Slices and shares of GPUs, by type and kind."""
    groups: dict[tuple[str, str], list[Node]] = {}
    for node in nodes:
        if is_usable(node):
            for part, count in devices_of(node).items():
                if part and count:
                    groups.setdefault((gpu_type_of(node), part), []).append(node)
    return tuple(
        PartOffer(gpu=name, part=part, nodes=len(members), price=_each(part, members, price_of))
        for (name, part), members in sorted(groups.items())
    )


def offer_of_part(
    gpu: str, part: str, price: Price | None, nodes: Iterable[Node], price_of: PriceOf
) -> Offer | None:
    """The nodes that have such parts, as an offer of them; None where there are none."""
    having = [
        node for node in nodes if is_usable(node) and gpu_type_of(node) == gpu and devices_of(node).get(part)
    ]
    if not having:
        return None
    count = min(devices_of(node)[part] for node in having)
    return replace(_offer(gpu, count, having, price_of), gpu_price=price)


def _each(part: str, nodes: list[Node], price_of: PriceOf) -> Price | None:
    """What one part costs on these nodes, from the cheapest to the dearest."""
    priced = [(price_of(node), devices_of(node)[part]) for node in _different(nodes)]
    return spanned(price.times(1, of=count) for price, count in priced if price is not None)


def gpu_prices(found: Iterable[Offer]) -> Mapping[str, Price]:
    """The price of one GPU by type: the cheapest offer of it, up to the dearest."""
    prices: dict[str, Price] = {}
    for offer in found:
        if offer.gpu_price is None:
            continue
        known = prices.get(offer.gpu)
        prices[offer.gpu] = offer.gpu_price if known is None else known.spanning(offer.gpu_price)
    return prices


def room_of(node: Node) -> Mapping[str, Quantity]:
    """What pods may ask of a node."""
    return amounts(node.status.allocatable)


def _offer(name: str, count: int, nodes: list[Node], price_of: PriceOf) -> Offer:
    price = spanned(found for node in _different(nodes) if (found := price_of(node)) is not None)
    rooms = [room_of(node) for node in _different(nodes)]
    zero = Quantity(0)
    return Offer(
        gpu=name,
        per_node=count,
        nodes=len(nodes),
        gpu_price=None if price is None else gpu_price(price, count),
        memory=min(room.get("memory", zero).value() for room in rooms),
        cpu=min(room.get("cpu", zero).milli() for room in rooms),
        disk=min(room.get("ephemeral-storage", zero).value() for room in rooms),
        example=nodes[0].metadata.name,
        node_price=price,
    )


def _different(nodes: list[Node]) -> list[Node]:
    """One node of each look: a thousand alike need not be asked a thousand times."""
    looks: dict[tuple[object, ...], Node] = {}
    for node in nodes:
        labels, meta = node.metadata.labels, node.metadata
        look = (
            *(labels.get(key) for key in _PRICED_BY), *sorted(node.status.allocatable.items()),
            meta.annotations.get(PRICE_ANNOTATION),
        )  # fmt: skip
        looks.setdefault(look, node)
    return list(looks.values())


_PRICED_BY = (*INSTANCE_LABELS, *REGION_LABELS, POOL_LABEL, *(name for name, _ in SPOT_LABELS))
