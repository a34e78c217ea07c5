"""Objects of a saved cluster, made fit to be created in another one. Pure: values in, values out.

What one cluster gave an object (uid, versions, field owners) has no meaning in the next and is dropped. What
decides about scheduling stays: labels, taints, requests, priorities, affinities, claims, and the status of
pods that run or ended. Owners are kept where the owner is recreated too, under its new uid. Objects must also
stand still: nothing here may be restarted, adopted or expired by a controller that wakes up and finds it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from tonnage.sandbox.kwok import NOT_READY

Object = dict[str, Any]

KEEP_STILL = "tonnage.dev/twin"
"""Marks twins: KWOK's stages leave such pods as they are, and the job controller leaves such Jobs alone."""
_KWOK = {"kwok.x-k8s.io/node": "fake"}
_KEPT_METADATA = ("name", "namespace", "labels", "annotations")
_LIFECYCLE_TAINTS = "node.kubernetes.io/"
_POD_SECURITY = "pod-security.kubernetes.io/"
_SYSTEM_CLASSES = ("system-cluster-critical", "system-node-critical")


def stripped(item: Object, api_version: str, kind: str) -> Object:
    """The object without what its old cluster gave it."""
    metadata = {
        key: value for key, value in item.get("metadata", {}).items() if key in _KEPT_METADATA and value
    }
    kept = {key: value for key, value in item.items() if key not in ("metadata", "apiVersion", "kind")}
    return {"apiVersion": api_version, "kind": kind, "metadata": metadata, **kept}


def owned(item: Object, original: Object, new_uids: Mapping[str, str]) -> Object:
    """The object with those owners that exist again, under their new uids."""
    owners = [
        {**owner, "uid": new_uids[owner["uid"]]}
        for owner in original.get("metadata", {}).get("ownerReferences") or ()
        if owner.get("uid") in new_uids
    ]
    return {**item, "metadata": {**item["metadata"], "ownerReferences": owners}} if owners else item


def namespace(item: Object) -> Object:
    """A namespace that admits every pod for now; see `guarded_labels`."""
    labels = {k: v for k, v in item["metadata"].get("labels", {}).items() if not k.startswith(_POD_SECURITY)}
    return {
        "apiVersion": "v1",
        "kind": "Namespace",
        "metadata": {**item["metadata"], "labels": labels},
    }


def guarded_labels(item: Object) -> dict[str, str]:
    """Labels to add once the pods are in: they were admitted under older rules."""
    labels = item["metadata"].get("labels", {})
    return {key: value for key, value in labels.items() if key.startswith(_POD_SECURITY)}


def node(item: Object) -> Object:
    """A node for KWOK to keep alive; one that was not ready stays so."""
    annotations = {**item["metadata"].get("annotations", {}), **_KWOK}
    if not is_ready(item):
        annotations[NOT_READY] = "true"
    spec = dict(item.get("spec", {}))
    # Controllers put these on from the conditions and `unschedulable`, and take them off again.
    spec["taints"] = [
        taint for taint in spec.get("taints") or () if not taint["key"].startswith(_LIFECYCLE_TAINTS)
    ]
    spec.pop("configSource", None)
    status = {
        key: value
        for key, value in item.get("status", {}).items()
        if key not in ("config", "volumesAttached")
    }
    return {
        **item,
        "metadata": {**item["metadata"], "annotations": annotations},
        "spec": spec,
        "status": status,
    }


def is_ready(item: Object) -> bool:
    """Whether a node says that it is ready."""
    conditions = item.get("status", {}).get("conditions") or ()
    return any(c["type"] == "Ready" and c["status"] == "True" for c in conditions)


def pod(item: Object) -> Object:
    """A pod that KWOK leaves alone."""
    annotations = {
        key: value
        for key, value in item["metadata"].get("annotations", {}).items()
        if not key.startswith("kubernetes.io/config.")
    }
    spec = {key: value for key, value in item["spec"].items() if key != "ephemeralContainers"}
    if spec.get("nodeName"):
        # A gated pod cannot have been bound; whatever removed the gate removed the list too.
        spec.pop("schedulingGates", None)
        annotations[KEEP_STILL] = "true"
    metadata = {**item["metadata"], "annotations": annotations}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}


def job(item: Object) -> Object:
    """A Job nobody works on: its pods are twins too."""
    spec = {key: value for key, value in item["spec"].items() if key != "ttlSecondsAfterFinished"}
    spec |= {"manualSelector": True, "managedBy": KEEP_STILL}
    return {**{k: v for k, v in item.items() if k != "status"}, "spec": spec}


def volume(item: Object, new_uids: Mapping[str, str]) -> Object:
    """A persistent volume bound to the claim of the same name, whose uid is new."""
    spec = dict(item["spec"])
    if claim := spec.get("claimRef"):
        kept = {key: claim[key] for key in ("apiVersion", "kind", "namespace", "name") if key in claim}
        uid = new_uids.get(claim.get("uid", ""))
        spec["claimRef"] = {**kept, "uid": uid} if uid else kept
    return {**item, "spec": spec}


def service(item: Object) -> Object:
    """A service with an address of its own in the new cluster."""
    spec = {
        key: value
        for key, value in item.get("spec", {}).items()
        if key not in ("clusterIP", "clusterIPs", "healthCheckNodePort", "ipFamilies", "ipFamilyPolicy")
    }
    if item.get("spec", {}).get("clusterIP") == "None":
        spec["clusterIP"] = "None"
    spec["ports"] = [
        {key: value for key, value in port.items() if key != "nodePort"} for port in spec.get("ports") or ()
    ]
    return {**{k: v for k, v in item.items() if k != "status"}, "spec": spec}


def missing_priority_classes(pods: Iterable[Object], known: Iterable[str]) -> list[Object]:
    """Classes that pods still name but that were deleted: a pod keeps its priority without them."""
    found: dict[str, Object] = {}
    present = {*known, *_SYSTEM_CLASSES}
    for item in pods:
        spec = item.get("spec", {})
        name = spec.get("priorityClassName")
        if name and name not in present and name not in found:
            found[name] = {
                "apiVersion": "scheduling.k8s.io/v1",
                "kind": "PriorityClass",
                "metadata": {"name": name},
                "value": spec.get("priority", 0),
                "preemptionPolicy": spec.get("preemptionPolicy", "PreemptLowerPriority"),
            }
    return list(found.values())


def runtime_classes(pods: Iterable[Object]) -> list[Object]:
    """The runtime classes that pods name, with the overhead those pods were given."""
    found: dict[str, Object] = {}
    for item in pods:
        spec = item.get("spec", {})
        if name := spec.get("runtimeClassName"):
            found[name] = {
                "apiVersion": "node.k8s.io/v1",
                "kind": "RuntimeClass",
                "metadata": {"name": name},
                "handler": "simulated",
                **({"overhead": {"podFixed": spec["overhead"]}} if spec.get("overhead") else {}),
            }
    return list(found.values())


def service_accounts(pods: Iterable[Object]) -> list[Object]:
    """The service accounts that pods run as; a pod is refused without its own."""
    pairs = {
        (
            item["metadata"].get("namespace", "default"),
            item.get("spec", {}).get("serviceAccountName") or "default",
        )
        for item in pods
    }
    return [
        {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": name, "namespace": space}}
        for space, name in sorted(pairs)
    ]
