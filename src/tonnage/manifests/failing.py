"""What Kubernetes itself does when a pod fails, told by exit codes and conditions: all it can see.

A supervisor retries by cause, with a remedy; a Job that retried too would repeat the same death at the same size.
So every exit ends the Job, with a rule that says which kind of exit it was, and only what is nobody's fault is left
to Kubernetes:

    disruption (preemption, eviction, drain, lost node)   a single pod is replaced; a gang is ended, since the
                                                          others would wait for the lost rank until they time out
    a pod its node refused before it ran                  replaced, a few times: nothing has run, nothing is lost

Without a supervisor this is all that happens: single pods come back after disruptions, gangs where their target can
restart them whole (JobSet), and nothing comes back after a failure of its own.
"""

from __future__ import annotations

import math
from typing import Any

from tonnage.manifests.pods.environment import grace_seconds, seconds_left
from tonnage.manifests.request import RenderRequest
from tonnage.planning.workload.template import whole_seconds
from tonnage_agent import contract

NEVER_RAN = 3
"""Pods that may be refused by their node before the Job is given up."""
AGENT_EXITS = (contract.EXIT_PREFLIGHT, contract.EXIT_DEADLINE, contract.EXIT_BUDGET, contract.EXIT_AGENT)
PROGRAM_EXITS = (1, 2, 126, 127)
"""An exception, wrong arguments, a program that cannot be run or found."""
DEFAULT_WAIT = 86_400
_SLACK = 300


def forgives_disruptions(request: RenderRequest) -> bool:
    """Whether the document lets a run come back after what is not its fault."""
    retries = request.run.spec.retries
    return any((retries.preemption, retries.spot, retries.eviction, retries.node))


def pod_failure_policy(request: RenderRequest, container: str) -> dict[str, Any]:
    """Rules in order; the first that matches decides."""
    is_replaced = request.planned.nodes == 1 and forgives_disruptions(request)
    return {
        "rules": [
            {
                "action": "Ignore" if is_replaced else "FailJob",
                "onPodConditions": [{"type": "DisruptionTarget", "status": "True"}],
            },
            _exits(container, AGENT_EXITS),
            _exits(container, PROGRAM_EXITS),
            {"action": "FailJob", "onExitCodes": {"operator": "NotIn", "values": [0]}},
        ]
    }


def job_policies(request: RenderRequest, container: str) -> dict[str, Any]:
    """The fields of a Job's spec that say when it ends."""
    policies: dict[str, Any] = {
        "backoffLimit": NEVER_RAN,
        "podFailurePolicy": pod_failure_policy(request, container),
        "podReplacementPolicy": "Failed",
    }
    deadline = active_deadline(request)
    if deadline is not None:
        policies["activeDeadlineSeconds"] = deadline
    return policies


def active_deadline(request: RenderRequest) -> int | None:
    """A backstop behind the agent, which keeps the deadline itself: this clock also runs while pods wait."""
    spec = request.run.spec
    if spec.deadline is None:
        return None
    left = math.ceil(seconds_left(request) or 0.0)
    wait = whole_seconds(spec.max_wait) if spec.max_wait is not None else DEFAULT_WAIT
    return left + wait + grace_seconds(request) + _SLACK


def seconds_kept(request: RenderRequest) -> int:
    """How long finished objects stay, with their logs and evidence."""
    return whole_seconds(request.run.spec.keep)


def _exits(container: str, codes: tuple[int, ...]) -> dict[str, Any]:
    exits = {"containerName": container, "operator": "In", "values": list(codes)}
    return {"action": "FailJob", "onExitCodes": exits}
