"""The proof on real nodes: what a cluster, its kernel and its power supply do to pods."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path

import click

from survival.case import Outcome
from survival.machine.references import References
from survival.nodes.cases import plans, sample
from survival.nodes.refusing import (
    empty_dir_is_refused,
    one_document_at_any_size,
    run_check,
    two_jobs_never_deadlock,
)
from survival.nodes.running import run_plan
from tonnage.sandbox import Sandbox, SandboxRequest, down, realnode, up
from tonnage.sandbox.showing import QUIET

AT_ONCE = 3
"""Gangs at a time."""
NAME, SIMULATED = "survival", "survival-kwok"
CONTROLLERS = ("jobset", "trainer", "training-operator")
CHECKS = {
    "checkpoints on an emptyDir are refused": empty_dir_is_refused,
    "two gangs too large to run together": two_jobs_never_deadlock,
}


def outcomes(
    seed: int, *, is_sample: bool, keep: Path | None = None, only: str | None = None
) -> Iterator[Outcome]:
    """Start two real nodes, run everything there one after the other, and take them away.

    `only` cases whose name holds that text, as they would be run among all.
    """
    down(NAME)
    controllers = () if is_sample else CONTROLLERS
    sandbox = up(SandboxRequest(name=NAME, real_nodes=2, fast_node_loss=True, controllers=controllers))
    try:
        if not is_sample:
            realnode.load_open_mpi(sandbox, QUIET)
        yield from on_sandbox(sandbox, seed, is_sample=is_sample, keep=keep, only=only)
    finally:
        down(NAME)
    if not is_sample and only is None:
        yield on_simulated_nodes()


def on_simulated_nodes() -> Outcome:
    """What needs more GPUs than two real nodes announce."""
    down(SIMULATED)
    sandbox = up(SandboxRequest(name=SIMULATED, nodes="8xh100=9"))
    try:
        return run_check("1, 8 and 64 GPUs from one document", one_document_at_any_size, sandbox, "sizes")
    finally:
        down(SIMULATED)


def on_sandbox(
    sandbox: Sandbox, seed: int, *, is_sample: bool, keep: Path | None = None, only: str | None = None
) -> Iterator[Outcome]:
    """The cases, on nodes that are there."""
    references = References()
    cases = [plan for plan in (sample(seed) if is_sample else plans(seed)) if not only or only in plan.name]
    click.echo(f"real nodes: {len(cases)} trainings, seed {seed}")
    numbered = list(enumerate(cases))
    with ThreadPoolExecutor(AT_ONCE) as pool:
        waiting = [
            pool.submit(run_plan, plan, sandbox, references, f"survival-{number}", keep)
            for number, plan in numbered
            if plan.is_gang
        ]
        try:
            for each in as_completed(waiting):
                yield each.result()
        except (KeyboardInterrupt, GeneratorExit):
            pool.shutdown(cancel_futures=True)
            raise
    for number, plan in numbered:
        if not plan.is_gang:
            yield run_plan(plan, sandbox, references, f"survival-{number}", keep)
    if only is not None:
        return
    checks = dict(list(CHECKS.items())[:1]) if is_sample else CHECKS
    for number, (name, check) in enumerate(checks.items()):
        yield run_check(name, check, sandbox, f"survival-c{number}")
