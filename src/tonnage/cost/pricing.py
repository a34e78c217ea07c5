"""The price of a node: what somebody said, else what its labels say a cloud asks for it, else none.

A Cluster document's price travels with the node as an annotation. Without one, the machine's name, the region
and whether the node can be taken back are read from the labels every cloud sets, and looked up in the dated
table. A name that is not in the table has no price here: GPU-hours are then all that can be said, and a wrong
dollar figure is worse than none.
"""

from __future__ import annotations

from collections.abc import Mapping

from tonnage.cluster.objects import Node
from tonnage.cost.price import Price, parse_price
from tonnage.cost.table import CLOUD_NAMES, Listing, is_old, listings

PRICE_ANNOTATION = "tonnage.dev/price"
INSTANCE_LABELS = ("node.kubernetes.io/instance-type", "beta.kubernetes.io/instance-type")
REGION_LABELS = ("topology.kubernetes.io/region", "failure-domain.beta.kubernetes.io/region")
POOL_LABEL = "tonnage.dev/pool"
SPOT_LABELS = (
    ("karpenter.sh/capacity-type", "spot"),
    ("eks.amazonaws.com/capacityType", "SPOT"),
    ("cloud.google.com/gke-spot", "true"),
    ("cloud.google.com/gke-preemptible", "true"),
    ("kubernetes.azure.com/scalesetpriority", "spot"),
)
"""Label and value that say "spot" on Karpenter, EKS, GKE and AKS."""
_NOWHERE = "zone"
"""The region of nodes from a Cluster document that names no zones: they are put into `zone-a`."""
_US = ("us-", "us_", "us1", "eastus", "westus", "centralus", "southcentralus", "northcentralus")


def price_of_node(node: Node, declared: Mapping[str, Price] | None = None) -> Price | None:
    """What the node costs by the hour; `declared` holds prices by pool, where a document gives them apart."""
    said = node.metadata.annotations.get(PRICE_ANNOTATION)
    if said is not None and (price := parse_price(said, origin="Cluster document")) is not None:
        return price
    pool = node.metadata.labels.get(POOL_LABEL, "")
    if declared and pool in declared:
        return declared[pool]
    machine = machine_of(node)
    listing = listings().get(machine.lower()) if machine else None
    return None if listing is None else _listed(listing, node)


def why_no_price(node: Node) -> str:
    """Why a node has no price, in words."""
    machine = machine_of(node)
    if not machine:
        return "no price in a Cluster document, and the node does not say which machine it is"
    return f"no price in a Cluster document, and {machine} is not in the built-in table"


def machine_of(node: Node) -> str:
    """The cloud's name of the machine, where a label says it."""
    labels = node.metadata.labels
    return next((labels[name] for name in INSTANCE_LABELS if labels.get(name)), "")


def is_spot(node: Node) -> bool:
    """Whether the cloud may take the node back."""
    labels = node.metadata.labels
    return any(labels.get(name, "").lower() == value.lower() for name, value in SPOT_LABELS)


def region_of(node: Node) -> str:
    """Where the node stands, where a label says it."""
    labels = node.metadata.labels
    region = next((labels[name] for name in REGION_LABELS if labels.get(name)), "")
    return "" if region == _NOWHERE else region


def _listed(listing: Listing, node: Node) -> Price:
    spot = is_spot(node) and listing.spot_low is not None and listing.spot_high is not None
    low, high = listing.on_demand, listing.on_demand
    if spot and listing.spot_low is not None and listing.spot_high is not None:
        low, high = listing.spot_low, listing.spot_high
    return Price(
        low=low,
        high=high,
        origin=f"{CLOUD_NAMES[listing.cloud]} {'spot' if spot else 'list'} price of {listing.machine}",
        as_of=listing.as_of,
        note=_note(listing, node, is_priced_as_spot=spot),
    )


def _note(listing: Listing, node: Node, *, is_priced_as_spot: bool) -> str:
    notes = []
    region = region_of(node)
    if region and not region.lower().startswith(_US):
        notes.append(f"US price; the node is in {region}")
    if is_spot(node) and not is_priced_as_spot:
        notes.append("on-demand price; no spot price is known")
    if is_old(listing):
        notes.append("no longer updated")
    return "; ".join(notes)
