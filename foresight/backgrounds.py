"""Memory that only looks like a leak, as shares of the limit: the kinds every detector is judged on.

Each function draws one series from a `Random`. Sizes are wide on purpose: what a detector learns of one warm-up must
hold for warm-ups of half an hour and of half a day.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from random import Random

from foresight.cases import HOUR, SAMPLES, STEP

Draw = Callable[[Random], list[float]]


def sawtooth(chance: Random) -> list[float]:
    """Caches that fill over an epoch and are dropped at its end."""
    period, height = chance.uniform(0.3, 4.0), chance.uniform(0.03, 0.3)
    base, noise, phase = chance.uniform(0.15, 0.9 - height), chance.uniform(0.001, 0.01), chance.random()
    return made(lambda hour: base + height * ((hour / period + phase) % 1.0), chance, noise)


def warm_up(chance: Random) -> list[float]:
    """Growth that saturates below the limit."""
    tau, height = chance.uniform(0.3, 5.0), chance.uniform(0.05, 0.6)
    base, noise = chance.uniform(0.1, 0.9 - height), chance.uniform(0.001, 0.008)
    return made(lambda hour: base + height * (1 - math.exp(-hour / tau)), chance, noise)


def level_shift(chance: Random) -> list[float]:
    """One more thing is loaded, once, at once or over some minutes."""
    at, height, ramp = chance.uniform(1.0, 21.0), chance.uniform(0.05, 0.4), chance.uniform(0.0, 0.5)
    base, noise = chance.uniform(0.15, 0.9 - height), chance.uniform(0.001, 0.01)

    def level(hour: float) -> float:
        return base + height * min(1.0, max(0.0, (hour - at) / (ramp or 0.01)))

    return made(level, chance, noise)


def checkpoint_spikes(chance: Random) -> list[float]:
    """A save every hour or so holds a second copy for a minute or five."""
    every, height, length = chance.uniform(0.4, 3.0), chance.uniform(0.08, 0.4), chance.uniform(0.015, 0.1)
    base, noise, phase = chance.uniform(0.15, 0.93 - height), chance.uniform(0.001, 0.008), chance.random()

    def level(hour: float) -> float:
        return base + (height if (hour / every + phase) % 1.0 < length / every else 0.0)

    return made(level, chance, noise)


def drift(chance: Random) -> list[float]:
    """A first-order autoregression: a load that wanders and comes back."""
    stay, spread, base = chance.uniform(0.98, 0.999), chance.uniform(0.005, 0.05), chance.uniform(0.25, 0.75)
    kick = spread * math.sqrt(1 - stay * stay)
    levels, now = [], chance.gauss(0, spread)
    for _ in range(SAMPLES):
        now = stay * now + chance.gauss(0, kick)
        levels.append(base + now)
    return levels


KINDS: dict[str, Draw] = {
    "sawtooth": sawtooth,
    "warm-up": warm_up,
    "level shift": level_shift,
    "checkpoint spikes": checkpoint_spikes,
    "drift": drift,
}


def made(level: Callable[[float], float], chance: Random, noise: float) -> list[float]:
    """A level by the hour, sampled, with noise."""
    return [level(sample * STEP / HOUR) + chance.gauss(0, noise) for sample in range(SAMPLES)]
