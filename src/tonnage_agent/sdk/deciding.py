"""At a step's end: save, stop, both or neither. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from tonnage_agent import contract

REASONS = ("", "probe", "terminated", "stopped", "budget", "deadline")
"""Why a script ends before its last step; where ranks disagree, the later in this list is told."""
RESERVE = 1.2
"""A save may take so many times what the last ones took."""


@dataclass(frozen=True)
class Moment:
    """The end of one step."""

    step: int
    total: int | None = None
    num_done: int = 1
    """Steps made by this process."""
    due_in: float | None = None
    """Seconds until a save is due; None where nothing is kept."""
    wants_save: bool = False
    save_seconds: float | None = None
    """What saves take, where it was seen."""
    step_seconds: float = 0.0
    asked: str = ""
    """Why the agent wants it to stop."""
    seconds_left: float | None = None
    """Until SIGKILL, where SIGTERM has come."""
    deadline_in: float | None = None
    """Until the run's deadline, where nobody else keeps it."""
    probe_steps: int | None = None


@dataclass(frozen=True)
class Verdict:
    """What to do at this step's end."""

    save: bool = False
    stop: str = ""
    is_late: bool = False
    """A save was wanted and there is no time for one."""


def decide(moment: Moment) -> Verdict:
    """Save when it is due, asked for, or the last chance; stop when asked to."""
    stop = _reason(moment)
    is_last = moment.total is not None and moment.step >= moment.total - 1
    is_due = moment.due_in is not None and moment.due_in <= 0
    wanted = bool(is_due or moment.wants_save or is_last or stop)
    is_late = _is_late(moment)
    return Verdict(save=wanted and not is_late, stop=stop, is_late=wanted and is_late)


def exit_code(reason: str) -> int:
    """What the script ends with.

    >>> exit_code("terminated"), exit_code("probe")
    (143, 0)
    """
    codes = {"probe": 0, "deadline": contract.EXIT_DEADLINE, "budget": contract.EXIT_BUDGET}
    return codes.get(reason, 143)


def _reason(moment: Moment) -> str:
    if moment.asked:
        return moment.asked if moment.asked in REASONS else "stopped"
    if moment.seconds_left is not None:
        return "terminated"
    if moment.deadline_in is not None:
        needed = RESERVE * (moment.save_seconds or 0.0) + moment.step_seconds
        if moment.deadline_in <= needed:
            return "deadline"
    if moment.probe_steps is not None and moment.num_done >= moment.probe_steps:
        return "probe"
    return ""


def _is_late(moment: Moment) -> bool:
    """Whether SIGKILL would come before a save could end."""
    if moment.seconds_left is None:
        return False
    return moment.seconds_left <= RESERVE * (moment.save_seconds or 0.0)
