"""Evidence as statements: one line each, with who said it and when, so that one rule reads a live pod and a pasted log.

A container's end becomes `container trainer: reason: OOMKilled, exitCode: 137`, a condition `DisruptionTarget reason:
PreemptionByScheduler: ...`: the words that `kubectl` would show. Statements keep their order inside a source, which is
the only clock a log has; pods, events and conditions carry real times.
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

from tonnage.diagnosis.boxes import Box, boxes_of
from tonnage.diagnosis.evidence import ContainerEnd, Evidence, PodEnd

_HALF_LINE = 2000
_ESCAPES = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[@-Z\\-_])")
_UNPRINTABLE = re.compile(r"[\x00-\x08\x0b-\x1f\x7f]")
Kind = Literal["status", "event", "kernel", "record", "log"]


@dataclass(frozen=True, slots=True)
class Statement:
    """One line of evidence."""

    kind: Kind
    text: str
    source: str
    """As a reader would find it: `log of node 3, line 812`."""
    order: int
    """Place in its source; sources never compare."""
    node: int | None = None
    """Index of the pod it speaks of."""
    when: dt.datetime | None = None


class View:
    """Everything a family may look at."""

    def __init__(self, evidence: Evidence) -> None:
        self.evidence = evidence

    @cached_property
    def boxes(self) -> tuple[Box, ...]:
        return boxes_of(self.evidence)

    @cached_property
    def statements(self) -> tuple[Statement, ...]:
        return tuple(_statements(self.evidence))

    @cached_property
    def logs(self) -> dict[int | None, tuple[Statement, ...]]:
        """Log statements by pod."""
        found: dict[int | None, list[Statement]] = {}
        for each in self.statements:
            if each.kind == "log":
                found.setdefault(each.node, []).append(each)
        return {node: tuple(lines) for node, lines in found.items()}

    @cached_property
    def text(self) -> str:
        """All statements as one text: what a rule looks into before it looks at lines."""
        return "\n".join(each.text for each in self.statements)

    def before(self, statement: Statement, count: int) -> tuple[str, ...]:
        """The lines that lead to a log statement, nearest last."""
        if statement.kind != "log":
            return ()
        lines = self.logs[statement.node]
        return tuple(each.text for each in lines[max(0, statement.order - count) : statement.order])

    def after(self, statement: Statement, count: int) -> tuple[str, ...]:
        """The lines that follow a log statement."""
        if statement.kind != "log":
            return ()
        lines = self.logs[statement.node]
        return tuple(each.text for each in lines[statement.order + 1 : statement.order + 1 + count])


def ended_at(pod: PodEnd) -> dt.datetime | None:
    """When its first container that did not end well ended; what only prepared it and ended well is no end of it."""
    bad = [each for each in pod.containers if each.exit_code or each.reason == "OOMKilled"]
    own = [each for each in pod.containers if not each.is_init]
    times = [each.finished for each in bad or own if each.finished is not None]
    return min(times, default=None)


def _statements(evidence: Evidence) -> Iterator[Statement]:
    for pod in evidence.pods:
        yield from _of_pod(pod)
    for position, event in enumerate(evidence.events):
        kind: Kind = "kernel" if event.kind == "kernel" else "event"
        text = f"{event.reason}: {event.message}" if event.reason else event.message
        source = "kernel log" if kind == "kernel" else f"event of {event.kind} {event.name}"
        yield Statement(kind, text, source, position, _node_of(evidence, event.name), event.when)
    for position, condition in enumerate(evidence.job_conditions):
        if condition.get("status", "True") == "True":
            yield Statement("status", _condition(condition), "job conditions", position)
    yield from _of_logs(evidence)


def _of_logs(evidence: Evidence) -> Iterator[Statement]:
    ended = {pod.index: ended_at(pod) for pod in evidence.pods}
    passed: dict[int, int] = {}
    for log in sorted(evidence.logs, key=lambda each: (each.index, not each.previous)):
        name = log.source or f"log of node {log.index}{', before its restart' if log.previous else ''}"
        for position, line in enumerate(log.lines):
            order = passed.get(log.index, 0)
            passed[log.index] = order + 1
            source = f"{name}, line {position + 1}"
            yield Statement("log", _shown(line), source, order, log.index, ended.get(log.index))
    # A pod that is gone took its log along; the record beside the checkpoints has its last lines.
    for box in boxes_of(evidence):
        if box.node not in passed:
            for position, line in enumerate(box.record.log):
                source = f"agent record of node {box.node}, log line {position + 1}"
                yield Statement("log", _shown(str(line)), source, position, box.node, ended.get(box.node))


def _shown(line: str) -> str:
    """A line as people would have seen it: no colours, no control characters, of a progress bar its newest state.

    What never ends may be a megabyte: its beginning and its end say all there is.

    >>> _shown("\x1b[31mKeyError\x1b[0m: 'labels'"), _shown(" 10%|# \\r 20%|## ")
    ("KeyError: 'labels'", ' 20%|## ')
    """
    if not line.isprintable():
        line = _UNPRINTABLE.sub("", _ESCAPES.sub("", line.rstrip("\r").rpartition("\r")[2]))
    return line if len(line) <= 2 * _HALF_LINE else f"{line[:_HALF_LINE]} … {line[-_HALF_LINE:]}"


def _of_pod(pod: PodEnd) -> Iterator[Statement]:
    when = ended_at(pod)
    if pod.reason:
        text = f"Status: {pod.phase} Reason: {pod.reason} Message: {pod.message}"
        yield Statement("status", text, f"status of pod {pod.name}", 0, pod.index, when)
    for position, condition in enumerate(pod.conditions):
        if condition.get("status") == "True":
            source, at = f"conditions of pod {pod.name}", _time(condition.get("lastTransitionTime")) or when
            yield Statement("status", _condition(condition), source, 1 + position, pod.index, at)
    for position, container in enumerate(pod.containers):
        source = f"status of pod {pod.name}"
        yield Statement("status", end_text(container), source, 50 + position, pod.index, container.finished)


def end_text(container: ContainerEnd) -> str:
    """A container's end in the words of its status."""
    parts = [f"reason: {container.reason}"] if container.reason else []
    if container.exit_code is not None:
        parts.append(f"exitCode: {container.exit_code}")
    if container.signal is not None:
        parts.append(f"signal: {container.signal}")
    is_record = container.message.lstrip().startswith("{")
    if container.message and not is_record:
        parts.append(container.message.strip())
    return f"{'init ' if container.is_init else ''}container {container.name}: {', '.join(parts)}"


def _condition(condition: Mapping[str, Any]) -> str:
    words = f"{condition.get('type', '')} reason: {condition.get('reason', '')}"
    message = str(condition.get("message", "")).strip()
    return f"{words}: {message}" if message else words


def _node_of(evidence: Evidence, name: str) -> int | None:
    return next((pod.index for pod in evidence.pods if pod.name == name), None)


def _time(value: object) -> dt.datetime | None:
    if isinstance(value, dt.datetime):
        return value
    if not isinstance(value, str):
        return None
    try:
        return dt.datetime.fromisoformat(value)
    except ValueError:
        return None
