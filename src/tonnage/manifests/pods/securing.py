"""What a pod may do on its node, and what the namespace's security level says to that.

Training needs no privileges: no capability but IPC_LOCK where memory is registered with an RDMA card, the
runtime's own system-call filter, no token of the API server. Whether the program runs as root is left to the image,
unless the namespace is restricted. A pod that the namespace would refuse is refused here: its Job would be accepted
and then make no pod for ever.
"""

from __future__ import annotations

from typing import Any

from tonnage.manifests.codes import POD_SECURITY, refuse
from tonnage.manifests.request import RenderRequest

_RESTRICTED_VOLUMES = {
    "configMap", "csi", "downwardAPI", "emptyDir", "ephemeral", "persistentVolumeClaim", "projected", "secret",
    "name",
}  # fmt: skip


def secure(pod: dict[str, Any], request: RenderRequest, *, locks_memory: bool) -> None:
    """Lay the security context over a pod and all its containers."""
    context: dict[str, Any] = {"seccompProfile": {"type": "RuntimeDefault"}}
    if request.facts.pod_security == "restricted":
        context["runAsNonRoot"] = True
    pod["securityContext"] = context
    for container in (*pod.get("initContainers", ()), *pod["containers"]):
        capabilities: dict[str, list[str]] = {"drop": ["ALL"]}
        if locks_memory and container in pod["containers"]:
            capabilities["add"] = ["IPC_LOCK"]
        container["securityContext"] = {"allowPrivilegeEscalation": False, "capabilities": capabilities}
    if not request.run.spec.service_account:
        pod["automountServiceAccountToken"] = False


def refuse_if_forbidden(pod: dict[str, Any], level: str) -> None:
    """Refuse what the namespace's level forbids, in the words of the document."""
    found = _against_baseline(pod) if level in ("baseline", "restricted") else []
    if level == "restricted":
        found += _against_restricted(pod)
    if found:
        raise refuse(
            POD_SECURITY,
            f"the namespace enforces Pod Security level {level}, and no pod of this run would be made",
            found="; ".join(found),
            hint="change the document, or run in a namespace with another level",
        )


def _against_baseline(pod: dict[str, Any]) -> list[str]:
    found = ["network.hostNetwork"] if pod.get("hostNetwork") else []
    found += [f"hostPath {volume['hostPath']['path']}" for volume in pod["volumes"] if "hostPath" in volume]
    locking = any(
        "IPC_LOCK" in container.get("securityContext", {}).get("capabilities", {}).get("add", ())
        for container in pod["containers"]
    )
    return found + (["capability IPC_LOCK, which RDMA needs (network.rdma)"] if locking else [])


def _against_restricted(pod: dict[str, Any]) -> list[str]:
    return [
        f"volume {volume['name']} of type {kind}"
        for volume in pod["volumes"]
        for kind in volume
        if kind not in _RESTRICTED_VOLUMES and kind != "hostPath"
    ]
