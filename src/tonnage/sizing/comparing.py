"""All policies on one history, side by side: the table by which people come to trust one of them, or not.

The verdict is computed and never assumed: where another policy did better on either axis, the table's reader is told
which, at how much history, and for which time to failure.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tonnage.sizing.backtest import MIN_HISTORIES, TIMES_TO_FAILURE, Score, in_order, walk
from tonnage.sizing.baselines import baselines
from tonnage.sizing.expected_cost import ExpectedCost
from tonnage.sizing.policy import Policy
from tonnage.sizing.task import Task

OURS = "tonnage"
RIVALS = ("rule_of_thumb", "krr", "vpa")


@dataclass(frozen=True)
class Comparison:
    """Scores by time to failure, least history and policy."""

    num_tasks: int
    num_signatures: int
    scores: dict[float, dict[int, dict[str, Score]]]

    @property
    def num_judged(self) -> int:
        """Instances with at least one earlier run, which is where policies can differ."""
        return max((score.first_attempts for score in self._all()), default=0)

    def _all(self) -> list[Score]:
        return [
            score for by in self.scores.values() for policies in by.values() for score in policies.values()
        ]


def policies() -> dict[str, Policy]:
    """Every policy by its name, ours first."""
    known: tuple[Policy, ...] = (ExpectedCost(OURS), *baselines())
    return {policy.name: policy for policy in known}


def compare(tasks: Sequence[Task], names: Sequence[str] = ()) -> Comparison:
    """The back-test of the named policies, of all of them by default."""
    ordered = in_order(tasks)
    chosen = {name: policy for name, policy in policies().items() if not names or name in names}
    scores: dict[float, dict[int, dict[str, Score]]] = {}
    for time_to_failure in TIMES_TO_FAILURE:
        walked = {name: walk(ordered, policy, time_to_failure) for name, policy in chosen.items()}
        scores[time_to_failure] = {
            least: {name: found[least] for name, found in walked.items()} for least in MIN_HISTORIES
        }
    return Comparison(len(ordered), len({task.signature for task in ordered}), scores)
