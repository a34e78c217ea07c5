"""Both streams of the command together: made, started with it, and their last lines in the order they came."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from tonnage_agent.wrapping.command import CannotStartError, start
from tonnage_agent.wrapping.output import Pump, same_file

KEPT_LINES = 60


class Streams:
    """Standard output and standard error; one pipe where both are the same file."""

    def __init__(self, on_line: Callable[[str], None]) -> None:
        self._on_line = on_line
        self._pumps: list[Pump] = []

    def start(self, command: Sequence[str], environment: Mapping[str, str]) -> int:
        """Start the command on them, its pid; raises CannotStartError. Reaping it is the caller's."""
        pumps = (
            [Pump(1, self._on_line)] if same_file(1, 2) else [Pump(1, self._on_line), Pump(2, self._on_line)]
        )
        try:
            process = start(command, environment, pumps[0].pipe, pumps[-1].pipe)
        except CannotStartError:
            for pump in pumps:
                pump.abandon()
            raise
        for pump in pumps:
            pump.start()
        self._pumps = pumps
        process.returncode = 0  # nobody but us waits for it
        return process.pid

    def join(self, seconds: float) -> None:
        """Wait until everything printed was passed on, or somebody keeps a stream open for too long."""
        for pump in self._pumps:
            pump.join(seconds)

    def last_lines(self) -> list[str]:
        """The last lines of both."""
        lines = sorted((line for pump in self._pumps for line in pump.lines.last()), key=lambda line: line[0])
        return [text for _, text in lines[-KEPT_LINES:]]
