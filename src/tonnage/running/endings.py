"""From evidence to the ending that goes into an attempt's history: classified once, kept for ever.

Kubernetes fills in reasons late (an OOM kill may read `Error` for a moment, a node may be gone before it is marked
so). So a finding that is not sure is looked at again until the evidence has had time to settle.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from tonnage.diagnosis.classifying import classify
from tonnage.diagnosis.evidence import Evidence
from tonnage.diagnosis.finding import Finding
from tonnage.diagnosis.statements import ended_at
from tonnage.memory.series import Point, growth_of
from tonnage.memory.series.growing import LEAST_POINTS
from tonnage.running.attempts import Attempt, Cause, Ending
from tonnage.running.causes import cause_of
from tonnage.running.observing import Observation

SETTLE_SECONDS = 10.0
"""How long reasons may come late; the kubelet's status loop and the job controller are well within it."""
SURE = 0.8
_OOM_CODES = frozenset(("MEM-01", "MEM-02", "MEM-10", "MEM-11", "MEM-12"))


def ending_of(
    attempt: Attempt,
    observation: Observation,
    evidence: Evidence,
    now: dt.datetime,
    *,
    series: Mapping[int, Sequence[Point]] | None = None,
) -> Ending | None:
    """How the attempt ended; None while evidence may still come (gather it again in a few seconds).

    `series` is the memory of each pod over time, where it was kept: it judges growth better than the record's slope.
    """
    if attempt.stopping and not evidence.stopped_by_us:
        evidence = replace(evidence, stopped_by_us=attempt.stopping)
    finding = classify(evidence)
    facts = _Facts(attempt, observation, evidence, now, series or {})
    if has_exited_well(evidence):
        if finding.code not in _OOM_CODES:
            return facts.ending(None, "", _how_it_finished(facts))
        if facts.is_complete:
            return facts.ending(None, "", "all steps were made; a child process was OOM-killed on the way")
    if finding.confidence < SURE and not _has_settled(observation, evidence, now):
        return None
    cause = cause_of(finding, evidence)
    return facts.ending(cause, finding.code, summary_of(finding, cause, evidence), finding)


def has_exited_well(evidence: Evidence) -> bool:
    """Whether everything that ran exited 0: by its containers, or by the job where pods are gone."""
    if evidence.stopped_by_us:
        return False
    is_complete = any(
        each.get("type") in ("Complete", "SuccessCriteriaMet", "Completed", "Succeeded")
        and each.get("status") == "True"
        for each in evidence.job_conditions
    )
    seen = [pod for pod in evidence.pods if not pod.is_gone]
    ends = [[end.exit_code for end in pod.containers if not end.is_init] for pod in seen]
    if not seen:
        return is_complete or _records_say_so(evidence)
    return all(codes and all(code == 0 for code in codes) for codes in ends) and not any(
        pod.phase == "Failed" or pod.reason == "Evicted" for pod in seen
    )


def summary_of(finding: Finding, cause: Cause, evidence: Evidence) -> str:
    """One line: who, what."""
    who = _who(finding, evidence)
    match cause:
        case "host_oom" if finding.code == "MEM-01":
            return f"{who}OOM-killed: over its own limit"
        case "host_oom":
            return f"{who}OOM: {finding.title}"
        case "gpu_oom":
            return f"{who}OOM: {finding.title}"
        case "deadline" | "budget" | "stopped" | "hang":
            return finding.evidence[0].text if finding.evidence else cause
        case "code" if finding.evidence:
            return f"{who}{finding.title}: {finding.evidence[0].text}"
        case _:
            return f"{who}{finding.title}"


def _who(finding: Finding, evidence: Evidence) -> str:
    """The rank where it is known, else the pod where there are several."""
    if finding.node is None:
        return ""
    rank = evidence.records.get(finding.node, {}).get("firstRank")
    if isinstance(rank, int):
        return f"rank {rank} "
    return f"node {finding.node} " if len(evidence.pods) > 1 else ""


