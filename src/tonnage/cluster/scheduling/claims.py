"""Claims as the scheduler reads them: which a pod uses, of which class, bound or not, and what could
satisfy one.
"""

from __future__ import annotations

from collections.abc import Iterable

from tonnage.cluster.objects import PersistentVolume, PersistentVolumeClaim, Pod
from tonnage.cluster.scheduling.selecting import Labels, selector_of, selects_node
from tonnage.units import ZERO, Quantity, parse_quantity

BIND_COMPLETED = "pv.kubernetes.io/bind-completed"
SELECTED_NODE = "volume.kubernetes.io/selected-node"
CLASS_ANNOTATION = "volume.beta.kubernetes.io/storage-class"


def claim_names(pod: Pod, *, ephemeral: bool = True) -> list[tuple[str, bool]]:
    """The claims a pod mounts, each with whether it is made for this pod alone (`<pod>-<volume>`)."""
    names: list[tuple[str, bool]] = []
    for volume in pod.spec.volumes:
        if volume.persistent_volume_claim is not None:
            names.append((volume.persistent_volume_claim.claim_name, False))
        elif volume.ephemeral is not None and ephemeral:
            names.append((f"{pod.metadata.name}-{volume.name}", True))
    return names


def claim_class(claim: PersistentVolumeClaim) -> str:
    annotated = claim.metadata.annotations.get(CLASS_ANNOTATION)
    return annotated if annotated is not None else claim.spec.storage_class_name or ""


def volume_class(volume: PersistentVolume) -> str:
    annotated = volume.metadata.annotations.get(CLASS_ANNOTATION)
    return annotated if annotated is not None else volume.spec.storage_class_name


def is_bound(claim: PersistentVolumeClaim) -> bool:
    return bool(claim.spec.volume_name) and BIND_COMPLETED in claim.metadata.annotations


def is_made_for(pod: Pod, claim: PersistentVolumeClaim) -> bool:
    """Whether a generic ephemeral claim really is this pod's and not one that happens to have its name."""
    return any(
        owner.controller and owner.uid == pod.metadata.uid for owner in claim.metadata.owner_references
    )


def claim_size(claim: PersistentVolumeClaim) -> Quantity:
    return _storage(claim.spec.resources.requests)


def reachable(volume: PersistentVolume, labels: Labels) -> bool:
    """Whether nodes with these labels can mount the volume."""
    affinity = volume.spec.node_affinity
    return affinity is None or affinity.required is None or selects_node(affinity.required, labels, "")


def matching_volume(
    claim: PersistentVolumeClaim, volumes: Iterable[PersistentVolume], labels: Labels, taken: set[str]
) -> PersistentVolume | None:
    """The smallest free volume that would do on a node with these labels, or the one reserved."""
    best: PersistentVolume | None = None
    for volume in volumes:
        reserved = _is_reserved_for(volume, claim)
        if volume.metadata.name in taken or (volume.spec.claim_ref is not None and not reserved):
            continue
        if not _could_hold(volume, claim) or volume.metadata.deletion_timestamp is not None:
            continue
        if reserved:
            return volume if reachable(volume, labels) else None
        if not _is_offered(volume, claim) or not reachable(volume, labels):
            continue
        if best is None or _storage(volume.spec.capacity) < _storage(best.spec.capacity):
            best = volume
    return best


def not_found(kind: str, name: str) -> str:
    return f'{kind} "{name}" not found'


def _is_reserved_for(volume: PersistentVolume, claim: PersistentVolumeClaim) -> bool:
    ref = volume.spec.claim_ref
    if ref is None:
        return False
    same = (ref.namespace, ref.name) == (claim.metadata.namespace, claim.metadata.name)
    return same and (not ref.uid or ref.uid == claim.metadata.uid)


def _could_hold(volume: PersistentVolume, claim: PersistentVolumeClaim) -> bool:
    mode, wanted_mode = volume.spec.volume_mode or "Filesystem", claim.spec.volume_mode or "Filesystem"
    attributes = volume.spec.volume_attributes_class_name or ""
    wanted_attributes = claim.spec.volume_attributes_class_name or ""
    big_enough = _storage(volume.spec.capacity) >= claim_size(claim)
    return big_enough and mode == wanted_mode and attributes == wanted_attributes


def _is_offered(volume: PersistentVolume, claim: PersistentVolumeClaim) -> bool:
    selector = claim.spec.selector
    return (
        volume.status.phase == "Available"
        and (selector is None or selector_of(selector).matches(volume.metadata.labels))
        and volume_class(volume) == claim_class(claim)
        and set(claim.spec.access_modes) <= set(volume.spec.access_modes)
    )


def _storage(amounts: dict[str, str]) -> Quantity:
    return parse_quantity(amounts["storage"]) if "storage" in amounts else ZERO
