"""The last attempt is over: finished, given up, or tried again with what its ending taught."""

from __future__ import annotations

from collections.abc import Mapping

from tonnage.figures import dollars, duration
from tonnage.running import wording
from tonnage.running.actions import Action, Finish, GiveUp, Launch, Suspend
from tonnage.running.attempts import Attempt, Cause, Ending
from tonnage.running.backoff import start_after
from tonnage.running.budgets import is_spent
from tonnage.running.observing import Situation
from tonnage.running.policies import Policies
from tonnage.running.remedies import Cure, remedy_for
from tonnage.running.watching import is_over_budget, is_past_deadline
from tonnage.units import format_bytes

OUT_OF_TRIES, NOT_RETRIED, OUT_OF_TIME, OUT_OF_MONEY = "RUN-001", "RUN-002", "RUN-003", "RUN-004"


def follow(situation: Situation, policies: Policies) -> tuple[Action, ...]:
    """What comes after the last ending."""
    last = situation.attempts[-1]
    ending = last.ending
    assert ending is not None
    if ending.is_success:
        return (Finish(why=wording.finished(last, ending)),)
    if situation.wish == "stop":
        why = f"stopped by its owner: {wording.kept(ending, policies.price_per_hour)}"
        return (GiveUp(why=why, hint=_resume(situation, ending)),)
    if situation.wish == "suspend":
        return (Suspend(why="suspended by its owner"),)
    if (wall := _out_of_time_or_money(situation, policies)) is not None:
        return (wall,)
    if ending.cause == "stopped" or last.number <= situation.forgiven:
        return _resumed(situation, policies, last, ending)
    if is_spent(situation.attempts, ending.cause or "unknown", policies, forgiven=situation.forgiven):
        return (_out_of_tries(situation, policies, ending),)
    return _again(situation, policies, last, ending)


def _resumed(situation: Situation, policies: Policies, last: Attempt, ending: Ending) -> tuple[Action, ...]:
    """Its owner wants it to go on: budgets are not asked, remedies are."""
    remedy = remedy_for(situation, policies, last, ending)
    if isinstance(remedy, GiveUp):
        return (remedy,)
    return (_launch(situation, policies, last, remedy, "resumed by its owner"),)


def _again(situation: Situation, policies: Policies, last: Attempt, ending: Ending) -> tuple[Action, ...]:
    remedy = remedy_for(situation, policies, last, ending)
    if isinstance(remedy, GiveUp):
        return (remedy,)
    return (_launch(situation, policies, last, remedy, f"as it was, after {wording.cause(ending)}"),)


def _launch(
    situation: Situation, policies: Policies, last: Attempt, cure: Cure | None, otherwise: str
) -> Launch:
    is_resumed = last.number <= situation.forgiven or (
        last.ending is not None and last.ending.cause == "stopped"
    )
    return Launch(
        number=last.number + 1,
        size=cure.size if cure else last.size,
        why=cure.why if cure else otherwise,
        after=start_after(situation.attempts, policies, is_cured=cure is not None or is_resumed),
    )


def _out_of_time_or_money(situation: Situation, policies: Policies) -> GiveUp | None:
    if is_past_deadline(situation, policies):
        ran = duration(situation.ran_seconds)
        limit = policies.written.get("deadline") or duration(policies.deadline_seconds or 0)
        return GiveUp(
            why=f"deadline: it has run {ran} of {limit}",
            hint=f"raise deadline in the document, then {_resume(situation)}",
            code=OUT_OF_TIME,
        )
    if is_over_budget(situation, policies) and policies.on_exceed != "warn":
        spent = f"{dollars(situation.spent)} of {dollars(policies.budget or 0)} spent"
        return GiveUp(
            why=f"budget: {spent}",
            hint=f"raise budget in the document, then {_resume(situation)}",
            code=OUT_OF_MONEY,
        )
    return None


def _out_of_tries(situation: Situation, policies: Policies, ending: Ending) -> GiveUp:
    cause = ending.cause or "unknown"
    allowed = policies.retries.get(cause, 0)
    resume = _resume(situation, ending)
    if allowed == 0:
        brief = f"{wording.cause(ending)} is not retried"
        first = _FIRST.get(cause, "fix it")
        return GiveUp(
            why=wording.joined(ending.summary, brief),
            hint=f"{first}, then {resume}",
            code=NOT_RETRIED,
            brief=brief,
        )
    times = "once" if allowed == 1 else f"{allowed} times"
    brief = f"{wording.cause(ending)} again, after it was forgiven {times}"
    return GiveUp(
        why=f"{brief}: {ending.summary}".rstrip(": "),
        hint=f"{_more(situation, cause)}, or {resume}",
        code=OUT_OF_TRIES,
        brief=brief,
    )


_FIRST: Mapping[Cause, str] = {
    "deadline": "raise deadline in the document",
    "budget": "raise budget in the document",
    "forecast": "end the growth, or set onForecast: raise in the document",
}
"""What to do before a run goes on after an ending that is not retried; anything else wants to be fixed."""


def _more(situation: Situation, cause: Cause) -> str:
    """What to change after a cause was forgiven as often as it may be: for memory a start with enough of it."""
    tried = situation.attempts[-1].size.memory
    if cause == "host_oom" and tried is not None:
        return f"ask for more than {format_bytes(tried)} of memory in the document and run it anew"
    return f"raise retries.{wording.field_of(cause)} in the document"


def _resume(situation: Situation, ending: Ending | None = None) -> str:
    """The command that goes on, and from where."""
    last = ending or situation.attempts[-1].ending
    step = last.safe_step if last is not None else None
    where = "begins anew: nothing is saved" if step is None else f"goes on from step {step:,}"
    return f"`tonnage resume {situation.name}` {where}"
