"""The proof on this machine: everything a process can die of, and everything that keeps it alive can die of."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from itertools import islice
from pathlib import Path

from survival.case import Outcome
from survival.machine.cases import more, plans, sample
from survival.machine.references import References
from survival.machine.running import Plan, run_plan


def chosen(deaths: int, seed: int, *, is_sample: bool) -> list[Plan]:
    """The cases to run."""
    return sample(seed) if is_sample else plans(deaths, seed)


def outcomes(
    cases: list[Plan],
    parallel: int,
    keep: Path | None,
    *,
    deaths: int = 0,
    seed: int = 0,
) -> Iterator[Outcome]:
    """Run them, several at a time, and more until there were so many deaths; each comes as soon as it is over."""
    references, further = References(), more(seed)
    with ThreadPoolExecutor(parallel) as pool:
        while cases:
            waiting = [pool.submit(run_plan, plan, references, keep) for plan in cases]
            try:
                for each in as_completed(waiting):
                    outcome = each.result()
                    deaths -= outcome.num_deaths
                    yield outcome
            except (KeyboardInterrupt, GeneratorExit):
                pool.shutdown(cancel_futures=True)  # those that run come to their end
                raise
            cases = list(islice(further, parallel)) if deaths > 0 else []
