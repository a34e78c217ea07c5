"""The effective document: every value that holds, and who decided it.

you         it stands in the document
Tonnage     it was left out, and our default holds
estimated   it was left to us (`auto`), and this plan worked it out
step        it was left out, and the traced step's build() uses this by itself
Kubernetes  the API server or a LimitRange fills it in
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tonnage.cluster.objects import Pod
from tonnage.planning.answers import EffectiveValue, Need, Origin, Risk
from tonnage.planning.recipes import NOTHING
from tonnage.planning.walls import NamespaceAnswer
from tonnage.planning.workload import Workload
from tonnage.spec.effective import Origin as SpecOrigin
from tonnage.spec.effective import effective_values
from tonnage.spec.run import Run
from tonnage.units import format_bytes

_ORIGINS: dict[SpecOrigin, Origin] = {SpecOrigin.YOU: "you", SpecOrigin.TONNAGE: "Tonnage"}


def effective_of(
    workload: Workload,
    answer: NamespaceAnswer,
    needs: tuple[Need, ...],
    risk: Risk,
    own: Mapping[str, Any] = NOTHING,
) -> tuple[EffectiveValue, ...]:
    if workload.run is None:
        pairs = zip(workload.roles, answer.roles, strict=True)
        return tuple(
            value for role, stored in pairs for value in effective_pod(role.name, role.pod, stored.pod)
        )
    worked_out: dict[str, str] = {
        need.name: f"{need.granted / 1000:g}" if need.name == "cpu" else format_bytes(need.granted)
        for need in needs
        if need.asked is None and need.granted is not None
    }
    saving = risk.checkpoints
    if saving is not None:
        worked_out["checkpoints.every"] = _duration(saving.interval_seconds)
        if saving.grace_seconds is not None:
            worked_out["checkpoints.grace"] = f"{saving.grace_seconds}s"
    return effective_run(workload.run, worked_out, own)


def effective_run(
    run: Run, worked_out: Mapping[str, str], own: Mapping[str, Any] = NOTHING
) -> tuple[EffectiveValue, ...]:
    """Every value of a Run; `worked_out` gives what `auto` became, `own` what the step decided, by field."""
    values = []
    for value in effective_values(run):
        name = value.field.removeprefix("spec.")
        if name in own:
            values.append(EffectiveValue(name, str(own[name]), "step"))
        elif name in worked_out and value.text in ("auto", "-"):
            values.append(EffectiveValue(name, worked_out[name], "estimated"))
        else:
            values.append(EffectiveValue(name, value.text, _ORIGINS[value.origin]))
    return tuple(values)


def _duration(seconds: float) -> str:
    """A time as documents write it, no finer than it needs to be.

    >>> _duration(85.4), _duration(5_760), _duration(7_200)
    ('85s', '96m', '2h')
    """
    if seconds < 600:
        return f"{max(1, round(seconds))}s"
    minutes = round(seconds / 60)
    return f"{minutes // 60}h" if minutes % 60 == 0 else f"{minutes}m"


def effective_pod(name: str, sent: Pod, stored: Pod) -> tuple[EffectiveValue, ...]:
    """What a manifest's pods ask for, and what the API server adds to it."""
    before, after = _flat(sent), _flat(stored)
    return tuple(
        EffectiveValue(f"{name}.{field}", text, "you" if before.get(field) == text else "Kubernetes")
        for field, text in after.items()
    )


def _flat(pod: Pod) -> dict[str, str]:
    spec = pod.spec
    found: dict[str, Any] = {}
    for container in spec.containers:
        for side, amounts in (
            ("requests", container.resources.requests),
            ("limits", container.resources.limits),
        ):
            for resource, text in amounts.items():
                found[f"{container.name}.{side}.{resource}"] = text
    found["restartPolicy"] = spec.restart_policy
    found["terminationGracePeriodSeconds"] = spec.termination_grace_period_seconds
    found["priorityClassName"] = spec.priority_class_name
    found["priority"] = spec.priority
    found["activeDeadlineSeconds"] = spec.active_deadline_seconds
    return {field: str(value) for field, value in found.items() if value not in (None, "")}
