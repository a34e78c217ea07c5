"""Histories made up for tests: signatures of different temper, in bursts and one after the other, seeded."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from random import Random

from tonnage.sizing.task import Task

GIB = 2.0**30
Draw = Callable[[Random, int, int], tuple[float, float]]
"""Of an instance's place among so many: its peak and its runtime, both relative to the signature's own."""


def constant(chance: Random, place: int, count: int) -> tuple[float, float]:
    return 1 + chance.gauss(0, 0.002), chance.uniform(0.8, 1.2)


def spread(chance: Random, place: int, count: int) -> tuple[float, float]:
    return math.exp(chance.gauss(0, 0.12)), chance.uniform(0.6, 1.4)


def heavy_tailed(chance: Random, place: int, count: int) -> tuple[float, float]:
    return chance.paretovariate(4), chance.uniform(0.6, 1.4)


def growing(chance: Random, place: int, count: int) -> tuple[float, float]:
    return (1 + 0.8 * place / count) * math.exp(chance.gauss(0, 0.03)), chance.uniform(0.8, 1.2)


def by_input(chance: Random, place: int, count: int) -> tuple[float, float]:
    size = math.exp(chance.gauss(0, 0.4))
    return size**0.7 * math.exp(chance.gauss(0, 0.03)), size * chance.uniform(0.9, 1.1)


def two_kinds(chance: Random, place: int, count: int) -> tuple[float, float]:
    return (2.2 if chance.random() < 0.3 else 1.0) * math.exp(chance.gauss(0, 0.02)), chance.uniform(0.8, 1.2)


FAMILIES: tuple[Draw, ...] = (constant, constant, spread, spread, heavy_tailed, growing, by_input, two_kinds)
"""As often as they are met: many workloads are steady, some are not."""


def a_workflow(seed: int, num_signatures: int = 30, families: tuple[Draw, ...] = FAMILIES) -> list[Task]:
    """A history of several signatures whose sizes differ by orders of magnitude."""
    chance = Random(seed)
    return [task for number in range(num_signatures) for task in _signature(chance, number, families)]


def _signature(chance: Random, number: int, families: tuple[Draw, ...]) -> Iterator[Task]:
    draw = families[number % len(families)]
    count = round(math.exp(chance.uniform(math.log(8), math.log(120))))
    typical = GIB * math.exp(chance.gauss(0.5, 1.3))
    seconds = math.exp(chance.gauss(5.5, 1.2))
    peaks = [draw(chance, place, count) for place in range(count)]
    asked = typical * max(peak for peak, _ in peaks) * chance.uniform(1.1, 5)
    begins, burst = chance.uniform(0, 20_000), chance.choice((0.05, 0.3, 1.5))
    for peak, runtime in peaks:
        begins += chance.expovariate(1) * seconds * burst
        yield Task(f"{draw.__name__}-{number}", begins, begins + seconds * runtime, asked, typical * peak)
