"""Where pods would rather be: close to each other, and left alone once they run.

What must hold (GPU type, spot, taints) is in the planned template. Here is what should: ranks of one gang in one
zone, block or rack, as far as the nodes say where they stand; by Kueue's own placement where the queue can do it.
"""

from __future__ import annotations

from typing import Any

from tonnage.manifests.naming import selector_of
from tonnage.manifests.request import RenderRequest

TOPOLOGY = "kueue.x-k8s.io/podset-preferred-topology"
_LEAST, _MOST = 50, 100


def keep_together(pod: dict[str, Any], request: RenderRequest) -> None:
    """Prefer the same zone, then the same block and rack, for the pods of a gang."""
    near = request.facts.near
    if request.planned.nodes == 1 or not near:
        return
    step = (_MOST - _LEAST) // max(1, len(near) - 1) if len(near) > 1 else 0
    preferred = [
        {
            "weight": min(_MOST, _LEAST + index * step) if len(near) > 1 else _MOST,
            "podAffinityTerm": {
                "topologyKey": key,
                "labelSelector": {"matchLabels": selector_of(request)},
            },
        }
        for index, key in enumerate(near)
    ]
    affinity = pod.get("affinity") or {}
    affinity["podAffinity"] = {"preferredDuringSchedulingIgnoredDuringExecution": preferred}
    pod["affinity"] = affinity


def pod_annotations(request: RenderRequest) -> dict[str, str]:
    """What cluster autoscalers, Kueue and service meshes are told about the pods."""
    found = {"linkerd.io/inject": "disabled"}
    if request.run.spec.spot.use != "only":  # spot nodes come and go; all others are left alone while it runs
        found |= {
            "karpenter.sh/do-not-disrupt": "true",
            "cluster-autoscaler.kubernetes.io/safe-to-evict": "false",
        }
    if request.facts.queue and request.facts.queue_topology and request.planned.nodes > 1:
        found[TOPOLOGY] = request.facts.queue_topology
    return found
