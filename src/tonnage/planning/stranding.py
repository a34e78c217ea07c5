"""What a run's own pods strand: the GPUs of their nodes that are left without RAM, disk or cores, and their price."""

from __future__ import annotations

from tonnage.cost.running import price_of_stranded
from tonnage.planning.answers import Need
from tonnage.planning.catalogue import Offer
from tonnage.planning.shares import Share, Stranding, strandings
from tonnage.planning.workload import Role


def stranding_of(role: Role, needs: tuple[Need, ...], offer: Offer | None) -> Stranding | None:
    if offer is None or not role.gpus.count:
        return None
    together = -(-role.count // max(1, offer.nodes))
    pods = max(1, min(offer.per_node // role.gpus.count, together))
    taken: dict[str, tuple[int, int]] = {
        need.name: (need.granted * pods, need.there)
        for need in needs
        if need.name != "shm" and need.granted is not None and need.there
    }
    nodes = -(-role.count // pods)
    return strandings(Share("GPUs", role.gpus.count * pods, offer.per_node), taken, nodes=nodes)


def stranded_rate(stranding: Stranding | None, offer: Offer | None) -> int | None:
    if stranding is None or not stranding.stranded or offer is None or offer.gpu_price is None:
        return None
    return price_of_stranded(offer.gpu_price, stranding.stranded_in_all).low
