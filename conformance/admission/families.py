"""The five kinds of object that are asked about: how each is made, sent, judged and counted."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from random import Random
from typing import Any

from conformance.admission import covering
from conformance.admission.pods import generate_pod
from conformance.admission.policies import (
    generate_claim,
    generate_limit_range,
    generate_priority_class,
    generate_quota,
)
from conformance.admission.worlds import CLASSES_PATH, World
from tonnage.cluster.admission import admitting as admission
from tonnage.cluster.objects import LimitRange, PersistentVolumeClaim, Pod, PriorityClass, ResourceQuota

Json = dict[str, Any]
Classes = list[PriorityClass]
_ODDNESS = (0.0, 0.3, 0.6)


@dataclass(frozen=True, kw_only=True)
class Family:
    """One kind of object."""

    name: str
    share: float
    """Part of all cases."""
    kind: Any
    path: Callable[[World], str]
    generate: Callable[[Random], Json]
    judge: Callable[[Any, World, Classes], list[Any]]
    """Every answer we call possible for an object in a world, given the priority classes."""
    messages: dict[str, str]
    facts: tuple[str, ...] = ()


FAMILIES = (
    Family(
        name="pods",
        share=0.6,
        kind=Pod,
        path=lambda world: f"{world.path}/pods",
        generate=generate_pod,
        judge=lambda pod, world, classes: admission.possible_answers(pod, world.policies(classes)),
        messages=covering.POD_ERRORS,
        facts=covering.POD_FACTS,
    ),
    Family(
        name="claims",
        share=0.08,
        kind=PersistentVolumeClaim,
        path=lambda world: f"{world.path}/persistentvolumeclaims",
        generate=generate_claim,
        judge=lambda claim, world, classes: admission.admit_claim(claim, world.policies(classes)),
        messages=covering.CLAIM_ERRORS,
    ),
    Family(
        name="limit ranges",
        share=0.08,
        kind=LimitRange,
        path=lambda world: f"{world.path}/limitranges",
        generate=lambda random: generate_limit_range(random, "asked", oddness=random.choice(_ODDNESS)),
        judge=lambda value, world, classes: admission.admit_limit_range(value, world.policies(classes)),
        messages=covering.LIMIT_RANGE_ERRORS,
    ),
    Family(
        name="quotas",
        share=0.08,
        kind=ResourceQuota,
        path=lambda world: f"{world.path}/resourcequotas",
        generate=lambda random: generate_quota(random, "asked", oddness=random.choice(_ODDNESS)),
        judge=lambda value, world, classes: admission.admit_quota(value, world.policies(classes)),
        messages=covering.QUOTA_ERRORS,
    ),
    Family(
        name="priority classes",
        share=0.04,
        kind=PriorityClass,
        path=lambda _: CLASSES_PATH,
        generate=lambda random: generate_priority_class(random, "asked"),
        judge=lambda value, _, classes: admission.admit_priority_class(value, classes),
        messages=covering.CLASS_ERRORS,
    ),
)
