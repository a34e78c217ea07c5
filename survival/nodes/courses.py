"""Courses of their own on real nodes: a gang that loses either pod, work that nobody should have started."""

from __future__ import annotations

import random
import time

from survival.case import Injury, Outcome
from survival.machine.injuries import HOST_OOM, OOM, UNKNOWN
from survival.nodes.bench import NodesBench

LOST = frozenset(("EXT-01", "UNKNOWN", "NET-03"))
LOST_CAUSES = UNKNOWN | {"network"}


def either_pod(bench: NodesBench, outcome: Outcome, chance: random.Random) -> None:
    """First the one pod of a gang vanishes, then the other."""
    order = [0, 1]
    chance.shuffle(order)
    for attempt, node in enumerate(order, start=1):
        if not bench.wait_for_attempt(attempt, steps=3):
            return
        time.sleep(chance.uniform(0.3, 2.0))
        name = bench.pod(attempt, node)["metadata"]["name"]
        when = time.time()
        bench.kubectl("delete", "pod", "-n", bench.namespace, name, "--force", "--grace-period=0")
        outcome.injuries.append(
            Injury(
                kind="pod-gone",
                attempt=attempt,
                when=when,
                codes=LOST,
                causes=LOST_CAUSES,
                note=f"pod {node} of {outcome.case}",
            )
        )
    bench.wait_for_attempt(len(order) + 1, steps=1)


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
