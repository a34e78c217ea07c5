"""What really happens on a node, against our rules: a kubelet, containerd and runc in a sandbox, and things
done to them.

Each case predicts every status, reason, exit code, condition and event from its manifest, then causes the
thing and compares field by field. Cases run side by side where they cannot disturb each other; those that
fill or reconfigure the node run last and alone. A sample (CI) is a seeded choice among the cases that fit
into its time.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from random import Random

from conformance.nodes import batching, growing, killing, pressing, refusing, storage, walls  # noqa: F401
from conformance.nodes.bench import Bench
from conformance.nodes.case import CATALOGUE, Case, Outcome, Phase
from conformance.suite import Disagreement, Tally
from tonnage.sandbox import Sandbox, SandboxRequest, down, up

_AT_ONCE = 6
_SAMPLE_SECONDS = 75
"""What a sample may take in cases, beside starting the sandbox."""


class NodeSuite:
    """The suite; without a sandbox given it starts one, with one real node on a small disk, for itself."""

    name = "nodes"
    full_size = len(CATALOGUE.cases)

    def __init__(self, sandbox: Sandbox | None = None) -> None:
        self._sandbox = sandbox

    def run(self, *, seed: int, cases: int) -> list[Tally]:
        """Cause the cases and count how many went as predicted."""
        chosen = choose(CATALOGUE.cases, Random(seed), cases)
        with _a_sandbox(self._sandbox) as sandbox:
            bench = Bench.on(sandbox)
            possible = [case for case in chosen if holds_on(bench.cgroup_version, case)]
            return [tally(bench.cgroup_version, list(_results(bench, possible)))]


def holds_on(cgroup_version: int, case: Case) -> bool:
    """Whether the case means anything there: on version 2 no PID 1 survives its child's OOM kill."""
    return cgroup_version == 1 or not case.only_cgroup_v1


def choose(cases: list[Case], random: Random, number: int) -> list[Case]:
    """All of them, or a seeded choice that stays within a sample's time."""
    if number >= len(cases):
        return list(cases)
    shuffled = random.sample(cases, len(cases))
    chosen: list[Case] = []
    spent = 0.0
    for case in shuffled:
        cost = case.seconds / (_AT_ONCE if case.phase is Phase.TOGETHER else 1)
        if spent + cost <= _SAMPLE_SECONDS and len(chosen) < number:
            chosen.append(case)
            spent += cost
    return chosen


def tally(cgroup_version: int, results: Iterable[tuple[Case, Outcome | str]]) -> Tally:
    """Agreement over cases; every field of a case must be as predicted."""
    asked = [case for case in CATALOGUE.cases if holds_on(cgroup_version, case)]
    rules = tuple(dict.fromkeys(rule for case in asked for rule in case.covers))
    found = Tally(name="caused on a real node", target=1.0, must_cover=rules)
    fields = 0
    for case, outcome in results:
        found.cases += 1
        if isinstance(outcome, str):
            found.disagreements.append(Disagreement(question=case.name, ours="an outcome", real=outcome))
            continue
        fields += len(outcome.predicted)
        differences = outcome.differences()
        if not differences:
            found.agreed += 1
            found.coverage.update(case.covers)
        else:
            ours = {name: predicted for name, (predicted, _) in differences.items()}
            real = {name: read for name, (_, read) in differences.items()}
            found.disagreements.append(Disagreement(question=case.name, ours=ours, real=real))
    found.notes.append(f"{fields} fields compared, on cgroup v{cgroup_version}")
    v1 = [case.name for case in CATALOGUE.cases if case.only_cgroup_v1]
    found.notes.append(f"cgroup v1 only: {'; '.join(v1)} (see docs/cgroups.md)")
    return found


def _results(bench: Bench, chosen: list[Case]) -> Iterator[tuple[Case, Outcome | str]]:
    together = [case for case in chosen if case.phase is Phase.TOGETHER]
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        yield from zip(together, pool.map(lambda case: attempt(case, bench), together), strict=True)
    for phase in (Phase.ALONE, Phase.PRESSURE):
        for case in (case for case in chosen if case.phase is phase):
            bench.clear()
            bench.settle()
            yield case, attempt(case, bench)
    bench.leave()


def attempt(case: Case, bench: Bench) -> Outcome | str:
    """The case's outcome, or why it could not be brought about."""
    try:
        return case.cause(bench)
    except Exception as error:  # one case that breaks must not hide the others
        return f"{type(error).__name__}: {error}"


@contextmanager
def _a_sandbox(given: Sandbox | None) -> Iterator[Sandbox]:
    """The sandbox given, or a fresh one that is taken down afterwards."""
    if given is not None:
        yield given
        return
    name = f"nodes-{os.getpid()}"
    # Volumes are measured once a minute by default: far too seldom to watch one grow.
    request = SandboxRequest(
        name=name,
        real_nodes=1,
        node_disk="2Gi",
        nodes="cpu=1",
        kubelet_overrides={"volumeStatsAggPeriod": "2s"},
    )
    try:
        yield up(request)
    finally:
        down(name)
