"""GPUs that wait: for samples that loader workers do not make fast enough, or for cores that a limit takes away.

    data loader   a step needs its samples x seconds per sample / workers, at least; without workers the rank makes
                  them itself, and the GPU waits for all of it
    cpu           a step needs its core-seconds / cores allowed, at least

What a sample costs is known only where the document says so (`train.loader.sampleSeconds`). Where it does not,
workers are counted as busy all the time: what a limit below that costs is then the most it can be, is shown as
such, and is kept out of the predicted time.
"""

from __future__ import annotations

import math

from msgspec.structs import replace

from tonnage.cost.price import Price
from tonnage.memory.estimate import Interval
from tonnage.memory.pod.cpu import throttled
from tonnage.memory.recipe import Recipe
from tonnage.planning.answers import Waiting
from tonnage.planning.needing import cpu_given
from tonnage.planning.sources import PodFigures
from tonnage.planning.workload import Workload

NOT_WORTH_A_WORD = 0.005


def waits_of(
    workload: Workload,
    recipe: Recipe | None,
    step: Interval | None,
    *,
    figures: PodFigures,
    price: Price | None,
) -> tuple[Waiting, ...]:
    """Everything the GPUs would wait for, the longest wait first."""
    if workload.run is None or recipe is None or step is None or not step.p50:
        return ()
    found = [_for_data(workload, recipe, step), _for_cores(workload, step, figures)]
    telling = [wait for wait in found if wait is not None and wait.idle_share > NOT_WORTH_A_WORD]
    return tuple(_priced(wait, price) for wait in sorted(telling, key=lambda wait: -wait.idle_share))


def paced(step: Interval, waits: tuple[Waiting, ...]) -> Interval:
    """The step with the waits that are known, not those that may be."""
    floor = max((wait.step_seconds for wait in waits if not wait.is_bound), default=0.0)
    return Interval(max(step.p10, floor), max(step.p50, floor), max(step.p90, floor))


def idle_share(step: Interval | None, taken: Interval | None) -> float | None:
    """Part of the time from one step to the next in which the GPUs wait."""
    return None if step is None or taken is None or not taken.p50 else 1 - step.p50 / taken.p50


def loader_allows(workload: Workload, recipe: Recipe | None, step: Interval | None) -> float | None:
    """What a sample may cost one worker before the GPUs wait."""
    workers = workload.run.spec.train.loader.workers if workload.run is not None else 0
    if recipe is None or step is None or not workers:
        return None
    return workers * step.p50 / _samples(recipe)


def _for_data(workload: Workload, recipe: Recipe, step: Interval) -> Waiting | None:
    assert workload.run is not None
    loader = workload.run.spec.train.loader
    if loader.sample_seconds is None:
        return None
    work = _samples(recipe) * loader.sample_seconds
    least = work / loader.workers if loader.workers else step.p50 + work
    taken = max(step.p50, least)
    enough = math.ceil(work / step.p50)
    return Waiting(
        cause="data loader",
        step_seconds=taken,
        idle_share=1 - step.p50 / taken,
        remedy=f"train.loader.workers: {enough}",
    )


def _for_cores(workload: Workload, step: Interval, figures: PodFigures) -> Waiting | None:
    cores, is_limit = cpu_given(workload.trainer)
    needed = figures.figures.get("cpu")
    if cores is None or figures.cpu_seconds is None or needed is None or cores >= needed.amount:
        return None
    assert workload.run is not None
    slowed = throttled(step.p50, figures.cpu_seconds, cores)
    return Waiting(
        cause="cpu",
        step_seconds=slowed.step_seconds,
        idle_share=slowed.gpu_idle_share,
        is_bound=not is_limit or workload.run.spec.train.loader.sample_seconds is None,
        remedy=f"cpu: {-(-needed.amount // 1000)}",
    )


def _priced(wait: Waiting, price: Price | None) -> Waiting:
    if price is None:
        return wait
    return replace(wait, per_hour=round(price.low * wait.idle_share))


def _samples(recipe: Recipe) -> int:
    """Samples that one rank loads for one step."""
    return recipe.micro_batch * recipe.accumulation
