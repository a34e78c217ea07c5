"""What people read of a run's life: a death, what it cost, what comes next. From values to text, nothing else.

11:42:07  rank 5 OOM-killed: over its own limit   RAM 260.0 of 260 GiB
          cause  ...
          lost   96 s of work ($1.60): checkpoint at step 9,120 is whole
11:42:09  attempt 2: 320 GiB (peak 260 + what it grows until the end), from step 9,120
11:43:31  resumed from step 9,120, running
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tonnage.figures import dollars, duration, plural
from tonnage.running.actions import GiveUp, Launch
from tonnage.running.attempts import Attempt, Cause, Ending
from tonnage.running.history import RunRecord
from tonnage.running.policies import Policies
from tonnage.running.spending import ran_seconds, spent_on
from tonnage.units import format_bytes
from tonnage_agent.contract import PROBE_OVER

_CAUSES: Mapping[Cause, str] = {
    "preemption": "preemption",
    "spot": "a spot reclaim",
    "eviction": "an eviction",
    "node": "a lost node",
    "host_oom": "OOM (RAM)",
    "gpu_oom": "OOM (GPU memory)",
    "network": "a network failure",
    "storage": "a storage failure",
    "hang": "a hang",
    "unknown": "an unexplained end",
    "code": "the program's own error",
    "deadline": "its deadline",
    "budget": "its budget",
    "forecast": "RAM that would have run out",
    "stopped": "a stop",
}
_FIELDS = {"host_oom": "hostOOM", "gpu_oom": "gpuOOM"}
_GIB = 2**30


def death_lines(attempt: Attempt, policies: Policies) -> list[str]:
    """What happened, why where the record shows it, and what was lost: up to three lines without their times.

    Where we ended it, why was told then: only what became of the work is left to say, and after a stop by its owner
    that is part of the last word.
    """
    ending = attempt.ending
    if ending is None or (attempt.stopping and ending.cause == "stopped"):
        return []
    if attempt.stopping:
        return [f"ended: {kept(ending, policies.price_per_hour)}"]
    first = ending.summary or cause(ending)
    if ending.cause == "host_oom" and ending.peak is not None:
        first = f"{first}   {ram(ending.peak, attempt.size.memory)}"
    lines = [first]
    if (why := _explained(ending)) is not None:
        lines.append(f"cause  {why}")
    if ending.last_line:
        lines.append(f"said   {ending.last_line}")
    lines.append(f"lost   {lost(ending, policies.price_per_hour)}")
    return lines


def kept(ending: Ending, price_per_hour: int | None = None) -> str:
    """What became of the work of an attempt that had time to save."""
    if _is_saved(ending):
        return f"step {ending.safe_step:,} is saved, nothing is lost"
    return f"lost {lost(ending, price_per_hour)}"


def lost(ending: Ending, price_per_hour: int | None = None) -> str:
    """The work since the newest whole checkpoint, with its price."""
    if ending.cause in ("deadline", "budget", "forecast", "stopped") and _is_saved(ending):
        return f"nothing: step {ending.safe_step:,} is saved"
    if ending.lost_seconds is None:
        amount = "an unknown amount of work"
    elif ending.lost_seconds <= 0:
        amount = "nothing"
    else:
        cost = f" ({price(ending.lost_seconds, price_per_hour)})" if price_per_hour else ""
        amount = f"{duration(ending.lost_seconds)} of work{cost}"
    if ending.safe_step is None:
        return amount if ending.lost_seconds is None else f"{amount}: there is no checkpoint"
    return f"{amount}: checkpoint at step {ending.safe_step:,} is whole"


def launch_line(launch: Launch, run: RunRecord) -> str:
    """The attempt that follows, its size with the reason, and where it goes on; nothing for the first."""
    if launch.number == 1:
        return ""
    return f"attempt {launch.number}: {launch.why}, {_going_on(run.attempts)}"


def resumed_line(attempt: Attempt) -> str:
    """That it runs again; nothing for a first attempt that began at the beginning."""
    step = attempt.from_step
    if step is not None and step >= 0:
        return f"resumed from step {step:,}, running"
    return "" if attempt.number == 1 else "began anew, running"


def finish_line(run: RunRecord, why: str) -> str:
    """That it is done, how long all attempts ran, and what that cost where it is known."""
    ran = ran_seconds(run.attempts)
    has_price = run.launching.price_per_hour is not None
    cost = f" and {dollars(spent_on(run.launching, run.attempts))}" if has_price else ""
    return f"{why}, {duration(ran)}{cost} in all" if ran > 0 else why


def finished(attempt: Attempt, ending: Ending) -> str:
    """That it is done, and in how many attempts."""
    attempts = plural(attempt.number, "attempt")
    step = f" at step {ending.step:,}" if ending.step is not None else ""
    if ending.summary == PROBE_OVER:
        is_saved = ending.safe_step is not None
        return f"{PROBE_OVER}{step}; {'a checkpoint is saved' if is_saved else 'it saved no checkpoint'}"
    remark = f": {ending.summary}" if ending.summary else ""
    return f"finished{step} in {attempts}{remark}{_unsaved(ending)}"


def _unsaved(ending: Ending) -> str:
    """A warning where the last save failed: what is kept is older than what was trained."""
    if ending.safe_step is None or ending.step is None or ending.safe_step + 1 >= ending.step:
        return ""
    return f"; its newest checkpoint is of step {ending.safe_step:,}"


def given_up(action: GiveUp) -> list[str]:
    """Why no attempt follows, and what to try; a stop that was wished for is no giving up."""
    if not action.code:
        return [f"{action.why}; {action.hint}" if action.hint else action.why]
    first = f"given up: {action.brief or action.why}  {action.code}"
    return [first, *([f"try    {action.hint}"] if action.hint else [])]


def joined(summary: str, rest: str) -> str:
    """A summary and what follows from it, without saying the same twice.

    >>> joined("the program's own error: KeyError", "the program's own error is not retried")
    "the program's own error: KeyError; not retried"
    >>> joined("deadline reached", "its deadline is not retried")
    'deadline reached; its deadline is not retried'
    """
    subject, is_, predicate = rest.partition(" is ")
    return f"{summary}; {predicate if is_ and summary.startswith(subject) else rest}" if summary else rest


def cause(ending: Ending) -> str:
    """The cause in words."""
    return _CAUSES[ending.cause] if ending.cause is not None else "its end"


def field_of(name: Cause) -> str:
    """The cause as the document spells it under `retries`."""
    return _FIELDS.get(name, name)


def ram(used: int, limit: int | None) -> str:
    """RAM of its limit, in one unit.

    >>> ram(260 * 2**30, 260 * 2**30), ram(3 * 2**20, None)
    ('RAM 260.0 of 260 GiB', 'RAM 3 MiB')
    """
    if limit is None:
        return f"RAM {format_bytes(used)}"
    for unit, size in (("GiB", _GIB), ("MiB", 2**20), ("KiB", 1024)):
        if limit >= size:
            whole = (
                f"{limit / size:,.0f}" if limit % size == 0 or limit >= 100 * size else f"{limit / size:,.1f}"
            )
            return f"RAM {used / size:,.1f} of {whole} {unit}"
    return f"RAM {used} of {limit} B"


def rate(bytes_per_second: float, peak: int | None) -> str:
    """Growth per hour, minute or second: the longest in which it is still less than what was held.

    >>> rate(2**20, 100 * 2**30), rate(2**20, 100 * 2**20), rate(2**20, 2**20)
    ('3.5 GiB per hour', '60 MiB per minute', '1 MiB per second')
    """
    for name, seconds in (("hour", 3600), ("minute", 60)):
        if peak is None or bytes_per_second * seconds <= peak:
            return f"{format_bytes(bytes_per_second * seconds)} per {name}"
    return f"{format_bytes(bytes_per_second)} per second"


def price(seconds: float, price_per_hour: int) -> str:
    """What this much time of the whole gang costs."""
    return dollars(round(seconds * price_per_hour / 3600))


def _going_on(attempts: Sequence[Attempt]) -> str:
    last = attempts[-1].ending if attempts else None
    step = last.safe_step if last is not None else None
    return "from the beginning" if step is None else f"from step {step:,}"


def _is_saved(ending: Ending) -> bool:
    return ending.safe_step is not None and ending.step is not None and ending.safe_step >= ending.step


def _explained(ending: Ending) -> str | None:
    """What made memory run out, where the record shows it."""
    if ending.cause != "host_oom" or not ending.growth_per_second or ending.growth_per_second <= 0:
        return None
    return f"RAM grew by {rate(ending.growth_per_second, ending.peak)}"
