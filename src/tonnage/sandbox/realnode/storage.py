"""The default StorageClass on host folders: which volumes are due, decided from what the cluster says. Pure.

A claim of the class waits until the scheduler has chosen a node for its first pod; then it gets a volume
that is a folder of that node, tied to the node, as a local disk would be. When the claim is deleted, folder
and volume go.

    claim, class host-folder, annotated selected-node  ->  PersistentVolume pvc-UID (local, node affinity)
    volume Released                                     ->  both removed

Sizes are not enforced, as with most local-path provisioners: a folder is as large as its disk.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from tonnage.sandbox.realnode.layout import INSIDE

CLASS_NAME = "host-folder"
PROVISIONER = "tonnage.dev/host-folder"
_SELECTED_NODE = "volume.kubernetes.io/selected-node"
_PROVISIONED_BY = "pv.kubernetes.io/provisioned-by"

Object = dict[str, Any]


def storage_class() -> Object:
    """The class, marked as the cluster's default."""
    return {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "StorageClass",
        "metadata": {
            "name": CLASS_NAME,
            "annotations": {"storageclass.kubernetes.io/is-default-class": "true"},
        },
        "provisioner": PROVISIONER,
        "volumeBindingMode": "WaitForFirstConsumer",
        "reclaimPolicy": "Delete",
    }


def volumes_due(
    claims: Iterable[Object], volumes: Iterable[Object], classes: Mapping[str, Object]
) -> list[Object]:
    """A volume for every claim of ours that has a node and no volume yet."""
    present = {volume["metadata"]["name"] for volume in volumes}
    due = []
    for claim in claims:
        name = claim["spec"].get("storageClassName", "")
        is_waiting = not claim["spec"].get("volumeName") and volume_name(claim) not in present
        node = claim["metadata"].get("annotations", {}).get(_SELECTED_NODE)
        if name in classes and is_waiting and node and "deletionTimestamp" not in claim["metadata"]:
            due.append(volume_for(claim, node, classes[name]))
    return due


def volumes_done(volumes: Iterable[Object]) -> list[Object]:
    """Volumes of ours whose claim is gone and whose data may go."""
    return [
        volume
        for volume in volumes
        if is_ours(volume)
        and volume.get("status", {}).get("phase") == "Released"
        and volume["spec"].get("persistentVolumeReclaimPolicy") == "Delete"
        and "deletionTimestamp" not in volume["metadata"]
    ]


def volume_for(claim: Object, node: str, storage_class: Object) -> Object:
    """The volume for a claim on a node: a folder, tied to both."""
    name = volume_name(claim)
    metadata = claim["metadata"]
    here = {"key": "kubernetes.io/hostname", "operator": "In", "values": [node]}
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {"name": name, "annotations": {_PROVISIONED_BY: PROVISIONER}},
        "spec": {
            "capacity": {"storage": claim["spec"]["resources"]["requests"]["storage"]},
            "accessModes": claim["spec"]["accessModes"],
            "volumeMode": "Filesystem",
            "persistentVolumeReclaimPolicy": storage_class.get("reclaimPolicy", "Delete"),
            "storageClassName": claim["spec"]["storageClassName"],
            "local": {"path": str(INSIDE / "volumes" / name)},
            "nodeAffinity": {"required": {"nodeSelectorTerms": [{"matchExpressions": [here]}]}},
            "claimRef": {
                "apiVersion": "v1",
                "kind": "PersistentVolumeClaim",
                "namespace": metadata["namespace"],
                "name": metadata["name"],
                "uid": metadata["uid"],
            },
        },
    }


def volume_name(claim: Object) -> str:
    """One name for one claim, so that making a volume twice makes one."""
    return f"pvc-{claim['metadata']['uid']}"


def node_of(volume: Object) -> str:
    """The node a volume of ours lies on."""
    terms = volume["spec"]["nodeAffinity"]["required"]["nodeSelectorTerms"]
    return str(terms[0]["matchExpressions"][0]["values"][0])


def is_ours(volume: Object) -> bool:
    """Whether this sandbox made the volume."""
    return bool(volume["metadata"].get("annotations", {}).get(_PROVISIONED_BY) == PROVISIONER)
