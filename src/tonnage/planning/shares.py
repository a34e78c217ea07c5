"""Whether a pod takes more of a node's RAM, disk or cores than of its GPUs, and what that strands.

A pod with two of eight GPUs and nine tenths of the RAM leaves six GPUs that nobody can use: they are paid for
and idle. Some jobs are bound by memory or by I/O and must be so; therefore this is a warning with a price,
never a refusal.

Stranded are the GPUs left over that cannot each get their even part of what is left of the scarcest
resource:

    left over   = GPUs of the node - GPUs taken
    served      = floor(rest of the resource / (the node's whole / GPUs of the node))
    stranded    = max(0, left over - served)
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

TOLERANCE = 0.02
"""Above the GPU share by this much is not worth a word."""


class Share(msgspec.Struct, frozen=True):
    """How much of one resource of a node the pods on it take."""

    resource: str
    taken: int
    whole: int

    @property
    def part(self) -> float:
        return self.taken / self.whole if self.whole else 0.0


class Stranding(msgspec.Struct, frozen=True):
    """What a node's GPUs and the rest of it are taken to, and the GPUs nobody else can use."""

    gpus: Share
    others: tuple[Share, ...]
    stranded: int
    """GPUs of one node that are left without their part of the scarcest resource."""
    scarcest: str = ""
    """The resource that strands them."""
    nodes: int = 1
    """Nodes on which this happens."""

    @property
    def stranded_in_all(self) -> int:
        return self.stranded * self.nodes

    @property
    def above(self) -> tuple[Share, ...]:
        """Resources taken beyond the share of GPUs."""
        return tuple(share for share in self.others if share.part > self.gpus.part + TOLERANCE)


def strandings(gpus: Share, others: Mapping[str, tuple[int, int]], *, nodes: int = 1) -> Stranding:
    """The shares of a node that pods take (resource to taken and whole), and the GPUs left stranded."""
    shares = tuple(Share(name, taken, whole) for name, (taken, whole) in others.items() if whole)
    left = max(0, gpus.whole - gpus.taken)
    worst, scarcest = 0, ""
    for share in shares:
        served = max(0, share.whole - share.taken) * gpus.whole // share.whole
        if (stranded := max(0, left - served)) > worst:
            worst, scarcest = stranded, share.resource
    return Stranding(gpus, shares, worst, scarcest, nodes)
