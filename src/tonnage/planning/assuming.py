"""What a pod asks for where nobody knows what it needs: its GPUs' share of a node, else something modest.

A pod that asks for no memory is BestEffort: the first to be killed, on a node that counts on it using nothing. A
document without a model gives no figures, so its pod is given what usually comes with its GPUs, and the plan says
that the need is not known. What the document says, or a figure was found for, is never replaced.
"""

from __future__ import annotations

import msgspec

from tonnage.planning.catalogue import Offer
from tonnage.planning.workload import Role

_GIB = 2**30
_SHARE = 0.9
"""Of the GPUs' part of a node: the rest is for daemons and neighbours."""
_MOST_DISK = 100 * _GIB


class Assumed(msgspec.Struct, frozen=True):
    """Bytes and thousandths of a core."""

    cpu: int
    memory: int
    disk: int

    def as_amounts(self) -> dict[str, str]:
        """As Kubernetes quantities, by resource."""
        return {"cpu": f"{self.cpu}m", "memory": str(self.memory), "ephemeral-storage": str(self.disk)}


def assumed_for(role: Role, offer: Offer | None) -> Assumed:
    """What to ask for in place of what is not known."""
    gpus = role.gpus.count
    if not gpus:
        usual = Assumed(1000, 2 * _GIB, 5 * _GIB)
        return usual if offer is None else _at_most(usual, offer)
    if offer is None:
        return Assumed(4000 * gpus, (8 + 16 * gpus) * _GIB, 50 * _GIB)
    share = min(1.0, gpus / offer.per_node) * _SHARE
    return Assumed(
        max(1000, int(offer.cpu * share) // 1000 * 1000),
        max(_GIB, int(offer.memory * share) // _GIB * _GIB),
        max(_GIB, min(_MOST_DISK, int(offer.disk * share / 2) // _GIB * _GIB)),
    )


def _at_most(usual: Assumed, offer: Offer) -> Assumed:
    """No more than half of the smallest node."""
    return Assumed(
        min(usual.cpu, max(100, offer.cpu // 2)),
        min(usual.memory, max(_GIB // 4, offer.memory // 2)),
        min(usual.disk, max(_GIB // 4, offer.disk // 2)),
    )
