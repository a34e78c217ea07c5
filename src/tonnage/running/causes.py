"""Which retry budget a finding uses: classes of failure are many, causes a document can budget for are eleven."""

from __future__ import annotations

import re
from collections.abc import Mapping

from tonnage.diagnosis.evidence import Evidence
from tonnage.diagnosis.finding import Finding
from tonnage.running.attempts import Cause
from tonnage_agent.contract import EXIT_BUDGET, EXIT_DEADLINE

_OF_CLASS: Mapping[str, Cause] = {
    "MEM-01": "host_oom",
    "MEM-02": "eviction",  # the node ran short: another node, not more memory
    "MEM-03": "eviction",
    "MEM-04": "host_oom",
    "MEM-05": "host_oom",
    "MEM-06": "host_oom",
    "MEM-07": "host_oom",
    "MEM-08": "host_oom",
    "MEM-09": "code",
    "MEM-10": "host_oom",
    "MEM-11": "host_oom",
    "MEM-12": "host_oom",
    "GPU-01b": "node",  # somebody else is on that GPU
    "GPU-02": "gpu_oom",
    "GPU-03": "gpu_oom",
    "GPU-04": "code",
    "GPU-05": "gpu_oom",
    "GPU-06": "node",
    "GPU-07": "node",
    "GPU-08": "node",
    "GPU-09": "code",
    "STO-01": "storage",
    "SCH-02": "code",
    "SCH-05": "node",
    "SCH-06": "network",
    "SCH-07": "code",
    "PRE-01": "preemption",
    "PRE-02": "preemption",
    "PRE-03": "eviction",
    "PRE-04": "node",
    "PRE-05": "node",
    "PRE-06": "preemption",
    "PRB-01": "code",
    "APP-01": "code",
    "APP-02": "code",
    "APP-03": "unknown",
    "APP-04": "code",
    "APP-05": "hang",
}
_OF_FAMILY: Mapping[str, Cause] = {"GPU-01": "gpu_oom", "NET": "network", "STO": "storage"}
_SPOT = re.compile(r"[Ss]pot|[Pp]reempt|reclaim|imminent", re.ASCII)
_NO_SUCH_IMAGE = re.compile(r"manifest unknown|not found|denied|[Uu]nauthorized|InvalidImage")
_OURS: Mapping[str, Cause] = {
    "deadline": "deadline",
    "budget": "budget",
    "hang": "hang",
    "forecast": "forecast",
    "stopped": "stopped",
    "suspended": "stopped",
}
_ASKED = re.compile(r"tr(?:ied|ying) to allocate (\d+) bytes")
_HOPELESS = 4
"""An allocation so many times the pod's memory is a mistake in the program, not a pod that is too small."""


def cause_of(finding: Finding, evidence: Evidence) -> Cause:
    """The cause whose budget this finding uses."""
    if evidence.stopped_by_us:
        return _OURS.get(evidence.stopped_by_us, "stopped")
    for of_code in (_deadline_or_budget, _spot_or_drain, _one_allocation, _image, _own_disk):
        if (cause := of_code(finding, evidence)) is not None:
            return cause
    if finding.code in _OF_CLASS:
        return _OF_CLASS[finding.code]
    family = next((cause for prefix, cause in _OF_FAMILY.items() if finding.code.startswith(prefix)), None)
    return family or "unknown"


def _deadline_or_budget(finding: Finding, evidence: Evidence) -> Cause | None:
    if finding.code != "PRE-07":
        return None
    said = {str(record.get("cause", "")) for record in evidence.records.values()}
    text = "\n".join(line.text for line in finding.evidence)
    if "budget" in said or f"exitCode: {EXIT_BUDGET}" in text:
        return "budget"
    is_deadline = "deadline" in said or "eadline" in text or f"exitCode: {EXIT_DEADLINE}" in text
    return "deadline" if is_deadline else "unknown"


def _spot_or_drain(finding: Finding, evidence: Evidence) -> Cause | None:
    """A node that the cloud takes back is spot's, however it was said: drained, tainted, shut down or just gone."""
    if finding.code not in ("PRE-03", "PRE-04", "PRE-05"):
        return None
    node = next((pod.node for pod in evidence.pods if pod.index == finding.node), "")
    if evidence.node_is_spot.get(node, False):
        return "spot"
    is_told = finding.code == "PRE-05" and any(_SPOT.search(line.text) for line in finding.evidence)
    is_known_not = node in evidence.node_is_spot
    return "spot" if is_told and not is_known_not else None


def _one_allocation(finding: Finding, evidence: Evidence) -> Cause | None:
    if finding.code != "MEM-04":
        return None
    asked = max(
        (int(found[1]) for line in finding.evidence for found in _ASKED.finditer(line.text)), default=0
    )
    limit = max((pod.memory_limit or 0 for pod in evidence.pods), default=0)
    return "code" if limit and asked > _HOPELESS * limit else None


def _image(finding: Finding, evidence: Evidence) -> Cause | None:
    del evidence
    if finding.code != "SCH-06":
        return None
    return "code" if any(_NO_SUCH_IMAGE.search(line.text) for line in finding.evidence) else None


def _own_disk(finding: Finding, evidence: Evidence) -> Cause | None:
    """Evicted because the node's disk ran short, not over a limit of its own."""
    del evidence
    if finding.code != "STO-01":
        return None
    is_node = any("node was low" in line.text or "DiskPressure" in line.text for line in finding.evidence)
    return "eviction" if is_node else None
