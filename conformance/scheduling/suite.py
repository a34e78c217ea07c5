"""The suite: generated clusters, a pod at a time, two answers each.

The first tally compares everything the scheduler says: whether the pod fits, the whole message with its
counts, who is preempted and where. The second looks only at pods that fit, and asks whether the real
scheduler's node is among the ones we call equally best. Pods that fit on one node alone prove nothing
about scores and do not count there.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

import msgspec

from conformance.scheduling.bench import Bench, Verdict, open_bench
from conformance.scheduling.coverage import MUST_COVER, MUST_COVER_SCORES, touched
from conformance.scheduling.generating import generate
from conformance.scheduling.narrowing import narrow
from conformance.scheduling.ours import agree, answer, read_view, shown, victim_sets
from conformance.scheduling.questions import Object, scenario_of
from conformance.shrinking import shrink
from conformance.suite import Disagreement, Tally
from tonnage.cluster.objects import Pod
from tonnage.cluster.scheduling import ClusterView, Decision, Scheduled

SCORED_PART = 0.4
"""200 of 500: how many of the cases the second tally needs."""
SHRINK_ATTEMPTS = 60
"""For each of the two ways of making a question smaller."""


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
        chosen.notes.append(f"{index} clusters")
        return [decided, chosen]

    def _run_cluster(self, bench: Bench, seed: int, index: int, decided: Tally, chosen: Tally) -> None:
        scenario = generate(seed, index)
        bench.lay_out(scenario)
        for question in scenario.questions:
            pod, view, ours, real = ask(bench, question)
            decided.cases += 1
            decided.coverage.update(
                label for label in touched(pod, view, ours) if not label.startswith("score: ")
            )
            if agree(ours, real):
                decided.agreed += 1
            else:
                decided.disagreements.append(self._smallest(bench, scenario.single(question), ours, real))
                bench.clear()
                bench.lay_out(scenario)
            if isinstance(ours, Scheduled) and len(ours.feasible) > 1 and real.node:
                chosen.cases += 1
                chosen.coverage.update(
                    label for label in touched(pod, view, ours) if label.startswith("score: ")
                )
                if real.node in ours.best:
                    chosen.agreed += 1
                else:
                    chosen.disagreements.append(
                        Disagreement(question=scenario.single(question), ours=shown(ours), real=asdict(real))
                    )
        bench.clear()

    def _smallest(self, bench: Bench, question: Object, ours: Decision, real: Verdict) -> Disagreement:
        """The smallest part of the question on which we differ; the whole if it happened only once."""
        last: dict[str, Any] = {"ours": shown(ours), "real": asdict(real)}

        def still_differs(candidate: Object) -> bool:
            try:
                found = ask_alone(bench, candidate)
            except (RuntimeError, KeyError, TypeError, msgspec.ValidationError):
                return False  # the API server takes no such object: not a question
            if found is None:
                return False
            last["ours"], last["real"] = shown(found[0]), asdict(found[1])
            return True

        few = narrow(question, still_differs, attempts=SHRINK_ATTEMPTS)
        smallest = shrink(few, still_differs, attempts=SHRINK_ATTEMPTS)
        return Disagreement(question=smallest, ours=last["ours"], real=last["real"])


def ask(bench: Bench, question: Object) -> tuple[Pod, ClusterView, Decision, Verdict]:
    """Ask both about the cluster as it stands, and take the pod away again."""
    bench.prepare(question)
    view = read_view(bench)
    bench.remember_victims()
    stored = bench.release(question)
    ours = answer(stored, view)
    expected = {names for sets in victim_sets(ours).values() for names in sets}
    real = bench.verdict(stored, expected)
    bench.withdraw(question, real)
    return msgspec.convert(stored, Pod), view, ours, real


def ask_alone(bench: Bench, question: Object) -> tuple[Decision, Verdict] | None:
    """Ask about a cluster of its own; None where both agree."""
    bench.clear()
    scenario = scenario_of(question)
    bench.lay_out(scenario)
    _, _, ours, real = ask(bench, scenario.questions[0])
    return None if agree(ours, real) else (ours, real)


def cases(seed: int, count: int) -> Iterator[Object]:
    """The first questions of a seed, without asking them."""
    for index in range(count):
        scenario = generate(seed, index)
        yield from map(scenario.single, scenario.questions)
