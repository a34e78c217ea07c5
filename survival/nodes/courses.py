"""Courses of their own on real nodes: a gang that loses either pod, work that dies by itself."""

from __future__ import annotations

import random
import time
from collections.abc import Callable

from survival.case import Injury, Outcome
from survival.machine.injuries import HOST_OOM, OOM, OUTSIDE, UNKNOWN
from survival.nodes.bench import LAUNCHER, NodesBench

Course = Callable[[NodesBench, Outcome, random.Random], None]
RANKS = (0, 1)


def loses(*pods: int) -> Course:
    """A gang on two nodes that loses each of these pods, one after the other in any order."""

    def act(bench: NodesBench, outcome: Outcome, chance: random.Random) -> None:
        since = 0.0
        for pod in chance.sample(pods, len(pods)):
            attempt = bench.wait_for_life(since, steps=3)
            if attempt is None:
                outcome.wrong.append(f"it was over before pod {pod} was lost: too short a training")
                return
            _on_two_nodes(bench, outcome, attempt)
            time.sleep(chance.uniform(0.3, 2.0))
            outcome.injuries.append(_lose(bench, attempt, pod))
            since = outcome.injuries[-1].when
        bench.wait_for_life(since)

    return act


either_pod = loses(*RANKS)
any_pod_of_mpi = loses(*RANKS, LAUNCHER)


def _lose(bench: NodesBench, attempt: int, pod: int) -> Injury:
    """Somebody deletes it by force: for a gang, the same as a node that is gone."""
    name = bench.pod(attempt, pod)["metadata"]["name"]
    when = time.time()
    bench.kubectl("delete", "pod", "-n", bench.namespace, name, "--force", "--grace-period=0")
    kind = "launcher-gone" if pod == LAUNCHER else "pod-gone"
    return Injury(kind=kind, attempt=attempt, when=when, codes=OUTSIDE, causes=UNKNOWN, note=name)


def _on_two_nodes(bench: NodesBench, outcome: Outcome, attempt: int) -> None:
    """What runs on one node proves no wiring between two."""
    places = {bench.pod(attempt, rank)["spec"]["nodeName"] for rank in RANKS}
    if len(places) != len(RANKS):
        outcome.wrong.append(f"attempt {attempt}: both ranks run on {places.pop()}")


def own_oom(bench: NodesBench, outcome: Outcome, chance: random.Random) -> None:  # noqa: ARG001
    """It runs over its own limit, late."""
    bench.wait_for_end()
    for attempt in bench.record().attempts:
        if attempt.ending is not None and not attempt.ending.is_success:
            when = attempt.ending.when.timestamp()
            outcome.injuries.append(
                Injury(kind="oom-at-90", attempt=attempt.number, when=when, codes=OOM, causes=HOST_OOM)
            )
    if not outcome.injuries:
        outcome.wrong.append("nothing ran out of memory: the case proves nothing")
