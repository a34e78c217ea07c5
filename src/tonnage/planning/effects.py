"""The effective document: every value that holds, and who decided it.

you         it stands in the document
Tonnage     it was left out, and our default holds
estimated   it was left to us (`auto`), and this plan worked it out
Kubernetes  the API server or a LimitRange fills it in
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tonnage.cluster.objects import Pod
from tonnage.planning.answers import EffectiveValue, Origin
from tonnage.spec.effective import Origin as SpecOrigin
from tonnage.spec.effective import effective_values
from tonnage.spec.run import Run

_ORIGINS: dict[SpecOrigin, Origin] = {SpecOrigin.YOU: "you", SpecOrigin.TONNAGE: "Tonnage"}


def effective_run(run: Run, worked_out: Mapping[str, str]) -> tuple[EffectiveValue, ...]:
    """Every value of a Run; `worked_out` gives what `auto` became, by field without `spec.`."""
    values = []
    for value in effective_values(run):
        name = value.field.removeprefix("spec.")
        if name in worked_out and value.text in ("auto", "-"):
            values.append(EffectiveValue(name, worked_out[name], "estimated"))
        else:
            values.append(EffectiveValue(name, value.text, _ORIGINS[value.origin]))
    return tuple(values)


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
