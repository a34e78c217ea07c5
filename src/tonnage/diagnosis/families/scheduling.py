"""Pods that never ran: nowhere to put them, not allowed, not admitted, rejected by the node, no image, no start."""

from __future__ import annotations

import re

from tonnage.diagnosis.rules import Family, Reading, Sign, Tier, rule, with_code

_LOST_DEVICE = re.compile(r"GPU is lost|fallen off the bus|Unable to determine the device handle|Xid")


def _rejected(read: Reading) -> Sign | None:
    """A node that rejects a pod because a GPU of it is lost says so in the same message."""
    said = read.after(3)
    return with_code(read.sign, "GPU-07", 0.9) if _LOST_DEVICE.search(said) else read.sign


def _unschedulable(read: Reading) -> Sign | None:
    """Only the volume is in the way: a storage problem in the scheduler's words."""
    reasons = re.findall(r"\d+ (?:node\(s\) )?([^,.]+)", read.statement.text.partition("available:")[2])
    on_volume = [each for each in reasons if "volume" in each.lower() or "PersistentVolume" in each]
    return with_code(read.sign, "STO-03", 0.8) if reasons and len(on_volume) == len(reasons) else read.sign


FAMILY = Family(
    rules=(
        rule(
            "SCH-06",
            Tier.OURS,
            0.95,
            r"ErrImagePull",
            r"ImagePullBackOff",
            r"ErrImageNeverPull",
            r"Failed to pull image",
            r"manifest unknown",
            r"pull access denied",
            r"toomanyrequests",
        ),
        rule(
            "SCH-05",
            Tier.CONTROL_PLANE,
            0.95,
            r"UnexpectedAdmissionError",
            r"\bOutOf(?:cpu|memory|pods|ephemeral-storage|[a-z.]+/\w+)\b",
            r"requested number of devices unavailable",
            r"Allocate failed due to",
            r"no healthy devices present",
            r"TopologyAffinityError",
            r"Node didn't have enough resource",
            weigh=_rejected,
        ),
        rule(
            "SCH-02",
            Tier.CONTROL_PLANE,
            0.93,
            r"exceeded quota",
            r"failed quota",
            r"quota metrics exceed",
            r"(?:maximum|minimum) \w+ usage per (?:Pod|Container)",
            r"QuotaExceeded",
            r"Quota '?\S+'? exceeded",
            r"quota limit.*exceed",
            r"exceed\w* (?:\w+ ){0,3}quota",
            r"admission webhook \S+ denied",
            r"violates PodSecurity",
            r"is forbidden: (?!User )",
            r"requested more vCPU capacity than",
            r"ResourceExhausted: 429",
            r"429 .*(?:[Qq]uota|RESOURCE_EXHAUSTED)",
            r"RESOURCE_EXHAUSTED.*[Qq]uota",
            r"VcpuLimitExceeded",
            r"ResourceLimitExceeded",
            r"account-level service limit",
            r"LimitExceeded.*instances?",
        ),
        rule(
            "SCH-03",
            Tier.ROOT,
            0.93,
            r"couldn't assign flavors",
            r"insufficient (?:unused )?quota (?:for|in)",
            r"unavailable in ClusterQueue",
            r"ClusterQueue \S+ (?:is inactive|doesn't exist|not found)",
            r"LocalQueue \S+ (?:doesn't exist|is inactive)",
            r"Workload .*(?:inadmissible|not admitted)",
        ),
        rule(
            "SCH-04",
            Tier.ROOT,
            0.9,
            r"pod ?group is not ready",
            r"tasks? in gang unschedulable",
            r"minAvailable",
            r"gang (?:is )?not ready",
            r"PodsReadyTimeout",
            r"Exceeded the PodsReady timeout",
            r"pod group .*(?:pending|unschedulable)",
        ),
        rule(
            "SCH-01",
            Tier.ROOT,
            0.92,
            r"\d+/\d+ nodes are available",
            r"FailedScheduling",
            r"reason\"?: \"?Unschedulable",
            r"pod didn't trigger scale-up",
            r"ZONE_RESOURCE_POOL_EXHAUSTED",
            r"InsufficientInstanceCapacity",
            weigh=_unschedulable,
        ),
        rule(
            "SCH-07",
            Tier.ROOT,
            0.92,
            r"CreateContainerConfigError",
            r"CreateContainerError",
            r"RunContainerError",
            r"InvalidImageName",
            r"ContainerCannotRun",
            r"StartError",
            r"executable file not found in \$PATH",
            r"OCI runtime create failed",
            r"(?:secret|configmap|Secret|ConfigMap) \"?\S+\"? not found",
            r"couldn't find key \S+ in",
        ),
        rule(
            "SCH-07",
            Tier.EXIT,
            0.7,
            r"exitCode: 12[678]\b",
            r"[Ee]xit [Cc]ode: +12[678]\b",
        ),
    )
)
