"""Who holds a run that waits: the scheduler, a quota, a queue, an image. Pure: from objects and events to one line."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from tonnage.cluster.messages.quota import QuotaExceeded, parse_quota_refusal
from tonnage.cluster.messages.scheduling import FailedScheduling, parse_failed_scheduling
from tonnage.kube.running import reading
from tonnage.kube.running.looking import Look
from tonnage.kube.running.states import stuck_reason

Object = Mapping[str, Any]
MOST_REASONS = 3
_FORBIDDEN = re.compile(r'^(?:Error creating: )?pods "[^"]*" is forbidden: ')


def held_by(
    look: Look,
    events: Iterable[Object],
    *,
    workload: Object | None = None,
    queue: str = "",
    place: int | None = None,
) -> str:
    """One line; empty where nobody says anything yet."""
    if workload is not None and reading.condition(workload, "Admitted") is None:
        return _queue(workload, queue, place)
    if queue and workload is None:
        return f"queue {queue}: Kueue has not looked at it yet"
    pods = list(look.newest.values())
    stuck = [text for pod in pods if (text := stuck_reason(pod))]
    if stuck:
        return stuck[0]
    waiting = [text for pod in pods if (text := _unscheduled(pod))]
    if waiting:
        return scheduling(waiting[0], len(waiting), look.nodes)
    if len(pods) < look.nodes:
        return _refused(events) or ""
    return ""


def scheduling(message: str, waiting: int, pods: int) -> str:
    """The scheduler's answer: the reasons that most nodes gave."""
    parsed = parse_failed_scheduling(message)
    head = "scheduler" if pods == 1 else f"scheduler, {waiting} of {pods} pods"
    if parsed is None:
        return f"{head}: {' '.join(message.split())}"
    return f"{head}: {_reasons(parsed)}"


def _reasons(parsed: FailedScheduling) -> str:
    if not parsed.reasons:
        return parsed.stopped or f"none of {parsed.nodes} nodes"
    ordered = sorted(parsed.reasons, key=lambda each: -each.count)
    shown = ", ".join(f"{each.count} {each.reason}" for each in ordered[:MOST_REASONS])
    more = len(ordered) - MOST_REASONS
    return f"0 of {parsed.nodes} nodes: {shown}" + (f" and {more} more reasons" if more > 0 else "")


def _unscheduled(pod: Object) -> str:
    """What the scheduler wrote on a pod it could not place; gates of other controllers count too."""
    for each in reading.conditions(pod):
        if each.get("type") == "PodScheduled" and each.get("status") == "False":
            return str(each.get("message") or each.get("reason") or "not scheduled yet")
    return ""


def _refused(events: Iterable[Object]) -> str:
    """Why the controller could make no pod: a quota, a limit range, a webhook."""
    found = [each for each in events if each.get("reason") in ("FailedCreate", "FailedCreatePod")]
    if not found:
        return ""
    last = max(found, key=lambda each: str(each.get("lastTimestamp") or each.get("eventTime") or ""))
    text = _FORBIDDEN.sub("", str(last.get("message", "")))
    quota = parse_quota_refusal(text)
    if isinstance(quota, QuotaExceeded):
        return _exceeded(quota)
    return f"quota: {quota}" if quota is not None else " ".join(text.split())


def _exceeded(quota: QuotaExceeded) -> str:
    parts = [
        f"{key} {quota.used.get(key, '?')} of {quota.limited.get(key, '?')} used, {asked} more asked"
        for key, asked in quota.requested.items()
    ]
    return f"quota {quota.quota}: {'; '.join(parts)}"


def _queue(workload: Object, queue: str, place: int | None) -> str:
    head = f"queue {queue}" if queue else "queue"
    if place is not None:
        head += f", {ordinal(place)} in line"
    reserved = next((c for c in reading.conditions(workload) if c.get("type") == "QuotaReserved"), None)
    if reserved is not None and reserved.get("status") == "True":
        return f"{head}: quota reserved, checks are pending"
    evicted = reading.condition(workload, "Evicted")
    said = reserved or evicted
    message = " ".join(str((said or {}).get("message", "")).split())
    return f"{head}: {message}" if message else head


def ordinal(position: int) -> str:
    """A place in a line, counted from 0.

    >>> [ordinal(n) for n in (0, 1, 2, 3, 10, 20, 21)]
    ['1st', '2nd', '3rd', '4th', '11th', '21st', '22nd']
    """
    number = position + 1
    suffix = "th" if 10 <= number % 100 <= 20 else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number}{suffix}"


def position_in(pending: Sequence[Object], name: str) -> int | None:
    """The place of a workload in its LocalQueue, as Kueue's visibility says."""
    for each in pending:
        if (each.get("metadata") or {}).get("name") == name:
            place = each.get("positionInLocalQueue")
            return int(place) if place is not None else None
    return None
