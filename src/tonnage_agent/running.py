"""`run`: wrap a command from start to end. One loop waits for signals, events, output that matters, and time.

    start --> sample, hear, record (again and again) --> the command ends, or a wall is reached, or SIGTERM comes
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
from collections import deque
from collections.abc import Mapping, Sequence
from contextlib import suppress

from tonnage_agent import contract
from tonnage_agent.blackbox.box import BlackBox
from tonnage_agent.control import Control
from tonnage_agent.facts import Facts
from tonnage_agent.hearing.events import Ear
from tonnage_agent.hearing.log import LogReader
from tonnage_agent.record import Record
from tonnage_agent.sampling.senses import Senses
from tonnage_agent.settings import Settings
from tonnage_agent.telemetry import Sample
from tonnage_agent.walls import Wall, cost_so_far, nearest_wall
from tonnage_agent.wrapping.command import CannotStartError, exit_code, forward, send, start
from tonnage_agent.wrapping.family import all_processes, descendants
from tonnage_agent.wrapping.output import Pump, same_file
from tonnage_agent.wrapping.signals import FORWARDED, STOPPING, Signals

LEFTOVER_SECONDS = 3.0
"""What the command leaves running is asked to end, and ended after this."""
_LOG_LINES = 60
_SAMPLES = 120
"""Newest samples that are told to whoever asks."""
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
        self._environment = with_sdk(environment)
        self._signals = Signals()
        self._senses = Senses(_watched_folders(settings), settings.memory_limit, environment)
        self._pumps: list[Pump] = []
        self._facts = Facts(settings, self._senses, self._last_lines)
        self._log = LogReader(settings.step_pattern, self._signals.wake)
        self._box = BlackBox(settings, self._senses.look_at_rooms)
        self._begun = time.time()
        self._wall = nearest_wall(
            self._begun, settings.deadline, settings.budget, settings.spent, settings.price_per_hour
        )
        self._ear, self._control = self._open_channels()
        self._newest: tuple[Record, Mapping[str, object]] = (Record(), {})
        self._samples: deque[str] = deque(maxlen=_SAMPLES)
        self._pid = 0
        self._status: int | None = None
        self._kill_at: float | None = None
        self._ended_by: Wall | None = None
        self._warned = self._asked_to_save = False
        self._ended: set[int] = set()
        self._looked_at = 0

    def run(self) -> int:
        """From start to end."""
        if self._box.note:
            say(self._box.note)
        self._serve_metrics()
        self._keep(urgent=True)
        if self._settings.peers:
            code = self._check_peers()
            if code is not None:
                return code
        try:
            self._start()
        except CannotStartError as error:
            return self._refused(str(error), error.code)
        self._senses.watch_gpus()
        self._watch()
        self._end_leftovers()
        return self._finish()

    def _open_channels(self) -> tuple[Ear | None, Control]:
        """The socket and the file through which the script and we talk; without them it runs all the same."""
        try:
            ear = Ear(self._settings.socket)
        except OSError as error:
            say(f"no socket for the training script: {error}")
            return None, Control(self._settings.control)
        self._environment[contract.SOCKET] = ear.path
        control = Control(self._settings.control or f"{ear.path}.control")
        self._environment[contract.CONTROL] = control.path
        return ear, control

    def _serve_metrics(self) -> None:
        if not self._settings.metrics_port:
            return
        from tonnage_agent.serving import Server

        try:
            pages = {
                "/record": lambda: self._newest[0].as_text(),
                "/samples": lambda: "\n".join(self._samples),
            }
            Server(self._settings.metrics_port, self._exposition, pages)
        except OSError as error:
            say(f"no metrics on port {self._settings.metrics_port}: {error.strerror}")

    def _exposition(self) -> str:
        """Called by the server's threads: reads what the loop has left, nothing else."""
        from tonnage_agent.metrics import exposition

        settings = self._settings
        cost = None
        if settings.price_per_hour:
            cost = cost_so_far(time.time() - self._begun, settings.spent, settings.price_per_hour)
        record, counters = self._newest
        return exposition(record, counters, cost=cost, wall=self._wall.at if self._wall else None)

    def _check_peers(self) -> int | None:
        """Whether the gang is whole; an exit code where there is no use in starting."""
        from tonnage_agent.preflight import PeersCheck

        check = PeersCheck(self._settings)
        while check.is_running(0.2):
            stopping = [number for number in self._signals.taken() if number in STOPPING]
            if stopping:
                name = signal.Signals(stopping[0]).name
                return self._refused(
                    f"got {name} before the command was started", 128 + stopping[0], "terminated"
                )
        verdict = check.verdict
        self._facts.peers = verdict.line
        if not verdict.is_complete:
            return self._refused(f"peers: {verdict.line}", contract.EXIT_PREFLIGHT, "preflight")
        say(f"peers: {verdict.line}")
        return None

    def _start(self) -> None:
        one_pipe = same_file(1, 2)
        self._pumps = (
            [Pump(1, self._log.read)] if one_pipe else [Pump(1, self._log.read), Pump(2, self._log.read)]
        )
        try:
            process = start(self._command, self._environment, self._pumps[0].pipe, self._pumps[-1].pipe)
        except CannotStartError:
            for pump in self._pumps:
                pump.abandon()
            self._pumps = []
            raise
        for pump in self._pumps:
            pump.start()
        self._pid, process.returncode = process.pid, 0  # reaped here, by its pid
        self._facts.state, self._facts.started_at = "running", round(time.time(), 3)

    def _watch(self) -> None:
        """The loop, until the command has ended."""
        waiting = select.poll()
        waiting.register(self._signals.fileno(), select.POLLIN)
        if self._ear is not None:
            waiting.register(self._ear.fileno(), select.POLLIN)
        due = 0.0
        while self._status is None:
            now = time.monotonic()
            if now >= due:
                self._tick()
                due = now + self._pause()
            until = due if self._kill_at is None else min(due, self._kill_at)
            waiting.poll(max(until - time.monotonic(), 0.0) * 1000)
            self._take_signals()
            self._listen()
            if self._kill_at is not None and time.monotonic() >= self._kill_at:
                self._kill()

    def _pause(self) -> float:
        """Seconds to the next sample: fewer while memory is short or the end is near."""
        near = self._facts.memory.is_near_limit or self._kill_at is not None
        return self._settings.sample_seconds / (_NEAR_LIMIT_RATE if near else 1)

    def _tick(self) -> None:
        sample = self._facts.take(time.time())
        memory = self._facts.memory
        needed = memory.last.needed_bytes if memory.last else 0
        hurry = self._settings.memory_limit is not None or memory.is_near_limit or needed > _GROWN * self._looked_at
        is_fresh = self._senses.look_at_processes(self._pid, self._facts.told.rank_pids.values(), hurry=hurry)
        self._looked_at = needed if is_fresh else self._looked_at
        self._write_down(sample)
        if is_fresh and self._settings.memory_limit is not None:
            self._hold_memory(self._settings.memory_limit)
        self._hold_walls()

    def _keep(self, *, urgent: bool = False) -> None:
        """Measure and write down."""
        self._write_down(self._facts.take(time.time()), urgent=urgent)

    def _write_down(self, sample: Sample | None, *, urgent: bool = False) -> None:
        now = time.time()
        record = self._facts.record(now)
        self._newest = (record, self._facts.counters)
        line = self._facts.sample_line(sample, now)
        if line:
            self._samples.append(line)
        self._box.keep(record, line, urgent=urgent)

    def _take_signals(self) -> None:
        for number in self._signals.taken():
            if number == signal.SIGCHLD:
                self._reap()
            elif number in FORWARDED and self._status is None:
                if number in STOPPING:
                    self._stop("terminated", f"got {signal.Signals(number).name}", number)
                else:
                    forward(number, self._pid)

    def _listen(self) -> None:
        """Events of the script and of its log; a change of phase is measured at once."""
        events = [(event, "sdk") for event in self._ear.hear()] if self._ear is not None else []
        events += [(event, "log") for event in self._log.taken()]
        now = time.time()
        for event, source in events:
            if event.get("event") == "phase":
                self._facts.take(now)  # what was held until now belongs to the phase that ends
            if self._facts.told.hear(event, now, source):
                self._keep(urgent=event.get("event") != "phase")
        if self._facts.first_rank is None and self._log.first_rank is not None:
            self._facts.first_rank = self._log.first_rank

    def _reap(self) -> None:
        """Every child that has ended, orphans we inherited included."""
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if pid == 0:
                return
            if pid == self._pid:
                self._status = status

    def _stop(self, cause: str, message: str, number: int = signal.SIGTERM) -> None:
        """Ask the command to end; from now on its grace period runs."""
        settings = self._settings
        if self._kill_at is None:
            self._kill_at = time.monotonic() + max(settings.grace_seconds - settings.reserve_seconds, 0.0)
            self._facts.state, self._facts.cause, self._facts.message = "stopping", cause, message
            self._control.ask_stop(cause)
        forward(number, self._pid)
        self._keep(urgent=True)

    def _kill(self) -> None:
        """The grace period is over."""
        self._kill_at = float("inf")
        self._facts.message += f"; still running after {self._settings.grace_seconds:g} s, killed"
        self._keep(urgent=True)
        for process in descendants(os.getpid(), all_processes().values()):
            send(signal.SIGKILL, process.pid)

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
        wall, now = self._wall, time.time()
        if wall is None or self._ended_by is not None:
            return
        grace = self._settings.grace_seconds
        if now >= wall.stops_at(grace):
            self._ended_by = wall
            say(f"{wall.text(now)}: stopping the command")
            self._stop(wall.cause, f"{wall.cause} reached")
        elif (
            now >= wall.saves_at(grace, self._facts.told.checkpoint.get("seconds"))
            and not self._asked_to_save
        ):
            self._asked_to_save = True
            say(f"{wall.text(now)}: asking for a checkpoint")
            self._control.ask_save()
        elif now >= wall.warns_at() and not self._warned:
            self._warned = True
            say(wall.text(now))

    def _end_leftovers(self) -> None:
        """A container ends with its command: what it left running is asked to end, then ended."""
        limit = (
            LEFTOVER_SECONDS
            if self._kill_at is None
            else min(LEFTOVER_SECONDS, self._settings.reserve_seconds)
        )
        until = time.monotonic() + limit
        number = signal.SIGTERM
        told: set[int] = set()
        while True:
            self._reap()
            alive = [p for p in descendants(os.getpid(), all_processes().values()) if p.state != "Z"]
            if not alive:
                break
            if not told:
                self._facts.left_running = len(alive)
            if time.monotonic() >= until:
                if number == signal.SIGKILL:
                    break
                number, until, told = signal.SIGKILL, time.monotonic() + 1.0, set()
            for process in alive:
                if process.pid not in told:
                    send(number, process.pid)
                    told.add(process.pid)
            time.sleep(0.02)
        for pump in self._pumps:
            pump.join(1.0)

    def _refused(self, message: str, code: int, cause: str = "command") -> int:
        """The end, before the command was started."""
        say(message)
        self._facts.state, self._facts.cause, self._facts.message = "ended", cause, message
        self._facts.exit_code = code
        self._close()
        return code

    def _finish(self) -> int:
        """What happened, in the last record; the exit code."""
        assert self._status is not None
        facts, status = self._facts, self._status
        self._listen()
        facts.take(time.time())
        code = exit_code(status)
        facts.state, facts.exit_code = "ended", code
        facts.signal = os.WTERMSIG(status) if os.WIFSIGNALED(status) else None
        if self._ended_by is not None and not self._is_done(code):
            facts.exit_code = code = self._ended_by.exit_code
        facts.explain_end()
        self._close()
        return code

    def _is_done(self, code: int) -> bool:
        """It made its last step anyway before it was stopped."""
        told = self._facts.told
        return code == 0 and told.total is not None and told.step is not None and told.step >= told.total

    def _close(self) -> None:
        if self._ear is not None:
            self._ear.close()
        self._control.close()
        if not self._box.finish(self._facts.record(time.time()), max(self._settings.reserve_seconds, 1.0)):
            say(f"{self._box.place} does not answer: the last record may be missing there")
        elif self._box.problem:
            say(self._box.problem)

    def _last_lines(self) -> list[str]:
        """The last lines of both streams, in the order in which they came."""
        lines = sorted((line for pump in self._pumps for line in pump.lines.last()), key=lambda line: line[0])
        return [text for _, text in lines[-_LOG_LINES:]]


def with_sdk(environment: Mapping[str, str]) -> dict[str, str]:
    """The environment with our own archive last on PYTHONPATH: scripts find the SDK without installing it."""
    archive = __file__.partition(f"{os.sep}tonnage_agent{os.sep}")[0]
    paths = environment.get("PYTHONPATH", "")
    if not os.path.isfile(archive) or archive in paths.split(os.pathsep):
        return dict(environment)
    return {**environment, "PYTHONPATH": f"{paths}{os.pathsep}{archive}" if paths else archive}


def _watched_folders(settings: Settings) -> dict[str, str]:
    """File systems worth watching, by the name they have in the record."""
    folders = {"shm": "/dev/shm", "work": os.getcwd()}
    if settings.checkpoints and "://" not in settings.checkpoints:
        folders["checkpoints"] = settings.checkpoints
    return folders
