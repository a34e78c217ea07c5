"""The suite: generated clusters, a pod at a time, two answers each.

The first tally compares everything the scheduler says: whether the pod fits, the whole message with its
counts, who is preempted and where. The second looks only at pods that fit, and asks whether the real
scheduler's node is among the ones we call equally best. Pods that fit on one node alone prove nothing
about scores and do not count there.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass

import msgspec

from conformance.scheduling.bench import Bench, Refused, Verdict, open_bench
from conformance.scheduling.coverage import MUST_COVER, MUST_COVER_SCORES, touched
from conformance.scheduling.generating import generate
from conformance.scheduling.narrowing import narrow
from conformance.scheduling.ours import agree, answer, read_view, shown, victim_sets
from conformance.scheduling.questions import Object, Scenario, scenario_of
from conformance.shrinking import shrink
from conformance.suite import Disagreement, Tally
from tonnage.cluster.objects import Pod
from tonnage.cluster.scheduling import ClusterView, Decision, Scheduled

SCORED_PART = 0.4
"""200 of 500: how many of the cases the second tally needs."""
SHRINK_ATTEMPTS = 60
"""For each of the two ways of making a question smaller."""


SHRUNK_AT_MOST = 3
"""Each costs minutes, and more than a few say the same."""
SCORE = "score: "


@dataclass(frozen=True)
class Asked:
    """One pod as stored, the cluster it came to, and the two answers."""

    pod: Pod
    view: ClusterView
    ours: Decision
    real: Verdict

    @property
    def had_a_choice(self) -> bool:
        """Whether several nodes would do and the scheduler took one: only then do scores matter."""
        return isinstance(self.ours, Scheduled) and len(self.ours.feasible) > 1 and bool(self.real.node)

    def touched(self) -> Iterator[str]:
        return touched(self.pod, self.view, self.ours)


class SchedulingSuite:
    """Feasibility, reasons, preemption and scores against the real kube-scheduler."""

    name = "scheduling"
    full_size = 500

    def run(self, *, seed: int, cases: int) -> list[Tally]:
        decided = Tally(name="scheduling: fits or not, why, victims", target=0.995, must_cover=MUST_COVER)
        chosen = Tally(name="scheduling: node among our best", target=0.99, must_cover=MUST_COVER_SCORES)
        with open_bench(f"conf-{os.getpid() % 100000}") as bench:
            index = 0
            while decided.cases < cases or chosen.cases < round(cases * SCORED_PART):
                self._run_cluster(bench, seed, index, decided, chosen)
                index += 1
                if index > cases:
                    decided.notes.append(f"given up after {index} clusters")
                    break
        chosen.notes.append(f"{index} clusters")
        return [decided, chosen]

    def _run_cluster(self, bench: Bench, seed: int, index: int, decided: Tally, chosen: Tally) -> None:
        scenario = generate(seed, index)
        try:
            bench.lay_out(scenario)
            for question in scenario.questions:
                asked = ask(bench, question)
                _compare(bench, scenario, question, asked, DECISION, decided)
                if asked.had_a_choice:
                    _compare(bench, scenario, question, asked, CHOICE, chosen)
        except Refused as refused:
            # Not a question then: the generator made something no cluster can hold.
            decided.notes.append(f"cluster {index} given up: {refused}")
        bench.clear()


@dataclass(frozen=True)
class Comparison:
    """One thing that is compared about an answer, and which rules it says something about."""

    agrees: Callable[[Asked], bool]
    speaks_for: Callable[[str], bool]


DECISION = Comparison(
    agrees=lambda asked: agree(asked.ours, asked.real),
    speaks_for=lambda label: not label.startswith(SCORE),
)
CHOICE = Comparison(
    agrees=lambda asked: (
        not asked.had_a_choice or (isinstance(asked.ours, Scheduled) and asked.real.node in asked.ours.best)
    ),
    speaks_for=lambda label: label.startswith(SCORE),
)


def _compare(
    bench: Bench, scenario: Scenario, question: Object, asked: Asked, by: Comparison, tally: Tally
) -> None:
    tally.cases += 1
    if by.agrees(asked):
        tally.agreed += 1
        tally.coverage.update(filter(by.speaks_for, asked.touched()))
        return
    whole = scenario.single(question)
    if len(tally.disagreements) < SHRUNK_AT_MOST:
        tally.disagreements.append(_smallest(bench, whole, asked, by))
        bench.clear()
        bench.lay_out(scenario)
    else:
        tally.disagreements.append(_as_disagreement(whole, asked))


def _smallest(bench: Bench, question: Object, asked: Asked, by: Comparison) -> Disagreement:
    """The smallest part of the question on which we differ; the whole if it happened only once."""
    last = asked

    def still_differs(candidate: Object) -> bool:
        nonlocal last
        try:
            found = ask_alone(bench, candidate)
        except (Refused, KeyError, TypeError, msgspec.ValidationError):
            return False  # no API server takes such an object
        if by.agrees(found):
            return False
        last = found
        return True

    few = narrow(question, still_differs, attempts=SHRINK_ATTEMPTS)
    return _as_disagreement(shrink(few, still_differs, attempts=SHRINK_ATTEMPTS), last)


def _as_disagreement(question: Object, asked: Asked) -> Disagreement:
    return Disagreement(question=question, ours=shown(asked.ours), real=asdict(asked.real))


def ask(bench: Bench, question: Object) -> Asked:
    """Ask both about the cluster as it stands, and take the pod away again."""
    bench.prepare(question)
    view = read_view(bench)
    bench.remember_victims()
    stored = bench.release(question)
    ours = answer(stored, view)
    expected = {names for sets in victim_sets(ours).values() for names in sets}
    real = bench.verdict(stored, expected)
    bench.withdraw(question, real)
    return Asked(msgspec.convert(stored, Pod), view, ours, real)


def ask_alone(bench: Bench, question: Object) -> Asked:
    """Ask about a cluster of its own."""
    bench.clear()
    scenario = scenario_of(question)
    bench.lay_out(scenario)
    return ask(bench, scenario.questions[0])
