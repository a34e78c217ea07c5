"""This machine as a place of attempts: start them behind a limit, look at them, end them.

Nothing is kept in memory: what runs, what it was told and how it ended are files written by the shims, so a
supervisor that was killed is replaced by one that reads them.
"""

from __future__ import annotations

import datetime as dt
import json
import os
import signal
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from tonnage.cluster.port import Target
from tonnage.diagnosis.evidence import ContainerEnd, Evidence, LogLines, PodEnd
from tonnage.local.allowing import with_what_is_left
from tonnage.local.burying import bury
from tonnage.local.detached import start_detached
from tonnage.local.layout import NodeFolder
from tonnage.local.machine import NAME, usable_memory
from tonnage.local.processes import Identity
from tonnage.local.sampled import samples_after
from tonnage.local.starting import Node, Setting, nodes_of
from tonnage.local.tailing import last_lines, lines_after
from tonnage.running.attempts import Size
from tonnage.running.history import RunRecord
from tonnage.running.observing import Bounds, Observation
from tonnage.running.records import observed_in
from tonnage_agent.contract import RECORD_FILE, SAMPLES_FILE
from tonnage_agent.record import Record, read_record
from tonnage_agent.telemetry import Sample

LOG_LINES = 200
_SHIM_SECONDS = 20.0
_CLEAR_SECONDS = 3.0
"""How long a shim may take to end what its command left behind."""


