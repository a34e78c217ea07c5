"""What is compared about a pod: its ending in flat fields, as predicted and as read."""

from __future__ import annotations

from collections.abc import Mapping

from conformance.nodes.case import Facts
from tonnage.cluster.ending.terminations import pod_phase, terminal_conditions
from tonnage.cluster.messages.disruption import DISRUPTION_TARGET
from tonnage.cluster.objects import ContainerStatus, Pod
from tonnage.cluster.objects.pod import ContainerState, TerminatedState

_JUDGED = ("Ready", "ContainersReady", "Initialized")


def predicted_ending(
    pod: Pod, ends: Mapping[str, TerminatedState], *, restarts: Mapping[str, int] | None = None
) -> Facts:
    """How the pod ends when its containers end like this, by our rules."""
    statuses = [
        ContainerStatus(
            name=name, state=ContainerState(terminated=end), restart_count=(restarts or {}).get(name, 0)
        )
        for name, end in ends.items()
    ]
    phase = pod_phase(pod, statuses)
    facts: Facts = {"phase": phase, "reason": "", "message": "", DISRUPTION_TARGET: None}
    facts |= {s.name: _ending(s) for s in statuses}
    if phase in {"Succeeded", "Failed"}:
        facts |= {c.type: f"{c.status} {c.reason}" for c in terminal_conditions(phase)}
    return facts


def read_ending(pod: Pod, like: Facts) -> Facts:
    """The same fields, as the cluster shows them; condition fields only where predicted."""
    facts: Facts = {"phase": pod.status.phase, "reason": pod.status.reason, "message": pod.status.message}
    facts[DISRUPTION_TARGET] = disruption(pod)
    facts |= {s.name: _ending(s) for s in pod.status.container_statuses if s.name in like}
    facts |= {s.name: _ending(s) for s in pod.status.init_container_statuses if s.name in like}
    facts |= {
        c.type: f"{c.status} {c.reason}"
        for c in pod.status.conditions
        if c.type in _JUDGED and c.type in like
    }
    return facts


def disruption(pod: Pod) -> str | None:
    """Reason and text of the DisruptionTarget condition."""
    for condition in pod.status.conditions:
        if condition.type == DISRUPTION_TARGET:
            return f"{condition.reason}: {condition.message}"
    return None


def _ending(status: ContainerStatus) -> str:
    state = status.state.terminated
    if state is None:
        waiting = status.state.waiting
        return f"waiting {waiting.reason}" if waiting else "running"
    return f"{state.reason} {state.exit_code}, restarts {status.restart_count}"
