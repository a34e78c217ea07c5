"""`run`: wrap a command from start to end. One loop waits for signals, events, output that matters, and time.

    check peers --> start --> sample, hear, record (again and again) --> it ends, a wall is reached, or SIGTERM comes
                --> what it left behind is ended --> the last record --> its exit code

The loop never waits for storage, GPUs or the command's reader: threads do. Whatever fails in watching, the command
goes on: a training is worth more than its record.
"""

from __future__ import annotations

import os
import select
import signal
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any

from tonnage_agent import contract
from tonnage_agent.answering import Answers
from tonnage_agent.asked import Asked
from tonnage_agent.blackbox.box import BlackBox
from tonnage_agent.blackbox.earlier import seconds_before
from tonnage_agent.channels import Channels
from tonnage_agent.facts import Facts
from tonnage_agent.hearing.log import LogReader
from tonnage_agent.sampling.senses import Senses
from tonnage_agent.settings import Settings, reserve_of
from tonnage_agent.steady import SteadyClock
from tonnage_agent.telemetry import Sample
from tonnage_agent.walls import Wall, WallWatch, nearest_wall
from tonnage_agent.wrapping.command import CannotStartError, exit_code, forward, send
from tonnage_agent.wrapping.leftovers import end_leftovers, kill_everything
from tonnage_agent.wrapping.signals import ENDING, FORWARDED, Signals
from tonnage_agent.wrapping.streams import Streams

LEFTOVER_SECONDS = 3.0
"""What the command leaves running is asked to end, and ended after this."""
LEAST_SECONDS, PROBE_LEAST_SECONDS = 0.2, 0.005
"""Between two looks that events ask for: a script may change its phase a thousand times a second."""
PROBE = "probe"
_LATE_SECONDS = 5.0
"""An event may have waited so long to be heard."""
_NEAR_LIMIT_RATE = 5
_GROWN = 1.25
"""Memory grew by this much since the processes were looked at: time to see whose it is."""


def run(command: Sequence[str], settings: Settings, environment: Mapping[str, str]) -> int:
    """Run the command to its end; the exit code to end with."""
    return Wrapped(command, settings, environment).run()


def say(text: str) -> None:
    """One line to whoever reads the command's errors."""
    with suppress(OSError, ValueError):
        print(f"tonnage: {text}", file=sys.stderr, flush=True)


