"""The cases of one half: real pods and made backgrounds, each once as it is and with a leak on top."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from random import Random

from foresight import backgrounds, strange
from foresight.cases import Case, Half, as_case, half_of, regular_times
from foresight.leaks import LATEST, SOONEST, Pace, accelerating, in_bursts, leak_onto, linear, per_epoch
from foresight.pods import Pod

TRIES = 8
"""Draws of a leak before a background is left without one: it may be too near its limit, or too short."""


def protocol(pods: Sequence[Pod], half: Half, each: int) -> Iterator[Case]:
    """Real pods without net growth and five made kinds, without and with linear and per-epoch leaks."""
    for pod in pods:
        if half_of(pod.name) == half and not pod.has_grown:
            yield as_case(pod.name, "real", "", pod.levels, pod.times)
            yield from _leaking(pod.name, "real", pod.levels, pod.times)
    yield from _made(backgrounds.KINDS, half, each)


def grown(pods: Sequence[Pod], half: Half) -> Iterator[Case]:
    """Real pods that ended higher than they began: shown, not judged."""
    for pod in pods:
        if half_of(pod.name) == half and pod.has_grown:
            yield as_case(pod.name, "real, grown", "", pod.levels, pod.times)


def others(half: Half, each: int) -> Iterator[Case]:
    """Kinds of series and of leaks that the protocol does not name."""
    yield from _made(strange.KINDS, half, each)
    times = regular_times()
    kinds = {**backgrounds.KINDS, **strange.KINDS}
    for number in range(each):
        for leak in ("late", "accelerating", "in bursts"):
            kind = sorted(kinds)[(number * 5) % len(kinds)]
            name = f"{half} {leak} on {kind} {number}"
            if case := _leak(name, kind, kinds[kind](Random(name)), times, leak):
                yield case


def _made(kinds: dict[str, backgrounds.Draw], half: Half, each: int) -> Iterator[Case]:
    times = regular_times()
    for kind, draw in kinds.items():
        for number in range(each):
            name = f"{half} {kind} {number}"
            levels = draw(Random(name))
            case = as_case(name, kind, "", levels, times)
            if case.reaches is None:
                yield case
            leak = ("linear", "per epoch")[number % 2]
            if leaking := _leak(name, kind, levels, times, leak):
                yield leaking


def _leaking(name: str, kind: str, levels: Sequence[float], times: Sequence[float]) -> Iterator[Case]:
    for leak in ("linear", "per epoch"):
        if case := _leak(name, kind, levels, times, leak):
            yield case


def _leak(name: str, kind: str, levels: Sequence[float], times: Sequence[float], leak: str) -> Case | None:
    chance = Random(f"{name} {leak}")
    for _ in range(TRIES):
        hours = chance.uniform(SOONEST, LATEST)
        begins = chance.uniform(2.0, 8.0) if leak == "late" else 0.0
        pace: Pace = {
            "linear": linear,
            "late": linear,
            "per epoch": per_epoch,
            "accelerating": accelerating,
            "in bursts": in_bursts,
        }[leak](min(hours, 21.5 - begins), chance)
        found = leak_onto(levels, times, pace, begins, hours)
        if found is not None:
            return as_case(f"{name} + {leak}", kind, leak, found, times)
    return None
