"""Where and when it starts, and the walls before that."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tonnage.planning.answers import NodeGroup
from tonnage.reporting.plan.row import Mood, Row
from tonnage.reporting.plan.views import PlacementView, PlanView

MOST_POOLS = 3
"""Pools named one by one; a large cluster has dozens."""


def start_rows(view: PlanView) -> Iterator[Row]:
    placement = view.placement
    if placement is None:
        return
    lines = [_when(placement), *_where(placement)]
    lines += _carried(placement)
    if not placement.sees_all:
        lines.append("only one namespace was seen: others may hold what looks free")
    state, mood = ("now", "good") if placement.now.fits else ("not now", "warning")
    if not placement.empty.fits:
        state, mood = "nowhere", "bad"
    yield Row("Starts", tuple(lines), state, mood)  # type: ignore[arg-type]


def target_rows(view: PlanView) -> Iterator[Row]:
    """The object it becomes, and what that has no words for."""
    target = view.target
    if target is None:
        return
    if not target.kind:
        yield Row("Becomes", (target.why,), "refused", "bad")
        return
    lacks = f"it cannot express {', '.join(target.lacks)}: done instead, see docs/targets.md"
    yield Row("Becomes", (f"{target.kind}: {target.why}", lacks))


def wall_rows(view: PlanView) -> Iterator[Row]:
    order = {"never": 0, "wait": 1, "unknown": 2, "open": 3}
    reasons = view.verdict.reasons  # told at the top already
    walls = sorted(
        (wall for wall in view.walls if wall.text not in reasons), key=lambda wall: order[wall.standing]
    )
    telling = [wall for wall in walls if wall.standing != "open"]
    shown = telling[:3] or walls[:1]
    moods: dict[str, Mood] = {"never": "bad", "wait": "warning", "unknown": "quiet", "open": "good"}
    words = {"never": "refused", "wait": "must wait", "unknown": "unknown", "open": "open"}
    for index, wall in enumerate(shown):
        yield Row("" if index else "Walls", (wall.text,), words[wall.standing], moods[wall.standing])


def _when(placement: PlacementView) -> str:
    now, empty = placement.now, placement.empty
    total = sum(group.nodes for group in placement.groups)
    if now.fits:
        names = list(now.nodes)
        example = ", ".join(names[:2]) + (f" and {len(names) - 2} more" if len(names) > 2 else "")
        return f"now: {now.feasible:,} of {total:,} nodes would take it ({example})"
    if empty.fits:
        waiting = f"{now.placed:,} of {now.wanted:,} pods find a place now"
        come = sum(group.to_come for group in placement.groups if group.takes_empty)
        when = f"once the autoscaler adds nodes (up to {come:,})" if come else "when others leave"
        return f"{when}: {waiting}; {empty.feasible:,} of {total:,} nodes would do if empty"
    if not total:
        return "there are no nodes"
    if empty.placed:
        return f"{empty.placed:,} of {empty.wanted:,} pods find a place, even on empty nodes"
    return f"no node of {total:,} would take it, even empty"


def _carried(placement: PlacementView) -> Iterator[str]:
    """Labels and tolerations the pods bring along."""
    if placement.needs:
        said = ", ".join(placement.needs)
        yield said if placement.needs[0].startswith("tolerates") else f"needs {said}"


def _where(placement: PlacementView) -> Iterator[str]:
    """Pools beside each other, where there is more than one to tell apart; else what keeps all of them away."""
    taking = [group for group in placement.groups if group.takes_empty]
    if len(taking) > 1 or (taking and not placement.now.fits):
        yield from map(_taking, taking[:MOST_POOLS])
        yield from _more(taking)
    if not taking:
        telling = [
            group
            for group in placement.groups
            if group.gpus_per_node or not any(other.gpus_per_node for other in placement.groups)
        ]
        away: dict[str, list[NodeGroup]] = {}
        for group in telling:
            if why := _away(group):
                away.setdefault(why, []).append(group)
        yield from (f"{_names(groups)}: {why}" for why, groups in list(away.items())[:MOST_POOLS])
        yield from _more(list(away))


def _more(found: Sequence[object]) -> Iterator[str]:
    if len(found) > MOST_POOLS:
        yield f"and {len(found) - MOST_POOLS} more: -o json shows each"


def _taking(group: NodeGroup) -> str:
    small = "; its GPU is too small" if group.memory_fits is False else ""
    return f"{_name(group)}: {group.takes_now} now, {group.takes_empty} of {group.nodes} if empty{small}"


def _away(group: NodeGroup) -> str:
    """What keeps pods off these nodes."""
    if group.taints:
        return f"taint{'' if len(group.taints) == 1 else 's'} {', '.join(group.taints)} not tolerated"
    return ", ".join(group.reasons[:2])


def _names(groups: Sequence[NodeGroup]) -> str:
    """Pools that answer alike; those beyond a few are counted."""
    names = ", ".join(map(_name, groups[:MOST_POOLS]))
    return f"{names} and {len(groups) - MOST_POOLS} more" if len(groups) > MOST_POOLS else names


def _name(group: NodeGroup) -> str:
    name = f"{group.gpus_per_node} x {group.gpu}" if group.gpus_per_node else (group.gpu or "no GPU")
    return f"{group.pool} ({name})" if group.pool and group.pool != group.gpu else name