class Wrapped:
    """One command, wrapped."""

    def __init__(self, command: Sequence[str], settings: Settings, environment: Mapping[str, str]) -> None:
        self._command, self._settings = command, settings
        self._signals = Signals()
        self._log = LogReader(settings.step_pattern, self._signals.wake)
        self._streams = Streams(self._log.read)
        self._senses = Senses(_watched_folders(settings), settings.memory_limit, environment)
        self._now = SteadyClock().now
        before = seconds_before(settings)
        self._facts = Facts(settings, self._senses, self._streams.last_lines, ran_before=before or None)
        self._box = BlackBox(settings, self._senses.look_at_rooms)
        self._channels = Channels(settings, environment)
        begun = self._now() - before
        wall = nearest_wall(
            begun, settings.deadline_from(begun), settings.budget, settings.spent, settings.price_per_hour
        )
        self._walls = WallWatch(wall, settings.grace_seconds) if wall is not None else None
        self._asked = Asked(settings.asked)
        self._answers = Answers(settings, wall, begun, self._now, self._asked.ask_save)
        self._least_seconds = LEAST_SECONDS if settings.probe_steps is None else PROBE_LEAST_SECONDS
        self._pid = 0
        self._status: int | None = None
        self._kill_at: float | None = None
        self._ended_by: Wall | None = None
        self._ended: set[int] = set()
        self._looked_at = 0
        self._taken_at = 0.0
        self._is_due = False
        self._faults: set[str] = set()

    def run(self) -> int:
        """From start to end."""
        for problem in (self._box.note, self._channels.problem, self._answers.serve()):
            if problem:
                say(problem)
        self._keep(urgent=True)
        refused = self._refuse_late() or self._refuse_alone()
        if refused is not None:
            return refused
        try:
            self._pid = self._streams.start(self._command, self._channels.environment)
        except CannotStartError as error:
            return self._refused(str(error), error.code, "command")
        self._facts.state, self._facts.started_at = "running", round(self._now(), 3)
        self._senses.watch_gpus()
        self._watch()
        seconds = LEFTOVER_SECONDS if self._kill_at is None else self._settings.reserve_seconds
        self._facts.left_running = end_leftovers(self._reap, seconds)
        self._streams.join(1.0)
        return self._finish()

    # Before the command starts

    def _refuse_late(self) -> int | None:
        """An exit code where a wall was reached before anything began."""
        wall = self._walls.wall if self._walls else None
        if wall is None or self._now() < wall.at:
            return None
        return self._refused(
            f"{wall.cause} reached before the command was started", wall.exit_code, wall.cause
        )

    def _refuse_alone(self) -> int | None:
        """An exit code where the gang is not whole: no use in starting."""
        if not self._settings.peers:
            return None
        from tonnage_agent.preflight import check

        came: list[int] = []

        def is_interrupted() -> bool:
            came.extend(number for number in self._signals.taken() if number in ENDING)
            return bool(came)

        self._facts.message = f"checking {len(self._settings.peers)} nodes"
        verdict = check(self._settings, is_interrupted)
        self._facts.message = ""
        if verdict is None:
            name = signal.Signals(came[0]).name
            return self._refused(f"got {name} before the command was started", 128 + came[0], "terminated")
        self._facts.peers = verdict.line
        if not verdict.is_complete:
            return self._refused(f"peers: {verdict.line}", contract.EXIT_PREFLIGHT, "preflight")
        say(f"peers: {verdict.line}")
        return None

    def _refused(self, message: str, code: int, cause: str) -> int:
        say(message)
        self._facts.state, self._facts.cause, self._facts.message = "ended", cause, message
        self._facts.exit_code = code
        self._close()
        return code

    # While it runs

    def _watch(self) -> None:
        """The loop, until the command has ended."""
        waiting = select.poll()
        waiting.register(self._signals.fileno(), select.POLLIN)
        if self._channels.ear is not None:
            waiting.register(self._channels.ear.fileno(), select.POLLIN)
        due = 0.0
        while self._status is None:
            now = time.monotonic()
            if now >= due:
                self._guarded(self._tick)
                due = now + self._pause()
            soonest = [due]
            if self._is_due:
                soonest.append(self._taken_at + self._least_seconds)
            if self._kill_at is not None:
                soonest.append(self._kill_at)
            waiting.poll(max(min(soonest) - time.monotonic(), 0.0) * 1000)
            self._take_signals()
            self._guarded(self._listen)
            if self._is_due and time.monotonic() >= self._taken_at + self._least_seconds:
                self._guarded(lambda: self._keep(urgent=True))
            if self._kill_at is not None and time.monotonic() >= self._kill_at:
                self._kill()

    def _guarded(self, work: Callable[[], object]) -> None:
        """Do something that may fail without the command's being any worse for it; said once per fault."""
        try:
            work()
        except Exception as error:
            fault = f"{type(error).__name__}: {error}"
            if fault not in self._faults and len(self._faults) < 10:
                self._faults.add(fault)
                say(f"the agent stumbled and goes on: {fault}")

    def _pause(self) -> float:
        """Seconds to the next sample: fewer while memory is short or the end is near."""
        near = self._facts.memory.is_near_limit or self._kill_at is not None
        return self._settings.sample_seconds / (_NEAR_LIMIT_RATE if near else 1)

    def _tick(self) -> None:
        self._reap()
        sample = self._take()
        self._hear_wishes()
        memory, limit = self._facts.memory, self._senses.memory_limit
        needed = memory.last.needed_bytes if memory.last else 0
        hurry = limit is not None or memory.is_near_limit or needed > _GROWN * self._looked_at
        is_fresh = self._senses.look_at_processes(self._pid, self._facts.told.rank_pids.values(), hurry=hurry)
        self._looked_at = needed if is_fresh else self._looked_at
        self._write_down(sample)
        if is_fresh and limit is not None:
            self._hold_memory(limit)
        self._hold_walls()

    def _hear_wishes(self) -> None:
        """What whoever keeps the run alive asks for: a checkpoint, a higher limit where no kernel holds it."""
        self._asked.look()
        if self._senses.memory_limit is not None and self._asked.memory_limit is not None:
            self._senses.memory_limit = self._asked.memory_limit
        save_seconds = self._facts.told.checkpoint.get("seconds")
        if self._kill_at is None and self._asked.save_is_due(time.monotonic(), save_seconds):
            say("asked for a checkpoint")
            self._channels.control.ask_save()

    def _take(self) -> Sample | None:
        self._taken_at = time.monotonic()
        return self._facts.take(self._now())

    def _keep(self, *, urgent: bool = False) -> None:
        """Measure and write down."""
        self._write_down(self._take(), urgent=urgent)

    def _write_down(self, sample: Sample | None, *, urgent: bool = False) -> None:
        now = self._now()
        record, line = self._facts.record(now), self._facts.sample_line(sample, now)
        self._answers.leave(record, self._facts.counters, line)
        self._box.keep(record, line, urgent=urgent or self._is_due)
        self._is_due = False

    def _take_signals(self) -> None:
        for number in self._signals.taken():
            if number == signal.SIGCHLD:
                self._reap()
            elif self._status is not None:
                continue
            elif number == signal.SIGTERM:
                self._stop("terminated", "got SIGTERM", self._settings.grace_seconds)
            elif number in FORWARDED:
                forward(number, self._pid)

    def _listen(self) -> None:
        """Events of the script and of its log; a change of phase is measured at once, as often as is sensible."""
        ear = self._channels.ear
        events = [(event, "sdk") for event in ear.hear()] if ear is not None else []
        events += [(event, "log") for event in self._log.taken()]
        for event, source in events:
            if event.get("event") == "phase" and time.monotonic() >= self._taken_at + self._least_seconds:
                self._take()  # what was held until now belongs to the phase that ends
            is_first = self._facts.told.step is None
            self._is_due |= self._facts.told.hear(self._dated(event), self._now(), source)
            if is_first and self._facts.told.step is not None:
                self._facts.memory.begin_steps()
        self._facts.first_rank = self._log.first_rank
        self._end_probe()

    def _dated(self, event: dict[str, Any]) -> dict[str, Any]:
        """An event at the moment it came, where its own clock is another than ours: somebody has set it."""
        now, when = self._now(), event.get("when")
        is_ours = isinstance(when, (int, float)) and abs(when - now) < _LATE_SECONDS
        return event if is_ours else {**event, "when": round(now, 3)}

    def _end_probe(self) -> None:
        """A script with the SDK saves and ends by itself; one that only prints its steps is asked to."""
        told, wanted = self._facts.told, self._settings.probe_steps
        if wanted is not None and told.steps_in_log >= wanted and self._kill_at is None:
            self._stop(PROBE, contract.PROBE_OVER, self._settings.grace_seconds)

    def _reap(self) -> None:
        """Every child that has ended, orphans we inherited included."""
        with suppress(ChildProcessError):
            while True:
                pid, status = os.waitpid(-1, os.WNOHANG)
                if pid == 0:
                    return
                if pid == self._pid:
                    self._status = status

    # Ending it

    def _stop(self, cause: str, message: str, grace: float) -> None:
        """Ask the command to end; from now on its grace period runs."""
        if self._kill_at is None:
            self._kill_at = time.monotonic() + max(grace - reserve_of(grace), 0.0)
            self._facts.state, self._facts.cause, self._facts.message = "stopping", cause, message
            self._channels.control.ask_stop(cause)
        forward(signal.SIGTERM, self._pid)
        self._guarded(lambda: self._keep(urgent=True))

    def _kill(self) -> None:
        """The grace period is over."""
        self._reap()
        if self._status is not None:
            return  # it left in time
        self._kill_at = float("inf")
        self._facts.message += "; still running at the end of its grace period, killed"
        self._guarded(lambda: self._keep(urgent=True))
        kill_everything()

    def _hold_memory(self, limit: int) -> None:
        """Where no kernel limit holds the command, end the largest of its processes above the limit."""
        sample, largest = self._facts.memory.last, next(iter(self._senses.processes), None)
        if sample is None or largest is None or sample.usage_bytes <= limit or largest.pid in self._ended:
            return
        self._ended.add(largest.pid)
        self._facts.cause = "memory"
        self._facts.message = (
            f"{largest.name} ({largest.pid}) killed: all processes hold {sample.usage_bytes} of {limit} bytes"
        )
        self._facts.watched_kills += 1
        self._keep(urgent=True)
        send(signal.SIGKILL, largest.pid)

    def _hold_walls(self) -> None:
        """Deadline and budget: warn, ask for a checkpoint, stop."""
        if self._walls is None:
            return
        now, wall = self._now(), self._walls.wall
        due = self._walls.due(now, self._facts.told.checkpoint.get("seconds"))
        if due == "warn":
            say(wall.text(now))
        elif due == "save":
            say(f"{wall.text(now)}: asking for a checkpoint")
            self._channels.control.ask_save()
        elif due == "stop" and self._kill_at is None:
            self._ended_by = wall
            say(f"{wall.text(now)}: stopping the command")
            self._stop(wall.cause, f"{wall.cause} reached", max(wall.at - now, 0.0))

    def _finish(self) -> int:
        """What happened, in the last record; the exit code."""
        assert self._status is not None
        self._guarded(self._listen)
        self._guarded(self._take)
        facts, code = self._facts, exit_code(self._status)
        facts.signal = os.WTERMSIG(self._status) if os.WIFSIGNALED(self._status) else None
        if self._ended_by is not None and not facts.told.is_done(code):
            code = self._ended_by.exit_code
        if facts.cause == PROBE:
            code = 0  # it was asked to end, and has done what a probe is for
        facts.state, facts.exit_code = "ended", code
        facts.explain_end()
        self._close()
        return code

    def _close(self) -> None:
        self._channels.close()
        if not self._box.finish(self._facts.record(self._now()), max(self._settings.reserve_seconds, 1.0)):
            say(f"{self._box.place} does not answer: the last record may be missing there")
        elif self._box.problem:
            say(self._box.problem)


def _watched_folders(settings: Settings) -> dict[str, str]:
    """File systems worth watching, by the name they have in the record."""
    folders = {"shm": "/dev/shm"}
    with suppress(OSError):  # it may have been removed
        folders["work"] = os.getcwd()
    if settings.checkpoints and "://" not in settings.checkpoints:
        folders["checkpoints"] = settings.checkpoints
    return folders
