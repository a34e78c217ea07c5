"""One training on this machine, run by the real `tonnage` in a home of its own, and everything that can be done to it.

Nothing here reaches into Tonnage to make something happen: runs are started and taken up by the command line,
processes are killed by their identity, files are damaged on disk. Only looking uses our own code (the store, the
shim's files).
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from survival.case import Step
from survival.judging import lives_of
from tonnage.local.burying import started_for
from tonnage.local.layout import RunFolder
from tonnage.local.processes import Identity, descendants
from tonnage.running.history import RunRecord
from tonnage.store.store import Store
from tonnage_agent.contract import RECORD_FILE

TRAININGS = Path(__file__).parents[1] / "trainings"
NAME = "survivor"


class NotSeenError(Exception):
    """Something that should have happened did not."""


@dataclass
class Bench:
    """See the module."""

    folder: Path
    seconds: float = 400.0
    """How long anything may take."""
    run_id: int = 1
    _store: Store | None = field(default=None, repr=False)

    @property
    def home(self) -> Path:
        return self.folder / "home"

    @property
    def trouble(self) -> Path:
        return self.folder / "trouble"

    @property
    def journal_file(self) -> Path:
        return self.folder / "journal"

    @property
    def store(self) -> Store:
        if self._store is None:
            self._store = Store(self.home)
        return self._store

    # -- starting and looking

    def write(self, spec: dict[str, Any], env: dict[str, str]) -> Path:
        """The document of this case."""
        self.trouble.mkdir(parents=True, exist_ok=True)
        said = {"JOURNAL": str(self.journal_file), "TROUBLE": str(self.trouble), **env}
        document = {
            "apiVersion": "tonnage.dev/v1alpha1",
            "kind": "Run",
            "metadata": {"name": NAME},
            "spec": {"code": str(TRAININGS), "cpu": 1, "disk": "256Mi", **spec, "env": said},
        }
        path = self.folder / "run.yaml"
        path.write_text(yaml.safe_dump(document, sort_keys=False))
        return path

    def tonnage(self, *words: str) -> subprocess.CompletedProcess[str]:
        """Run the command line as its user would."""
        environment = {**os.environ, "TONNAGE_HOME": str(self.home), "NO_COLOR": "1", "OMP_NUM_THREADS": "1"}
        return subprocess.run(
            [sys.executable, "-m", "tonnage", *words],
            env=environment, capture_output=True, text=True, timeout=self.seconds, check=False, cwd=self.folder,
        )  # fmt: skip

    def start(self, document: Path) -> None:
        started = self.tonnage("run", str(document), "--detach", "--yes")
        if started.returncode != 0:
            raise NotSeenError(f"it was not started: {started.stderr.strip() or started.stdout.strip()}")

    def record(self) -> RunRecord:
        return self.store.run(self.run_id)

    def wait(self, what: str, is_so: Callable[[], bool], seconds: float | None = None) -> None:
        """Look until something is so."""
        give_up = time.monotonic() + (seconds or self.seconds)
        while not is_so():
            if time.monotonic() > give_up:
                raise NotSeenError(f"never seen: {what}; {self._where()}")
            time.sleep(0.03)

    def _where(self) -> str:
        record = self.record()
        return f"it is {record.state} in attempt {len(record.attempts)}: {record.why}"

    def journal(self) -> list[Step]:
        if not self.journal_file.exists():
            return []
        return [Step(**json.loads(line)) for line in self.journal_file.read_text().splitlines()]

    def steps_of(self, attempt: int) -> list[Step]:
        return [line for line in self.journal() if line.attempt == attempt]

    def wait_for_attempt(self, number: int, steps: int = 1) -> bool:
        """Wait until an attempt makes steps; False where the run was over before."""

        def is_so() -> bool:
            made = [line for line in self.steps_of(number) if line.step is not None]
            return len(made) >= steps or not self.record().is_active

        self.wait(f"steps of attempt {number}", is_so)
        return self.record().is_active

    def wait_for_life(self, after: float, steps: int = 1) -> int | None:
        """Wait until a life that began after a moment makes steps; its attempt, or None where the run is over."""

        def newest() -> list[Step]:
            lives = [life for life in lives_of(self.journal()) if life[0].when > after]
            return lives[-1] if lives else []

        self.wait("steps of a new life", lambda: len(newest()) > steps or not self.record().is_active)
        return newest()[0].attempt if self.record().is_active and newest() else None

    def wait_for_end(self) -> None:
        self.wait("the end of the run", lambda: not self.record().is_active)

    # -- who is who

    def node_folder(self, attempt: int, node: int = 0) -> Path:
        return RunFolder.of(self.home, self.run_id).node(attempt, node).root

    def who(self, attempt: int, node: int = 0) -> dict[str, Any]:
        told = json.loads((self.node_folder(attempt, node) / "shim.json").read_text())
        return dict(told)

    def shim(self, attempt: int, node: int = 0) -> Identity | None:
        return _alive(self.who(attempt, node)["shim"])

    def agent(self, attempt: int, node: int = 0) -> Identity | None:
        return _alive(self.who(attempt, node)["main"])

    def trainers(self, attempt: int, node: int = 0) -> list[Identity]:
        agent = self.agent(attempt, node)
        if agent is None:
            return []
        found = (Identity.of(pid) for pid in descendants(agent.pid) if pid != agent.pid)
        return [each for each in found if each is not None]

    @property
    def killed(self) -> frozenset[str]:
        """What SIGKILL must be put down to: a signal from outside, where the kernel's own kills are counted."""
        is_counted = str(self.who(1).get("by", "")).startswith("cgroup")
        return frozenset(("EXT-01",)) if is_counted else frozenset(("UNKNOWN",))

    def supervisor(self) -> Identity | None:
        text = RunFolder.of(self.home, self.run_id).lock.read_text()
        return Identity.of(int(text)) if text.strip().isdecimal() else None

    def black_box(self, attempt: int, node: int = 0) -> dict[str, Any] | None:
        path = RunFolder.of(self.home, self.run_id).record_of(attempt, node) / RECORD_FILE
        try:
            return dict(json.loads(path.read_text()))
        except (OSError, ValueError):
            return None

    # -- checkpoints on disk

    def checkpoints(self) -> list[Path]:
        """Committed ones, oldest first, in the keeper's own order (attempt, then step)."""
        found = [path for path in self.home.glob("volumes/*/*/step-*") if path.is_dir()]
        found += [path for path in (self.folder / "ckpt").glob("*/step-*") if path.is_dir()]
        return sorted(found, key=by_order)

    def weights(self) -> bytes:
        """The final weights: what the newest checkpoint holds."""
        found = self.checkpoints()
        files = sorted(each for each in found[-1].iterdir() if "manifest" not in each.name) if found else []
        return b"".join(each.read_bytes() for each in files)

    # -- what is left

    def left(self) -> Iterator[str]:
        """What still runs or is held by this run."""
        run = RunFolder.of(self.home, self.run_id)
        for shim in sorted(run.root.glob("attempt-*/node-*/shim.json")):
            attempt, node = (int(part.name.rpartition("-")[2]) for part in (shim.parent.parent, shim.parent))
            for pid in started_for(run.record, attempt, node):
                yield f"process {pid} of attempt {attempt}, node {node}"
            told = json.loads(shim.read_text())
            if _alive(told["shim"]) is not None:
                yield f"shim {told['shim']['pid']} of attempt {attempt}"
            if told.get("cgroup") and Path(told["cgroup"]).exists():
                yield f"cgroup {Path(told['cgroup']).name}"

    def close(self) -> None:
        """End whatever a failed case left: by identity, nothing else."""
        if self._store is None and not self.home.exists():
            return
        supervisor = self.supervisor() if RunFolder.of(self.home, self.run_id).lock.exists() else None
        if supervisor is not None and self.record().is_active:
            supervisor.signal(signal.SIGKILL)
        run = RunFolder.of(self.home, self.run_id)
        for shim in run.root.glob("attempt-*/node-*/shim.json"):
            told = json.loads(shim.read_text())
            attempt, node = (int(part.name.rpartition("-")[2]) for part in (shim.parent.parent, shim.parent))
            keeper = _alive(told["shim"])
            if keeper is not None:
                keeper.signal(signal.SIGKILL)
            from tonnage.local.burying import bury

            bury(told, run.record, attempt, node)
        if self._store is not None:
            self._store.close()


def _alive(named: dict[str, int]) -> Identity | None:
    who = Identity(named["pid"], named["started"])
    return who if who.is_alive else None


def by_order(path: Path) -> tuple[int, int, str]:
    step, _, attempt = path.name.removeprefix("step-").partition(".attempt-")
    return int(attempt.partition(".")[0]), int(step), attempt
