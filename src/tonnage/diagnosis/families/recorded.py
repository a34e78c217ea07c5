"""What the agents' black boxes say: counters and causes written before death, so they are there when all else is gone.

An agent and its command die in the same instant on cgroup v2, so a record that still says `running` beside memory at
its limit is how an OOM kill looks when nobody was left to tell. What the agent did itself (deadline, budget, a peer
that never came) it says in `cause`.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from tonnage.diagnosis.families.memory import is_near_limit
from tonnage.diagnosis.finding import Line
from tonnage.diagnosis.rules import Family, Sign, Tier
from tonnage.diagnosis.statements import View
from tonnage.units import format_bytes

_SPIKE_PHASES = frozenset(("load", "checkpoint", "eval", "evaluation", "preprocess", "shuffle", "cache"))
_OF_CAUSE: Mapping[str, tuple[str, Tier, float]] = {
    "deadline": ("PRE-07", Tier.OURS, 0.99),
    "budget": ("PRE-07", Tier.OURS, 0.99),
    "preflight": ("NET-04", Tier.OURS, 0.9),
    "terminated": ("EXT-01", Tier.EXIT, 0.6),  # somebody sent SIGTERM; who, others must say
}
_KILLED = 137
_MUCH = 0.05
"""Growth over its life that is worth a word, as a share of the limit."""


def signs(view: View) -> Iterable[Sign]:
    """From every record; contributions (growth, the phase) stand behind what they explain."""
    for node, record in sorted(view.evidence.records.items()):
        yield from _of_cause(node, record)
        yield from _of_memory(view, node, record)


def _of_cause(node: int, record: Mapping[str, Any]) -> Iterator[Sign]:
    if (known := _OF_CAUSE.get(str(record.get("cause", "")))) is not None:
        code, tier, confidence = known
        text = str(record.get("message") or record.get("peers") or f"cause {record['cause']}")
        yield Sign(
            code=code,
            tier=tier,
            confidence=confidence,
            lines=(Line(_source(node), text),),
            node=node,
            when=_time(record),
        )


def _of_memory(view: View, node: int, record: Mapping[str, Any]) -> Iterator[Sign]:
    memory = record.get("memory") or {}
    kills = memory.get("oomKills") or 0
    is_full = is_near_limit(memory, 0.97)
    if not kills and not (is_full and _was_killed(view, node, record)):
        return
    lines = [Line(_source(node), _usage_text(memory))]
    if kills:
        lines.insert(0, Line(_source(node), f"oom_kill count rose by {kills}"))
    yield Sign(
        code="MEM-01" if is_full or not _is_below(memory) else "MEM-02",
        tier=Tier.RUNTIME,
        confidence=0.97 if kills and is_full else 0.9 if kills else 0.85,
        lines=tuple(lines),
        node=node,
        when=_time(record),
    )
    yield from _explanations(node, record, memory)


def _explanations(node: int, record: Mapping[str, Any], memory: Mapping[str, Any]) -> Iterator[Sign]:
    growth, phase = memory.get("growthPerSecond"), str(record.get("phase", ""))
    if isinstance(growth, int | float) and growth * _lived(record) > _MUCH * (memory.get("limit") or 0):
        text = f"grew by {format_bytes(growth * 3600)} per hour"
        yield _contribution("MEM-11", node, text)
    if phase in _SPIKE_PHASES:
        yield _contribution("MEM-12", node, f"in phase {phase}")


def _lived(record: Mapping[str, Any]) -> float:
    began, ended = record.get("startedAt"), record.get("updatedAt")
    if not isinstance(began, int | float) or not isinstance(ended, int | float):
        return 0.0
    return max(ended - began, 0.0)


def _contribution(code: str, node: int, text: str) -> Sign:
    return Sign(code=code, tier=Tier.WRAPPER, confidence=0.7, lines=(Line(_source(node), text),), node=node)


def _was_killed(view: View, node: int, record: Mapping[str, Any]) -> bool:
    """Whether this pod was killed without a word: SIGKILL, or a record that never learned of an end."""
    pod = next((pod for pod in view.evidence.pods if pod.index == node), None)
    ends = [end for end in pod.containers if not end.is_init] if pod is not None else []
    if any(end.exit_code == _KILLED or end.signal == 9 for end in ends):
        return True
    ended_otherwise = any(end.exit_code is not None for end in ends)
    return not ended_otherwise and (record.get("state") == "running" or record.get("signal") == 9)


def _is_below(memory: Mapping[str, Any]) -> bool:
    """Whether usage is known to have been well below the limit (or there was none): then it was not its own wall."""
    usage, limit = memory.get("peak") or memory.get("usage"), memory.get("limit")
    return isinstance(usage, int) and (not isinstance(limit, int) or usage < 0.8 * limit)


def _usage_text(memory: Mapping[str, Any]) -> str:
    usage = memory.get("peak") or memory.get("usage") or 0
    limit = memory.get("limit")
    return f"RAM {format_bytes(usage)}" + (f" of {format_bytes(limit)}" if limit else ", no limit")


def _source(node: int) -> str:
    return f"agent record of node {node}"


def _time(record: Mapping[str, Any]) -> dt.datetime | None:
    at = record.get("updatedAt")
    return dt.datetime.fromtimestamp(at, dt.UTC) if isinstance(at, int | float) else None


FAMILY = Family(signs=signs)
