"""What the agents' black boxes say: counters and causes written before death, so they are there when all else is gone.

An agent and its command die in the same instant on cgroup v2, so a record that still says `running` beside memory at
its limit is how an OOM kill looks when nobody was left to tell. What the agent did itself (deadline, budget, a peer
that never came) it says in `cause`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from tonnage.diagnosis.boxes import Box
from tonnage.diagnosis.finding import Line
from tonnage.diagnosis.rules import Family, Sign, Tier, rule
from tonnage.diagnosis.statements import View
from tonnage.units import format_bytes
from tonnage_agent.contract import EXIT_AGENT, EXIT_BUDGET, EXIT_DEADLINE, EXIT_PREFLIGHT

_SPIKE_PHASES = frozenset(("load", "checkpoint", "eval", "evaluation", "preprocess", "shuffle", "cache"))
_OF_CAUSE: Mapping[str, tuple[str, Tier, float]] = {
    "deadline": ("PRE-07", Tier.OURS, 0.99),
    "budget": ("PRE-07", Tier.OURS, 0.99),
    "preflight": ("NET-04", Tier.OURS, 0.9),
    "terminated": ("EXT-01", Tier.EXIT, 0.6),  # somebody sent SIGTERM; who, others must say
}
_KILLED = 137
_FULL = 0.97
_NEARLY_FULL = 0.9
"""Enough where page cache is told apart: the last sample is a moment older than the kill."""
_WELL_BELOW = 0.8
_MUCH = 0.05
"""Growth over its life that is worth a word, as a share of the limit."""


def signs(view: View) -> Iterable[Sign]:
    """From every record; contributions (growth, the phase) stand behind what they explain."""
    for box in view.boxes:
        yield from _of_cause(box)
        yield from _of_memory(view, box)
        yield from _of_disks(box)


def _of_cause(box: Box) -> Iterator[Sign]:
    record = box.record
    if (known := _OF_CAUSE.get(record.cause)) is not None:
        code, tier, confidence = known
        text = record.message or record.peers or f"cause {record.cause}"
        yield Sign(
            code=code,
            tier=tier,
            confidence=confidence,
            lines=(Line(_source(box), text),),
            node=box.node,
            when=box.updated,
        )


def _of_memory(view: View, box: Box) -> Iterator[Sign]:
    is_full = (box.fullness or 0.0) >= (_FULL if box.needed is None else _NEARLY_FULL)
    if not box.oom_kills and not (is_full and _was_killed(view, box)):
        return
    lines = [Line(_source(box), _usage_text(box))]
    if box.oom_kills:
        lines.insert(0, Line(_source(box), f"oom_kill count rose by {box.oom_kills}"))
    yield Sign(
        code="MEM-02" if _is_well_below(box) else "MEM-01",
        tier=Tier.RUNTIME,
        confidence=0.97 if box.oom_kills and is_full else 0.9 if box.oom_kills else 0.85,
        lines=tuple(lines),
        node=box.node,
        when=box.updated,
    )
    yield from _explanations(box)


def _of_disks(box: Box) -> Iterator[Sign]:
    """A full disk explains an end that nothing else does."""
    if box.full_disks:
        line = Line(_source(box), f"no room left: {', '.join(box.full_disks)}")
        yield Sign(
            code="STO-02", tier=Tier.EXIT, confidence=0.7, lines=(line,), node=box.node, when=box.updated
        )


def _explanations(box: Box) -> Iterator[Sign]:
    growth, phase = box.growth_per_second or 0.0, box.record.phase
    if growth * box.lived_seconds > _MUCH * (box.limit or 0):
        yield _contribution("MEM-11", box, f"grew by {format_bytes(growth * 3600)} per hour")
    if phase in _SPIKE_PHASES:
        yield _contribution("MEM-12", box, f"in phase {phase}")


def _contribution(code: str, box: Box, text: str) -> Sign:
    return Sign(
        code=code, tier=Tier.WRAPPER, confidence=0.7, lines=(Line(_source(box), text),), node=box.node
    )


def _was_killed(view: View, box: Box) -> bool:
    """Whether this pod was killed without a word: SIGKILL, or a record that never learned of an end."""
    pod = next((pod for pod in view.evidence.pods if pod.index == box.node), None)
    ends = [end for end in pod.containers if not end.is_init] if pod is not None else []
    if any(end.exit_code == _KILLED or end.signal == 9 for end in ends):
        return True
    ended_otherwise = any(end.exit_code is not None for end in ends)
    return not ended_otherwise and (box.record.state == "running" or box.record.signal == 9)


def _is_well_below(box: Box) -> bool:
    """Whether even its peak is known to have been well below the limit (or there was none): not its own wall."""
    return box.usage is not None and (box.limit is None or box.usage < _WELL_BELOW * box.limit)


def _usage_text(box: Box) -> str:
    limit = f" of {format_bytes(box.limit)}" if box.limit else ", no limit"
    return f"RAM {format_bytes(box.usage or 0)}{limit}"


def _source(box: Box) -> str:
    return f"agent record of node {box.node}"


FAMILY = Family(
    # The agent's own exit codes, where its record is lost.
    rules=(
        rule("NET-04", Tier.EXIT, 0.8, rf"exitCode: {EXIT_PREFLIGHT}\b"),
        rule("PRE-07", Tier.EXIT, 0.85, rf"exitCode: {EXIT_DEADLINE}\b"),
        rule("PRE-07", Tier.EXIT, 0.85, rf"exitCode: {EXIT_BUDGET}\b"),
        rule("SCH-07", Tier.EXIT, 0.8, rf"exitCode: {EXIT_AGENT}\b"),
    ),
    signs=signs,
)
