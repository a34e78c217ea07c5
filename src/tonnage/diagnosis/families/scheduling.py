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


FAMILY = Family(rules=(
    rule("SCH-06", r"ErrImagePull|ImagePullBackOff|ErrImageNeverPull|Failed to pull image|manifest unknown|"
         r"pull access denied|toomanyrequests", Tier.OURS, 0.95),
    rule("SCH-05", r"UnexpectedAdmissionError|\bOutOf(?:cpu|memory|pods|ephemeral-storage|[a-z.]+/\w+)\b|"
         r"requested number of devices unavailable|no healthy devices present|TopologyAffinityError|"
         r"Node didn't have enough resource", Tier.CONTROL_PLANE, 0.95, weigh=_rejected),
    rule("SCH-02", r"exceeded quota|failed quota|quota metrics exceed|(?:maximum|minimum) \w+ usage per (?:Pod|Container)|"
         r"QuotaExceeded|Quota '?\S+'? exceeded|quota limit.*exceed|exceed\w* (?:\w+ ){0,3}quota|"
         r"admission webhook \S+ denied|violates PodSecurity|is forbidden: |"
         r"ResourceExhausted: 429|429 .*(?:[Qq]uota|RESOURCE_EXHAUSTED)|RESOURCE_EXHAUSTED.*[Qq]uota|"
         r"VcpuLimitExceeded|LimitExceeded.*instances?", Tier.CONTROL_PLANE, 0.93),
    rule("SCH-03", r"couldn't assign flavors|insufficient (?:unused )?quota (?:for|in)|unavailable in ClusterQueue|"
         r"ClusterQueue \S+ (?:is inactive|doesn't exist|not found)|LocalQueue \S+ (?:doesn't exist|is inactive)|"
         r"Workload .*(?:inadmissible|not admitted)", Tier.ROOT, 0.93),
    rule("SCH-04", r"pod ?group is not ready|tasks? in gang unschedulable|minAvailable|gang (?:is )?not ready|"
         r"PodsReadyTimeout|Exceeded the PodsReady timeout|pod group .*(?:pending|unschedulable)",
         Tier.ROOT, 0.9),
    rule("SCH-01", r"\d+/\d+ nodes are available|FailedScheduling|reason\"?: \"?Unschedulable|"
         r"pod didn't trigger scale-up|ZONE_RESOURCE_POOL_EXHAUSTED|InsufficientInstanceCapacity",
         Tier.ROOT, 0.92, weigh=_unschedulable),
    rule("SCH-07", r"CreateContainerConfigError|CreateContainerError|RunContainerError|InvalidImageName|"
         r"ContainerCannotRun|StartError|executable file not found in \$PATH|OCI runtime create failed|"
         r"(?:secret|configmap|Secret|ConfigMap) \"?\S+\"? not found|couldn't find key \S+ in",
         Tier.ROOT, 0.92),
    rule("SCH-07", r"exitCode: 12[678]\b", Tier.EXIT, 0.7),
))  # fmt: skip