class LocalPlace:
    """See the module."""

    def __init__(self, setting: Setting, history: Callable[[], RunRecord] | None = None) -> None:
        self._setting = setting
        self._history = history
        self._nodes = setting.run.spec.nodes.low

    @property
    def target(self) -> Target:
        return Target("machine", NAME)

    def launch(self, number: int, size: Size, *, resume: bool) -> None:  # noqa: ARG002 - the keeper resumes
        setting = self._setting
        if self._history is not None:
            setting = with_what_is_left(setting, self._history(), time.time())
        for node in nodes_of(setting, number, size):
            folder = self._folder(number, node.index)
            if folder.shim.exists() or folder.exit.exists():
                continue
            self._start(folder, node, number)
        self._await_shims(number)

    def _start(self, folder: NodeFolder, node: Node, number: int) -> None:
        folder.root.mkdir(parents=True, exist_ok=True, mode=0o700)
        told = {
            "argv": node.argv,
            "env": dict(node.env),
            "cwd": str(node.cwd),
            "memory": node.memory,
            "cgroup": f"tonnage-{self._setting.run_id}-{number}-{node.index}-{os.getpid()}",
            "graceSeconds": node.grace_seconds,
        }
        if node.memory is not None:
            folder.limit.write_text(str(node.memory))
        descriptor = os.open(folder.start, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(descriptor, "w") as file:  # it holds the environment: for nobody else's eyes
            json.dump(told, file)
        start_detached([sys.executable, "-m", "tonnage.local.shim", str(folder.root)], folder.output)

    def _await_shims(self, number: int) -> None:
        """Wait until every shim has said who it is: from then on the attempt needs nobody."""
        give_up = time.monotonic() + _SHIM_SECONDS
        while time.monotonic() < give_up:
            folders = [self._folder(number, index) for index in range(self._nodes)]
            if all(folder.shim.exists() or folder.exit.exists() for folder in folders):
                return
            time.sleep(0.02)

    def observe(self, number: int) -> Observation:
        states = [self._state(number, index) for index in range(self._nodes)]
        records = [self._record(number, index) for index in range(self._nodes)]
        if any(state == "failed" for state in states) and "running" in states:
            self._end_the_rest(number)
        seen = observed_in(records)
        if all(state == "absent" for state in states):
            return Observation(state="absent")
        if all(state in ("done", "failed") for state in states):
            return replace(seen, state="ended", since=self._finished(number))
        started = seen.since is not None
        return replace(
            seen,
            state="running" if started else "starting",
            nodes=(NAME,),
            pods=self._nodes,
            ranks_ready=states.count("running"),
        )

    def _state(self, number: int, index: int) -> str:
        folder = self._folder(number, index)
        if (ended := _read(folder.exit)) is not None:
            return "done" if ended.get("exitCode") == 0 and ended.get("reason") != "OOMKilled" else "failed"
        who = _read(folder.shim)
        if who is None:
            return "absent" if not folder.start.exists() or self._is_stale(folder) else "starting"
        alive = [_identity(who.get(name)) for name in ("shim", "main")]
        return "running" if any(one is not None and one.is_alive for one in alive) else "failed"

    def _is_stale(self, folder: NodeFolder) -> bool:
        """A start that nobody took up: its supervisor died between writing it and starting the shim."""
        return time.time() - folder.start.stat().st_mtime > _SHIM_SECONDS

    def _end_the_rest(self, number: int) -> None:
        """A gang lives and dies together: the others would wait for the dead one for ever."""
        for index in range(self._nodes):
            if self._state(number, index) == "running":
                self._signal(number, index, signal.SIGTERM)

    def evidence(self, number: int) -> Evidence:
        self._bury(number)
        pods = tuple(self._pod_end(number, index) for index in range(self._nodes))
        records: dict[int, Mapping[str, Any]] = {}
        logs = []
        for index in range(self._nodes):
            if (found := self._raw_record(number, index)) is not None:
                records[index] = found
            lines = last_lines(self._folder(number, index).output, LOG_LINES)
            logs.append(LogLines(index=index, lines=tuple(lines), source="output.log"))
        return Evidence(pods=pods, records=records, logs=tuple(logs), is_final=True)

    def _bury(self, number: int) -> None:
        """Where a shim was killed with its attempt, end what it can no longer end."""
        for index in range(self._nodes):
            told = _read(self._folder(number, index).shim) or {}
            keeper = _identity(told.get("shim"))
            if self._state(number, index) not in ("done", "failed"):
                continue
            give_up = time.monotonic() + _CLEAR_SECONDS
            while keeper is not None and keeper.is_alive and time.monotonic() < give_up:
                time.sleep(0.02)  # it has written its last word, and clears up itself
            if keeper is None or not keeper.is_alive:
                kills = bury(told, self._setting.folder.record, number, index)
                if kills is not None:  # asked once: then it is gone
                    self._folder(number, index).remains.write_text(json.dumps({"oomKills": kills}))

    def _pod_end(self, number: int, index: int) -> PodEnd:
        folder = self._folder(number, index)
        ended = _read(folder.exit) or {}
        counted = ended or _read(folder.remains) or {}
        container = ContainerEnd(
            name="main",
            exit_code=ended.get("exitCode"),
            signal=ended.get("signal"),
            reason=ended.get("reason", ""),
            message=ended.get("message", ""),
            started=_moment(ended.get("started")),
            finished=_moment(ended.get("finished")),
            oom_kills=counted.get("oomKills"),
        )
        phase = "Succeeded" if container.exit_code == 0 else "Failed"
        return PodEnd(
            index=index,
            name=f"{self._setting.run.metadata.name}-{index}",
            node=NAME,
            phase=phase,
            containers=(container,),
            is_gone=not ended,
            memory_limit=ended.get("limit"),
        )

    def stop(self, number: int, grace_seconds: float) -> None:  # noqa: ARG002 - the shim knows its grace period
        for index in range(self._nodes):
            self._signal(number, index, signal.SIGTERM)

    def suspend(self, number: int) -> None:
        self.stop(number, self._setting.launching.grace_seconds)

    def save(self, number: int) -> bool:
        for index in range(self._nodes):
            asked = _read(self._folder(number, index).asked) or {}
            self._ask(number, index, {**asked, "save": asked.get("save", 0) + 1})
        return True

    def resize(self, number: int, memory: int) -> bool:
        """The shim takes over a cgroup's limit, the agent one that it watches itself."""
        shims = [_read(self._folder(number, index).shim) or {} for index in range(self._nodes)]
        if not all(shim.get("by") == "watched" or shim.get("cgroup") for shim in shims):
            return False
        for index in range(self._nodes):
            path = self._folder(number, index).limit
            path.with_suffix(".new").write_text(str(memory))
            path.with_suffix(".new").replace(path)
            asked = _read(self._folder(number, index).asked) or {}
            self._ask(number, index, {**asked, "memoryLimit": memory})
        return True

    def _ask(self, number: int, index: int, wishes: Mapping[str, int]) -> None:
        path = self._folder(number, index).asked
        path.with_suffix(".new").write_text(json.dumps(wishes))
        path.with_suffix(".new").replace(path)

    def bounds(self, size: Size) -> Bounds:  # noqa: ARG002
        most = usable_memory() // self._nodes
        return Bounds(memory=most, memory_wall="free memory of this machine", can_resize_in_place=True)

    def samples(self, number: int, after: Mapping[int, float]) -> Sequence[tuple[int, Sample]]:
        found = []
        for index in range(self._nodes):
            path = self._setting.folder.record_of(number, index) / SAMPLES_FILE
            found += [(index, sample) for sample in samples_after(path, after.get(index, 0.0))]
        return found

    def logs(self, number: int, *, node: int | None = None, tail: int | None = None) -> list[str]:
        wanted = range(self._nodes) if node is None else [node]
        lines: list[str] = []
        for index in wanted:
            own = last_lines(self._folder(number, index).output, tail)
            lines += own if node is not None or self._nodes == 1 else [f"[{index}] {line}" for line in own]
        return lines

    def new_logs(
        self, number: int, seen: Mapping[int, int], *, node: int | None = None, to_the_end: bool = False
    ) -> tuple[list[str], dict[int, int]]:
        wanted = range(self._nodes) if node is None else [node]
        lines: list[str] = []
        after = dict(seen)
        for index in wanted:
            path = self._folder(number, index).output
            own, after[index] = lines_after(path, seen.get(index, 0), to_the_end=to_the_end)
            lines += own if node is not None or self._nodes == 1 else [f"[{index}] {line}" for line in own]
        return lines, after

    def log_ends(self, number: int) -> dict[int, int]:
        paths = {index: self._folder(number, index).output for index in range(self._nodes)}
        return {index: path.stat().st_size for index, path in paths.items() if path.exists()}

    def clean(self, number: int) -> None:
        for index in range(self._nodes):
            self._folder(number, index).start.unlink(missing_ok=True)

    def _signal(self, number: int, index: int, which: signal.Signals) -> None:
        who = _read(self._folder(number, index).shim) or {}
        for name in ("shim", "main"):
            one = _identity(who.get(name))
            if one is not None and one.signal(which):
                return

    def _finished(self, number: int) -> dt.datetime | None:
        ends = [_read(self._folder(number, index).exit) or {} for index in range(self._nodes)]
        times = [_moment(end.get("finished")) for end in ends]
        return max((time_ for time_ in times if time_ is not None), default=None)

    def _record(self, number: int, index: int) -> Record:
        return read_record(dict(self._raw_record(number, index) or {}))

    def _raw_record(self, number: int, index: int) -> dict[str, Any] | None:
        return _read(self._setting.folder.record_of(number, index) / RECORD_FILE)

    def _folder(self, number: int, index: int) -> NodeFolder:
        return self._setting.folder.node(number, index)


def _read(path: Path) -> dict[str, Any] | None:
    try:
        values = json.loads(path.read_bytes())
    except (OSError, ValueError):
        return None
    return values if isinstance(values, dict) else None


def _identity(named: Any) -> Identity | None:
    return Identity(named["pid"], named["started"]) if isinstance(named, dict) else None


def _moment(seconds: Any) -> dt.datetime | None:
    return None if seconds is None else dt.datetime.fromtimestamp(seconds, dt.UTC)
