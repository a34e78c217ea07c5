"""Builders of evidence: pods as a cluster leaves them."""

from __future__ import annotations

import datetime as dt
from typing import Any

from tonnage.diagnosis.evidence import ContainerEnd, Event, Evidence, LogLines, PodEnd

NOON = dt.datetime(2026, 3, 1, 12, 0, tzinfo=dt.UTC)
GIB = 2**30


def at(seconds: float) -> dt.datetime:
    return NOON + dt.timedelta(seconds=seconds)


def a_pod(
    index: int = 0,
    *,
    exit_code: int | None = 1,
    reason: str = "Error",
    ended: float = 0.0,
    disrupted: str = "",
    node: str = "n1",
    **more: Any,
) -> PodEnd:
    """One pod that ended."""
    condition = {"type": "DisruptionTarget", "status": "True", "reason": disrupted}
    condition["lastTransitionTime"] = at(ended).isoformat()
    return PodEnd(
        index=index,
        name=f"r-{index}",
        node=node,
        phase="Succeeded" if exit_code == 0 else "Failed",
        conditions=(condition,) if disrupted else (),
        containers=(ContainerEnd(name="trainer", exit_code=exit_code, reason=reason, finished=at(ended)),),
        **more,
    )


def a_record(*, usage: int = 10 * GIB, limit: int = 64 * GIB, kills: int = 0, **more: Any) -> dict[str, Any]:
    """An agent's black box."""
    memory = {"usage": usage, "peak": usage, "limit": limit, "oomKills": kills}
    return {"state": "running", "memory": memory, "updatedAt": NOON.timestamp(), **more}


def a_log(index: int, *lines: str) -> LogLines:
    return LogLines(index=index, lines=lines)


def an_event(reason: str, message: str, kind: str = "Pod", name: str = "r-0") -> Event:
    return Event(when=NOON, kind=kind, name=name, reason=reason, message=message)


def evidence(*pods: PodEnd, **more: Any) -> Evidence:
    return Evidence(pods=pods, **more)
