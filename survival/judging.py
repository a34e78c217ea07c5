"""What must hold of every case, checked on what was seen alone.

    weights      bit for bit those of an undisturbed run, and every loss of every attempt too
    lost         no more than one interval, the save and the step it waited for; nothing where notice was given
    evidence     every death is in the history with a right class, and its black box is kept
    never twice  no two attempts died of memory at the same size
    left         nothing runs, is mounted or holds memory when the run is over

What may be lost is counted from the training's own journal, not from what the run says of itself.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

from survival.case import Injury, Outcome, Step
from tonnage.running.attempts import Attempt, Ending

GAPS = 3
"""An interval ends at the end of a step, after a save; and the death may come within the next one: so many of the
attempt's longest pauses between two steps may come on top of the interval."""


def judge(outcome: Outcome) -> list[str]:
    """Everything that is wrong with a case; empty where it is proved."""
    return [
        *outcome.wrong,
        *_of_end(outcome),
        *_of_weights(outcome),
        *_of_losses(outcome),
        *_of_lost_work(outcome),
        *_of_evidence(outcome),
        *twice_the_same(outcome.attempts),
        *(f"left behind: {each}" for each in outcome.left),
    ]


def _of_end(outcome: Outcome) -> Iterator[str]:
    if outcome.state != outcome.expected_state:
        yield f"it is {outcome.state or 'still running'} and should be {outcome.expected_state}: {outcome.why}"


def _of_weights(outcome: Outcome) -> Iterator[str]:
    if outcome.expected_state == "finished" and outcome.weights != outcome.reference_weights:
        yield f"weights {outcome.weights[:12] or 'none'} differ from {outcome.reference_weights[:12]}"


def _of_losses(outcome: Outcome) -> Iterator[str]:
    for line in outcome.journal:
        is_told = line.step is not None and line.rank == 0  # other ranks may have losses of their own
        wanted = outcome.reference.get(line.step) if is_told and line.step is not None else None
        if wanted is not None and line.loss != wanted:
            yield f"attempt {line.attempt}: loss of step {line.step} is {line.loss}, undisturbed {wanted}"
            return
    if outcome.expected_state == "finished":
        missing = set(outcome.reference) - {line.step for line in outcome.journal}
        if missing:
            yield f"{len(missing)} steps were never made, the first is {min(missing)}"


def _of_lost_work(outcome: Outcome) -> Iterator[str]:
    for injury, before, after in deaths_of(outcome):
        if injury is not None and injury.resumes_at is not None:
            if (after[0].begin or 0) - 1 not in injury.resumes_at:
                wanted = " or ".join(map(str, sorted(injury.resumes_at)))
                yield f"{injury.kind}: began at step {after[0].begin}, the newest whole checkpoint was of step {wanted}"
            continue
        lost, allowed = lost_seconds(before, after), allowed_seconds(before, outcome.every, injury)
        if lost > allowed:
            kind = injury.kind if injury is not None else "its own death"
            yield f"{kind}: {lost:.2f} s of work lost, {allowed:.2f} s allowed"


def lost_seconds(before: Sequence[Step], after: Sequence[Step]) -> float:
    """Work of an attempt that the next one had to make again."""
    resumed = (after[0].begin or 0) - 1
    made = [line for line in before if line.step is not None]
    if not made or resumed >= made[-1].step:  # type: ignore[operator]
        return 0.0
    kept = [line.when for line in before if line.step is not None and line.step <= resumed]
    return made[-1].when - (kept[-1] if kept else before[0].when)


def allowed_seconds(lines: Sequence[Step], every: float, injury: Injury | None) -> float:
    """An interval, and the longest pauses of this attempt; only the pauses where it was told to end in time."""
    gaps = sorted((later.when - earlier.when for earlier, later in pairwise(lines)), reverse=True)
    slack = sum(gaps[:GAPS])
    return slack if injury is not None and injury.has_notice else every + slack


def deaths_of(outcome: Outcome) -> Iterator[tuple[Injury | None, list[Step], list[Step]]]:
    """Each death with the journal of the life that ended and of the next that began."""
    for before, after in pairwise(lives_of(outcome.journal)):
        of_attempt = [
            each for each in outcome.injuries if each.attempt == before[0].attempt and each.kills_attempt
        ]
        meant = [each for each in of_attempt if before[0].when <= each.when <= after[0].when]
        yield next(iter(meant or of_attempt), None), before, after


def lives_of(journal: Sequence[Step]) -> list[list[Step]]:
    """The journal of rank 0 cut where it began: an attempt has several lives where a controller replaced its pod."""
    lives: list[list[Step]] = []
    for line in journal:
        if line.rank != 0:
            continue
        if line.begin is not None or not lives:
            lives.append([])
        lives[-1].append(line)
    return lives


def _of_evidence(outcome: Outcome) -> Iterator[str]:
    for injury in outcome.injuries:
        if not injury.kills_attempt:
            continue
        ending = ending_for(injury, outcome.attempts)
        if ending is None:
            yield f"{injury.kind}: this death of attempt {injury.attempt} is not in the history"
            continue
        if injury.codes and ending.code not in injury.codes:
            wanted = " or ".join(sorted(injury.codes))
            yield f"{injury.kind}: attempt {injury.attempt} is put down to {ending.code}, not {wanted}"
        if injury.causes and ending.cause not in injury.causes:
            yield f"{injury.kind}: its cause is {ending.cause}, not {' or '.join(sorted(injury.causes))}"
        if not ending.summary:
            yield f"{injury.kind}: its ending says nothing"
        if injury.attempt not in outcome.records:
            yield f"{injury.kind}: the black box of attempt {injury.attempt} is gone"


def ending_for(injury: Injury, attempts: Sequence[Attempt]) -> Ending | None:
    """The death in the history that this injury brought about: of those its attempt died, the nearest in time."""
    attempt = next((each for each in attempts if each.number == injury.attempt), None)
    if attempt is None:
        return None
    died = [*attempt.replaced.values(), *([attempt.ending] if attempt.ending is not None else [])]
    return min(
        (each for each in died if not each.is_success),
        key=lambda each: abs(each.when.timestamp() - injury.when),
        default=None,
    )


def twice_the_same(attempts: Sequence[Attempt]) -> Iterator[str]:
    """Two attempts that died of memory at the same size."""
    seen: dict[object, int] = {}
    for each in attempts:
        if each.ending is None or each.ending.cause not in ("host_oom", "gpu_oom"):
            continue
        size = each.size
        what: object = (
            ("RAM", size.memory, size.shm)
            if each.ending.cause == "host_oom"
            else ("GPU", size.micro_batch, size.checkpointing, size.gpu)
        )
        if what in seen:
            yield f"attempts {seen[what]} and {each.number} died of the same OOM at the same size: {what}"
        seen[what] = each.number
