"""Series unlike those the protocol names: what a detector never saw while it was tuned on the others.

Without a leak: a day's swing, a page cache that fills ever more slowly, a data set that is read into memory once,
several loads one after the other, a load that comes and goes, a wandering sum that is pushed back, spikes of any
height. With one: collections whose troughs rise, a leak that begins late, one that accelerates, one in bursts, one
deep in noise.
"""

from __future__ import annotations

import math
from random import Random

from foresight.backgrounds import Draw, made
from foresight.cases import HOUR, SAMPLES, STEP


def daily_swing(chance: Random) -> list[float]:
    height, phase, base = chance.uniform(0.02, 0.12), chance.random(), chance.uniform(0.25, 0.6)
    noise = chance.uniform(0.002, 0.01)
    return made(lambda hour: base + height * math.sin(2 * math.pi * (hour / 24 + phase)), chance, noise)


def page_cache(chance: Random) -> list[float]:
    """Logarithmic: half of it in the first hour, then ever less."""
    height, scale, base = chance.uniform(0.1, 0.35), chance.uniform(0.1, 0.6), chance.uniform(0.15, 0.4)
    whole = math.log1p(22.8 / scale)
    return made(lambda hour: base + height * math.log1p(hour / scale) / whole, chance, 0.003)


def loading(chance: Random) -> list[float]:
    """Straight up for an hour or two, then level: the data set is cached."""
    until, height, base = chance.uniform(0.3, 2.0), chance.uniform(0.05, 0.3), chance.uniform(0.15, 0.4)
    return made(lambda hour: base + height * min(1.0, hour / until), chance, 0.003)


def several_shifts(chance: Random) -> list[float]:
    shifts = [(chance.uniform(0.5, 22.0), chance.uniform(-0.12, 0.12)) for _ in range(chance.randint(2, 5))]
    base = chance.uniform(0.35, 0.55)
    return made(
        lambda hour: base + sum(height for at, height in shifts if hour >= at),
        chance,
        chance.uniform(0.001, 0.01),
    )


def comes_and_goes(chance: Random) -> list[float]:
    """Two levels, held for times of chance."""
    height, stay, base = chance.uniform(0.03, 0.2), chance.uniform(0.2, 2.5), chance.uniform(0.3, 0.65)
    levels, is_up, until = [], False, 0.0
    for sample in range(SAMPLES):
        if sample * STEP / HOUR >= until:
            is_up, until = not is_up, until + chance.expovariate(1 / stay)
        levels.append(base + (height if is_up else 0.0) + chance.gauss(0, 0.004))
    return levels


def pushed_back(chance: Random) -> list[float]:
    """A random walk between two walls."""
    low, wide, step = chance.uniform(0.2, 0.5), chance.uniform(0.05, 0.2), chance.uniform(0.0005, 0.003)
    levels, now = [], low + wide * chance.random()
    for _ in range(SAMPLES):
        now = min(low + wide, max(low, now + chance.gauss(0, step)))
        levels.append(now)
    return levels


def wild_spikes(chance: Random) -> list[float]:
    """Spikes of any height up to nearly the limit, at any time."""
    base, often = chance.uniform(0.2, 0.5), chance.uniform(0.002, 0.02)
    return [
        base
        + chance.gauss(0, 0.004)
        + (min(0.45, chance.paretovariate(1.5) * 0.05) if chance.random() < often else 0.0)
        for _ in range(SAMPLES)
    ]


def collections(chance: Random) -> list[float]:
    """A collector that lets garbage pile up to some height of chance."""
    base, rate = chance.uniform(0.2, 0.5), chance.uniform(0.05, 0.4)
    levels, pile, full = [], 0.0, 0.1
    for _ in range(SAMPLES):
        pile += rate * STEP / HOUR * chance.uniform(0.5, 1.5)
        if pile >= full:
            pile, full = 0.0, chance.uniform(0.05, 0.15)
        levels.append(base + pile + chance.gauss(0, 0.002))
    return levels


def noise(chance: Random) -> list[float]:
    base, spread = chance.uniform(0.3, 0.6), chance.uniform(0.02, 0.06)
    return [base + chance.gauss(0, spread) for _ in range(SAMPLES)]


KINDS: dict[str, Draw] = {
    "daily swing": daily_swing,
    "page cache": page_cache,
    "loading": loading,
    "several shifts": several_shifts,
    "comes and goes": comes_and_goes,
    "pushed back": pushed_back,
    "wild spikes": wild_spikes,
    "collections": collections,
    "noise": noise,
}