class _Facts:
    """What the records and the last look say of an attempt's end."""

    def __init__(
        self,
        attempt: Attempt,
        observation: Observation,
        evidence: Evidence,
        now: dt.datetime,
        series: Mapping[int, Sequence[Point]],
    ) -> None:
        self.attempt, self.observation, self.evidence, self.series = attempt, observation, evidence, series
        self.records = [record for _, record in sorted(evidence.records.items())]
        ended = [at for pod in evidence.pods if (at := ended_at(pod)) is not None]
        self.when = min(ended, default=observation.since or now)

    def ending(self, cause: Cause | None, code: str, summary: str, finding: Finding | None = None) -> Ending:
        """The ending with all that is known beside its cause."""
        node = finding.node if finding else None
        saved_step, saved_at = self.saved
        return Ending(
            when=self.when,
            cause=cause,
            code=code,
            summary=summary,
            node=node,
            step=self.total if cause is None and self.is_complete else self.step,
            safe_step=saved_step,
            lost_seconds=None if cause is None else self._lost(saved_at),
            peak=self.peak,
            growth_per_second=self._growth(node),
            seconds_left=self._seconds_left(),
            evidence=tuple(f"{line.text}   {line.source}" for line in finding.evidence) if finding else (),
        )

    @property
    def step(self) -> int | None:
        steps = [step for record in self.records if isinstance(step := record.get("step"), int)]
        seen = self.observation.progress
        return max([*steps, *([seen.step] if seen else [])], default=None)

    @property
    def total(self) -> int | None:
        totals = [total for record in self.records if isinstance(total := record.get("total"), int)]
        seen = self.observation.progress
        return max([*totals, *([seen.total] if seen and seen.total is not None else [])], default=None)

    @property
    def is_complete(self) -> bool:
        """Whether the last step was made; scripts count from 0 or from 1."""
        return self.step is not None and self.total is not None and self.step + 1 >= self.total

    @property
    def saved(self) -> tuple[int | None, dt.datetime | None]:
        """The newest whole checkpoint anybody knows of."""
        kept = [_part(record, "checkpoint") for record in self.records]
        known = [(int(each["step"]), _time(each.get("when"))) for each in kept if "step" in each]
        if (seen := self.observation.saved) is not None:
            known.append((seen.step, seen.when))
        return max(known, key=lambda pair: pair[0], default=(None, None))

    @property
    def peak(self) -> int | None:
        """The most RAM that one pod held."""
        seen = [_part(record, "memory") for record in self.records]
        peaks = [
            value for each in seen for name in ("peak", "usage") if isinstance(value := each.get(name), int)
        ]
        if (now := self.observation.memory) is not None:
            peaks.append(max(now.usage, now.peak or 0))
        return max(peaks, default=None)

    def _growth(self, node: int | None) -> float | None:
        """How fast memory grew: of the pod that died, else the fastest."""
        if node is not None and len(kept := self.series.get(node, ())) >= LEAST_POINTS:
            growth = growth_of(kept, limit=self.attempt.size.memory)
            return growth.bytes_per_second if growth.is_growing else None
        own = self.evidence.records.get(node) if node is not None else None
        seen = [_part(record, "memory") for record in ([own] if own is not None else self.records)]
        rates = [float(rate) for each in seen if isinstance(rate := each.get("growthPerSecond"), int | float)]
        if not rates and self.observation.memory is not None:
            return self.observation.memory.growth_per_second
        return max(rates, default=None)

    def _seconds_left(self) -> float | None:
        steps = [
            float(each)
            for record in self.records
            if isinstance(each := record.get("stepSeconds"), int | float)
        ]
        seen = self.observation.progress
        per_step = seen.seconds_per_step if seen and seen.seconds_per_step else max(steps, default=None)
        if per_step is None or self.total is None or self.step is None:
            return None
        return max(0, self.total - (self.saved[0] or 0)) * per_step

    def _lost(self, saved_at: dt.datetime | None) -> float | None:
        """Time since the newest whole checkpoint, or since it started where there is none (or it resumed after)."""
        started = self._started()
        if started is None:
            return 0.0
        since = started if saved_at is None else max(saved_at, started)
        return max(0.0, (self.when - since).total_seconds())

    def _started(self) -> dt.datetime | None:
        """When it began to run: as seen, or as its agent or its containers say where it died too soon to be seen."""
        told = [_time(record.get("startedAt")) for record in self.records]
        told += [end.started for pod in self.evidence.pods for end in pod.containers if not end.is_init]
        return self.attempt.started or min((at for at in told if at is not None), default=None)


def _how_it_finished(facts: _Facts) -> str:
    if facts.total is None or facts.step is None or facts.is_complete:
        return ""
    return f"the command exited 0 after {facts.step:,} of {facts.total:,} steps"


def _records_say_so(evidence: Evidence) -> bool:
    records = list(evidence.records.values())
    return bool(records) and all(r.get("state") == "ended" and r.get("exitCode") == 0 for r in records)


def _has_settled(observation: Observation, evidence: Evidence, now: dt.datetime) -> bool:
    since = observation.since or min((at for pod in evidence.pods if (at := ended_at(pod))), default=None)
    return since is None or (now - since).total_seconds() >= SETTLE_SECONDS


def _part(record: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    value = record.get(name)
    return value if isinstance(value, Mapping) else {}


def _time(value: object) -> dt.datetime | None:
    return dt.datetime.fromtimestamp(value, dt.UTC) if isinstance(value, int | float) else None
