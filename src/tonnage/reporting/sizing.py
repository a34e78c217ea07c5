"""The back-test's answer for people and programs: a table per time to failure, and what it means in a few words.

The verdict is read off the table, also where it is not flattering: a reader who finds that another policy would have
done better on their own history should hear it from us first.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from tonnage.figures import plural
from tonnage.sizing.backtest import Score
from tonnage.sizing.comparing import OURS, RIVALS, Comparison

NAMES = {
    "tonnage": "tonnage",
    "krr": "KRR",
    "vpa": "VPA",
    "rule_of_thumb": "rule of thumb",
    "user": "as requested",
}


class Line(msgspec.Struct, frozen=True, kw_only=True):
    """One policy in one table: a score for each least history, in the table's order."""

    policy: str
    scores: tuple[Score, ...]


class Table(msgspec.Struct, frozen=True, kw_only=True):
    """All policies at one time to failure."""

    time_to_failure: float
    histories: tuple[int, ...]
    instances: tuple[int, ...]
    lines: tuple[Line, ...]


class BacktestView(msgspec.Struct, frozen=True, kw_only=True):
    """What the terminal shows."""

    num_tasks: int
    num_signatures: int
    tables: tuple[Table, ...]
    meaning: tuple[str, ...]


def view_backtest(found: Comparison) -> BacktestView:
    """Tables and their meaning."""
    return BacktestView(
        num_tasks=found.num_tasks,
        num_signatures=found.num_signatures,
        tables=tuple(_table(time, by_history) for time, by_history in found.scores.items()),
        meaning=tuple(_meaning(found)),
    )


def backtest_json(found: Comparison) -> dict[str, Any]:
    """The stable JSON shape."""
    return {
        "tasks": found.num_tasks,
        "signatures": found.num_signatures,
        "time_to_failure": {
            str(time): {
                "min_history": {
                    str(least): {name: score_json(score) for name, score in policies.items()}
                    for least, policies in by_history.items()
                }
            }
            for time, by_history in found.scores.items()
        },
    }


def score_json(score: Score) -> dict[str, float | int]:
    """One policy's figures; the rate is a share, not a percentage."""
    return {
        "oom_rate": score.oom_rate,
        "waste_gib_hours": score.waste_gib_hours,
        "retries": score.retries,
        "first_attempts": score.first_attempts,
    }


def _table(time: float, by_history: dict[int, dict[str, Score]]) -> Table:
    columns = list(by_history.values())
    lines = (Line(policy=name, scores=tuple(column[name] for column in columns)) for name in columns[0])
    instances = tuple(next(iter(column.values())).first_attempts for column in columns)
    return Table(time_to_failure=time, histories=tuple(by_history), instances=instances, lines=tuple(lines))


def _meaning(found: Comparison) -> Iterator[str]:
    """Whether ours is better than the others, and where it is not; what the users' own requests would have cost."""
    cells = [
        (time, least, policies)
        for time, by_history in found.scores.items()
        for least, policies in by_history.items()
        if next(iter(policies.values())).first_attempts
    ]
    present = [name for name in RIVALS if cells and name in cells[0][2]]
    if not cells or OURS not in cells[0][2]:
        return
    worse = [
        line
        for time, least, policies in cells
        for rival in present
        for line in _worse(policies[OURS], policies[rival], NAMES[rival], f">={least}, {time:g}")
    ]
    if present and not worse:
        names = _listed([NAMES[name] for name in present])
        yield f"tonnage: fewer deaths and less waste than {names}, at every history and time to failure."
    elif present:
        num_figures = 2 * len(cells) * len(present)
        yield f"tonnage: better in {num_figures - len(worse)} of {num_figures} comparisons; not better: {_some(worse)}."
    if "user" in cells[0][2]:
        yield from _against_user(cells[0][2][OURS], cells[0][2]["user"])


def _worse(ours: Score, other: Score, name: str, where: str) -> Iterator[str]:
    if ours.deaths >= other.deaths:
        yield f"deaths against {name} ({where})"
    if ours.waste_gib_hours >= other.waste_gib_hours:
        yield f"waste against {name} ({where})"


def _against_user(ours: Score, user: Score) -> Iterator[str]:
    if ours.waste_gib_hours <= 0 or user.waste_gib_hours <= 0:
        return
    times = user.waste_gib_hours / ours.waste_gib_hours
    deaths = plural(user.deaths, "death") if user.deaths else "no deaths"
    yield f"As requested: {deaths}, {times:.1f} times tonnage's waste."


def _some(worse: list[str], most: int = 4) -> str:
    rest = len(worse) - most
    return ", ".join(worse[:most]) + (f" and {rest} more" if rest > 0 else "")


def _listed(names: list[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
