"""Taints and the pods that bear them."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from tonnage.cluster.objects import Pod, Toleration
from tonnage.cluster.objects.node import Taint


def tolerating(pod: Pod, taints: Sequence[Taint]) -> Pod:
    """The pod with these taints tolerated."""
    more = tuple(
        Toleration(key=taint.key, operator="Equal", value=taint.value, effect=taint.effect)
        for taint in taints
    )
    return replace(pod, spec=replace(pod.spec, tolerations=(*pod.spec.tolerations, *more)))


def taint_text(taint: Taint) -> str:
    """A taint as kubectl takes it."""
    return f"{taint.key}={taint.value}:{taint.effect}" if taint.value else f"{taint.key}:{taint.effect}"
