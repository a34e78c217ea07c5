"""The black box: the termination message and the record beside the checkpoints, always the same truth.

The message is written by the loop itself, at once: it lies on the node. The record goes to storage, which may hang,
so a thread writes it.
"""

from __future__ import annotations

from collections.abc import Callable

from tonnage_agent.blackbox.message import TerminationMessage
from tonnage_agent.blackbox.places import open_place
from tonnage_agent.blackbox.writer import Writer
from tonnage_agent.contract import attempt_folder
from tonnage_agent.record import Record
from tonnage_agent.settings import Settings


class BlackBox:
    """Both places; nothing here raises."""

    def __init__(self, settings: Settings, between: Callable[[], object] = lambda: None) -> None:
        """`between`: other work for the thread that may be held up by storage."""
        self._message = TerminationMessage(settings.termination_message)
        place, self.note = open_place(settings.record, attempt_folder(settings.attempt, settings.node))
        self._writer = Writer(place, between) if place is not None else None
        self.place = place.name if place is not None else ""

    @property
    def problem(self) -> str:
        """Why something is not being written; empty where all is well."""
        return self._message.problem or (self._writer.problem if self._writer else "")

    def keep(self, record: Record, sample: str = "", *, urgent: bool = False) -> None:
        """Make this the newest truth."""
        self._message.write(record.as_message())
        if self._writer is not None:
            self._writer.hand_over(record.as_text().encode(), sample, urgent=urgent)

    def finish(self, record: Record, seconds: float) -> bool:
        """The last record; False where storage did not take it in time."""
        self._message.finish(record.as_message())
        if self._writer is None:
            return True
        self._writer.hand_over(record.as_text().encode(), urgent=True)
        return self._writer.close(seconds)
