"""The scheduler's words, exactly: what it says about a node, and which plugin says it.

People search for these sentences and alerts match on them, so they are written down once. Two of them
changed over time; `OLD_...` are the forms of older clusters (taints up to 1.34, volume affinity up to
1.32).
"""

from __future__ import annotations

import re

NO_NODES = "no nodes available to schedule pods"
GATED = "Scheduling is blocked due to non-empty scheduling gates"

UNSCHEDULABLE = "node(s) were unschedulable"
OTHER_NODE_NAME = "node(s) didn't match the requested node name"
UNTOLERATED_TAINT = "node(s) had untolerated taint(s)"
NODE_AFFINITY = "node(s) didn't match Pod's node affinity/selector"
AFFINITY_CONFLICT = "pod affinity terms conflict"
PORTS_TAKEN = "node(s) didn't have free ports for the requested pod ports"
TOO_MANY_PODS = "Too many pods"
INSUFFICIENT = "Insufficient "
DISK_TAKEN = "node(s) had no available disk"
CLAIM_IN_USE = (
    "node(s) unavailable due to PersistentVolumeClaim with ReadWriteOncePod access mode "
    "already in-use by another pod"
)
TOO_MANY_VOLUMES = "node(s) exceed max volume count"
NO_VOLUME_TO_BIND = "node(s) didn't find available persistent volumes to bind"
VOLUME_ELSEWHERE = "node(s) didn't match PersistentVolume's node affinity"
NOT_ENOUGH_STORAGE = "node(s) did not have enough free storage"
VOLUME_GONE = "node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)"
UNBOUND_IMMEDIATE = "pod has unbound immediate PersistentVolumeClaims"
VOLUME_ZONE = "node(s) had no available volume zone"
SPREAD = "node(s) didn't match pod topology spread constraints"
SPREAD_LABEL_MISSING = SPREAD + " (missing required label)"
POD_AFFINITY = "node(s) didn't match pod affinity rules"
POD_ANTI_AFFINITY = "node(s) didn't match pod anti-affinity rules"
OTHERS_ANTI_AFFINITY = "node(s) didn't satisfy existing pods anti-affinity rules"
NO_VICTIMS = "No preemption victims found for incoming pod"
PREEMPTION_NO_HELP = "Preemption is not helpful for scheduling"
NEVER_PREEMPTS = "not eligible due to preemptionPolicy=Never."
VICTIMS_STILL_LEAVING = "not eligible due to a terminating pod on the nominated node."

DRIVER_MISSING = " CSI driver is not installed on the node"
OLD_VOLUME_ELSEWHERE = "node(s) had volume node affinity conflict"
OLD_UNTOLERATED_TAINT = re.compile(
    r"^node\(s\) had (?:untolerated )?taint \{(?P<key>[^:{}]*): ?(?P<value>[^{}]*)\}"
    r"(?:, that the pod didn't tolerate)?$"
)

PLUGIN_OF: dict[str, str] = {
    UNSCHEDULABLE: "NodeUnschedulable",
    OTHER_NODE_NAME: "NodeName",
    UNTOLERATED_TAINT: "TaintToleration",
    NODE_AFFINITY: "NodeAffinity",
    AFFINITY_CONFLICT: "NodeAffinity",
    PORTS_TAKEN: "NodePorts",
    TOO_MANY_PODS: "NodeResourcesFit",
    DISK_TAKEN: "VolumeRestrictions",
    CLAIM_IN_USE: "VolumeRestrictions",
    TOO_MANY_VOLUMES: "NodeVolumeLimits",
    NO_VOLUME_TO_BIND: "VolumeBinding",
    VOLUME_ELSEWHERE: "VolumeBinding",
    OLD_VOLUME_ELSEWHERE: "VolumeBinding",
    NOT_ENOUGH_STORAGE: "VolumeBinding",
    VOLUME_GONE: "VolumeBinding",
    UNBOUND_IMMEDIATE: "VolumeBinding",
    VOLUME_ZONE: "VolumeZone",
    SPREAD: "PodTopologySpread",
    SPREAD_LABEL_MISSING: "PodTopologySpread",
    POD_AFFINITY: "InterPodAffinity",
    POD_ANTI_AFFINITY: "InterPodAffinity",
    OTHERS_ANTI_AFFINITY: "InterPodAffinity",
    "node(s) didn't match scheduler-enforced node affinity": "NodeAffinity",
    "node(s) didn't match node selector": "NodeAffinity",  # up to 1.20
    "node(s) didn't match Pod's node affinity": "NodeAffinity",  # 1.20 and 1.21
    "node(s) didn't match pod affinity/anti-affinity rules": "InterPodAffinity",  # up to 1.21
    "cannot allocate all claims": "DynamicResources",
    "resourceclaim not available on the node": "DynamicResources",
    "resourceclaim in use": "DynamicResources",
    "cannot schedule extended resource claim": "DynamicResources",
    "cannot fit resource": "DynamicResources",
    "node(s) didn't match Pod's required features": "NodeDeclaredFeatures",
    NO_VICTIMS: "DefaultPreemption",
    PREEMPTION_NO_HELP: "DefaultPreemption",
}
_PLUGIN_OF_PATTERN = (
    # A claim that is missing is missed first by the plugin that asks who else uses it.
    (re.compile(r'persistentvolumeclaim "[^"]+" not found'), "VolumeRestrictions"),
    (
        re.compile(r'persistentvolumeclaim "[^"]+" (is being deleted|bound to non-existent .*)'),
        "VolumeBinding",
    ),
    (re.compile(r"resource claim \S+ is in the process of being allocated"), "DynamicResources"),
    (re.compile(r"request \S+: device class \S+ does not exist"), "DynamicResources"),
)
_NARROWED = re.compile(
    r"^node\(s\) didn't satisfy plugin(?:\(s\))? \[?(?P<names>[A-Za-z ]+?)\]?(?: simultaneously)?$"
)


def plugin_of(reason: str) -> str | None:
    """The plugin that says this about a node; None for words we do not know."""
    if reason in PLUGIN_OF:
        return PLUGIN_OF[reason]
    if reason.startswith(INSUFFICIENT):
        return "NodeResourcesFit"
    if OLD_UNTOLERATED_TAINT.match(reason):
        return "TaintToleration"
    if reason.endswith(DRIVER_MISSING):
        return "NodeVolumeLimits"
    for pattern, plugin in _PLUGIN_OF_PATTERN:
        if pattern.fullmatch(reason):
            return plugin
    narrowed = _NARROWED.match(reason)
    return narrowed["names"].split()[0] if narrowed else None


def taint_in(reason: str) -> tuple[str, str] | None:
    """The taint that older schedulers name (key, value); newer ones leave it to us to find out."""
    found = OLD_UNTOLERATED_TAINT.match(reason)
    return (found["key"], found["value"]) if found else None


def narrowed_away(plugins: tuple[str, ...]) -> str:
    """What nodes are told that a plugin ruled out by name, without looking at them."""
    return f"node(s) didn't satisfy plugin(s) [{' '.join(sorted(plugins))}]"
