"""The cluster a run is planned on, in the forms that are asked: its books, the same books empty, its offers.

Nodes that an autoscaler may add are not there now, but count where the run would fit. Nodes whose `nvidia.com/gpu` are
slices or shares of GPUs (MIG's single strategy, time slicing) are to the scheduler nodes with whole ones;
to a run that wants whole GPUs they are shown and do not count.
"""

from __future__ import annotations

import msgspec
from msgspec.structs import replace

from tonnage.cluster.announcing import is_to_come, part_of
from tonnage.cluster.objects import Node
from tonnage.cluster.scheduling import ClusterView, view_of
from tonnage.cluster.snapshot import NOT_INSTALLED, Snapshot
from tonnage.planning.catalogue import Offer, PartOffer, PriceOf, offers, open_to, part_offers
from tonnage.planning.placing import emptied
from tonnage.planning.workload import Unknown
from tonnage.planning.workload.value import SpotUse

_DECIDING = {
    "nodes": "nodes",
    "pods": "what is free now",
    "resourcequotas": "quotas",
    "limitranges": "limit ranges",
    "persistentvolumeclaims": "volumes",
    "localqueues.kueue.x-k8s.io": "queues",
}


class Ground(msgspec.Struct, frozen=True):
    """A snapshot with what is derived from it once."""

    snapshot: Snapshot
    view: ClusterView
    empty: ClusterView
    offered: tuple[Offer, ...]
    parts: tuple[PartOffer, ...]
    cut: tuple[Node, ...] = ()
    """Nodes that are kept out: what they announce as GPUs are parts of GPUs."""

    @classmethod
    def of(
        cls, snapshot: Snapshot, price_of: PriceOf, *, for_whole: str = "", spot: SpotUse = "unknown"
    ) -> Ground:
        """The ground of a snapshot; `for_whole` names the resource of which only whole devices count."""
        cut = tuple(node for node in snapshot.nodes if for_whole and _is_cut(node, for_whole))
        names = {node.metadata.name for node in cut}
        kept = tuple(node for node in snapshot.nodes if node.metadata.name not in names)
        view = whole = view_of(replace(snapshot, nodes=kept) if cut else snapshot)
        if any(map(is_to_come, kept)):
            standing = tuple(node for node in kept if not is_to_come(node))
            view = view_of(replace(snapshot, nodes=standing))
        there = open_to(snapshot.nodes, spot)
        found = offers(there, price_of)
        return cls(snapshot, view, emptied(whole), found, part_offers(there, price_of), cut)

    @property
    def sees_all_pods(self) -> bool:
        """Whether everybody's pods are in it; if not, what is free is a hope."""
        return not self.snapshot.namespace and self.snapshot.gap("pods") is None

    def sees(self, resource: str) -> bool:
        return self.snapshot.gap(resource) is None

    def unseen(self) -> tuple[Unknown, ...]:
        """What could not be seen of the cluster, as far as it would have decided something."""
        return tuple(
            Unknown(_DECIDING[gap.resource], gap.message or f"{gap.resource} {gap.reason}")
            for gap in self.snapshot.gaps
            if gap.resource in _DECIDING and gap.reason != NOT_INSTALLED
        )


def _is_cut(node: Node, resource: str) -> bool:
    """Whether what the node announces under this name are parts of GPUs."""
    announced = node.status.allocatable.get(resource, "0") != "0"
    return announced and part_of(resource, node.metadata.labels) != ""
