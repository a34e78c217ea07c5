"""PriorityClass: from the name in a pod to the number the scheduler compares.

The number is copied into the pod at admission and never looked up again: deleting or re-creating a class
changes no existing pod. A pod may repeat the computed number and policy but not contradict them.
`preemptionPolicy: Never` says that the pod preempts nobody, not that nobody preempts it.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from tonnage.cluster.objects import Meta, Pod, PriorityClass

PREEMPT_LOWER = "PreemptLowerPriority"
HIGHEST_USER_PRIORITY = 1_000_000_000
SYSTEM_CLASSES = (
    PriorityClass(
        metadata=Meta(name="system-node-critical"), value=2_000_001_000, preemption_policy=PREEMPT_LOWER
    ),
    PriorityClass(
        metadata=Meta(name="system-cluster-critical"), value=2_000_000_000, preemption_policy=PREEMPT_LOWER
    ),
)


def resolve_priority(pod: Pod, classes: Sequence[PriorityClass]) -> Pod | str:
    """The pod with class name, priority and policy filled in, or the words of the refusal."""
    name = pod.spec.priority_class_name
    chosen = find_class(name, classes) if name else default_class(classes)
    if chosen is None and name:
        return f"no PriorityClass with name {name} was found"
    value = chosen.value if chosen is not None else 0
    policy = chosen.preemption_policy if chosen is not None else PREEMPT_LOWER
    if pod.spec.priority is not None and pod.spec.priority != value:
        return (
            f"the integer value of priority ({pod.spec.priority}) must not be provided in pod spec; "
            f"priority admission controller computed {value} from the given PriorityClass name"
        )
    own = pod.spec.preemption_policy
    if policy is not None and own is not None and own != policy:
        return (
            f"the string value of PreemptionPolicy ({own}) must not be provided in pod spec; "
            f"priority admission controller computed {policy} from the given PriorityClass name"
        )
    spec = replace(
        pod.spec,
        priority_class_name=chosen.metadata.name if chosen is not None else "",
        priority=value,
        preemption_policy=policy if policy is not None else own,
    )
    return replace(pod, spec=spec)


def find_class(name: str, classes: Sequence[PriorityClass]) -> PriorityClass | None:
    """The class of that name; the two system classes always exist."""
    return next((c for c in (*classes, *SYSTEM_CLASSES) if c.metadata.name == name), None)


def default_class(classes: Sequence[PriorityClass]) -> PriorityClass | None:
    """The class for pods that name none; of several (a race made them) the lowest wins."""
    return min((c for c in classes if c.global_default), key=lambda c: c.value, default=None)
