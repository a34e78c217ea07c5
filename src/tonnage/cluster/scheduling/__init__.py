"""The rules kube-scheduler plays by, as pure functions of a cluster view: filters, scores, preemption.

    view = view_of(snapshot)
    decision = schedule(pod, view)      # Scheduled | Unschedulable | Gated

Every rule was read in Kubernetes 1.36's source and is compared with the real kube-scheduler by
`python -m conformance scheduling`.
"""

from tonnage.cluster.scheduling.deciding import (
    Decision,
    Gated,
    Scheduled,
    Unschedulable,
    best_nodes,
    feasible_nodes,
    schedule,
    unmodelled,
)
from tonnage.cluster.scheduling.facts import PodFacts, facts_of
from tonnage.cluster.scheduling.preempting import Choice, NoCandidate, NotEligible, Preempts
from tonnage.cluster.scheduling.refusing import Refusal, Stopped
from tonnage.cluster.scheduling.view import ClusterView, NodeInfo, Owners, Storage, view_of

__all__ = [
    "Choice", "ClusterView", "Decision", "Gated", "NoCandidate", "NodeInfo", "NotEligible", "Owners",
    "PodFacts", "Preempts", "Refusal", "Scheduled", "Stopped", "Storage", "Unschedulable",
    "best_nodes", "facts_of", "feasible_nodes", "schedule", "unmodelled", "view_of",
]  # fmt: skip
