"""From evidence to the ending that goes into an attempt's history: classified once, kept for ever.

Kubernetes fills in reasons late (an OOM kill may read `Error` for a moment, a node may be gone before it is marked
so). So a finding that is not sure is looked at again until the evidence has had time to settle.
"""

from __future__ import annotations

import datetime as dt
import signal
from collections.abc import Mapping, Sequence
from dataclasses import replace

from tonnage.cluster.messages.disruption import DISRUPTION_TARGET
from tonnage.diagnosis.boxes import boxes_of
from tonnage.diagnosis.classes import UNKNOWN
from tonnage.diagnosis.classifying import classify
from tonnage.diagnosis.evidence import Evidence
from tonnage.diagnosis.finding import Finding
from tonnage.diagnosis.statements import View, ended_at
from tonnage.memory.series import Point
from tonnage.running.attempts import Attempt, Cause, Ending
from tonnage.running.causes import cause_of
from tonnage.running.facts import Facts
from tonnage.running.observing import Observation
from tonnage_agent.contract import LEFT_RUNNING, PROBE_OVER

SETTLE_SECONDS = 10.0
"""How long reasons may come late; the kubelet's status loop and the job controller are well within it."""
SURE = 0.8
_MOST_SAID = 200
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
    facts = Facts(attempt, observation, evidence, now, series or {})
    if has_exited_well(evidence):
        is_oom = finding.code in _OOM_CODES
        if facts.is_complete:
            remark = "all steps were made; a child process was OOM-killed on the way" if is_oom else ""
            return _ending(facts, None, "", remark or _nothing_saved(facts))
        if not is_oom and not was_interrupted(evidence):
            return _ending(facts, None, "", _how_it_finished(facts))
    may_come_late = finding.confidence < SURE and not evidence.is_final
    if may_come_late and not _has_settled(observation, evidence, now):
        return None
    cause = cause_of(finding, evidence)
    return _ending(facts, cause, finding.code, summary_of(finding, cause, evidence), finding)


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


def was_interrupted(evidence: Evidence) -> bool:
    """Whether somebody ended it: a script that saves and exits 0 on SIGTERM has not finished."""
    disrupted = any(
        each.get("type") == DISRUPTION_TARGET and each.get("status") == "True"
        for pod in evidence.pods
        for each in pod.conditions
    )
    return disrupted or any(
        box.record.cause in ("terminated", "deadline", "budget") for box in boxes_of(evidence)
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
        case "deadline" | "budget" | "forecast" | "stopped" | "hang":
            return finding.evidence[0].text if finding.evidence else cause
        case "code" if finding.evidence:
            return f"{who}{finding.title}: {finding.evidence[0].text}"
        case "unknown" if finding.code == UNKNOWN:
            return f"{who}{_bare_end(evidence)}, and nothing says why"
        case _:
            return f"{who}{finding.title}"


def _who(finding: Finding, evidence: Evidence) -> str:
    """The rank where it is known, else the pod where there are several."""
    if finding.node is None:
        return ""
    rank = next((box.record.first_rank for box in boxes_of(evidence) if box.node == finding.node), None)
    if rank is not None:
        return f"rank {rank} "
    return f"node {finding.node} " if len(evidence.pods) > 1 else ""


def _bare_end(evidence: Evidence) -> str:
    """How the first that did not end well ended: its signal or its exit code is all there is."""
    bad = [end for pod in evidence.pods for end in pod.containers if end.exit_code]
    code = min(bad, key=lambda end: (end.finished is None, end.finished)).exit_code if bad else None
    if code is None:
        return "it ended"
    number = code - 128
    is_signal = number in set(signal.Signals)
    return f"ended by {signal.Signals(number).name}" if is_signal else f"ended with exit code {code}"


def _last_line(evidence: Evidence, node: int | None) -> str:
    """The last words of the pod that failed, or of the only one; ours are none of them."""
    lines = [
        each.text.strip()
        for each in View(evidence).statements
        if each.kind == "log" and (node is None or each.node == node) and each.text.strip()
    ]
    own = [line for line in lines if not line.startswith("tonnage: ")]
    return own[-1][:_MOST_SAID] if own else ""


def _ending(
    facts: Facts, cause: Cause | None, code: str, summary: str, finding: Finding | None = None
) -> Ending:
    node = finding.node if finding else None
    return Ending(
        when=facts.last_end if cause is None else facts.first_end,
        cause=cause,
        code=code,
        summary=summary,
        node=node,
        step=facts.total if cause is None and facts.is_complete else facts.step,
        safe_step=facts.saved[0],
        lost_seconds=None if cause is None else facts.lost_seconds,
        peak=facts.peak,
        growth_per_second=facts.growth_of(node),
        seconds_left=facts.seconds_left,
        evidence=tuple(f"{line.text}   {line.source}" for line in finding.evidence) if finding else (),
        last_line=_last_line(facts.evidence, node) if code == UNKNOWN else "",
    )


def _nothing_saved(facts: Facts) -> str:
    """A remark where every save failed: what was trained is nowhere."""
    has_failed = any("was not saved" in box.record.message for box in facts.boxes)
    return "every save failed, nothing it trained is kept" if has_failed and facts.saved[0] is None else ""


def _how_it_finished(facts: Facts) -> str:
    if any(PROBE_OVER in box.record.message for box in facts.boxes):
        return PROBE_OVER
    if facts.total is None or facts.step is None:
        return _left_running(facts)
    return f"the command exited 0 after {facts.step:,} of {facts.total:,} steps"


def _left_running(facts: Facts) -> str:
    """Of a command that starts something else and exits: what goes on behind it is ended, and its owner must know."""
    notes = [note for box in facts.boxes for note in box.record.message.split("; ")]
    return next((note for note in notes if note.startswith(LEFT_RUNNING)), "")


def _records_say_so(evidence: Evidence) -> bool:
    records = [box.record for box in boxes_of(evidence)]
    return bool(records) and all(each.state == "ended" and each.exit_code == 0 for each in records)


def _has_settled(observation: Observation, evidence: Evidence, now: dt.datetime) -> bool:
    since = observation.since or min((at for pod in evidence.pods if (at := ended_at(pod))), default=None)
    return since is None or (now - since).total_seconds() >= SETTLE_SECONDS
