"""What the same training gives when nothing happens to it: losses by step, and the hash of its final weights."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from threading import Lock

from survival.machine.bench import TRAININGS, Bench
from tonnage.supervising.opening import agent_archive


@dataclass(frozen=True)
class Reference:
    """One undisturbed training."""

    losses: Mapping[int, str]
    weights: str


@dataclass
class References:
    """Undisturbed runs, each made once."""

    _known: dict[object, Reference] = field(default_factory=dict)
    _locks: dict[object, Lock] = field(default_factory=dict)
    _lock: Lock = field(default_factory=Lock)

    def of(self, script: str, env: Mapping[str, str], *, world: int = 1, python: str = "") -> Reference:
        """The reference of a script with these variables, made by the script alone: no agent, no supervisor."""
        key = (script, world, python, *sorted(env.items()))
        with self._lock:
            own = self._locks.setdefault(key, Lock())
        with own:  # others are made beside it
            if key not in self._known:
                self._known[key] = _make(script, env, world, python or sys.executable)
            return self._known[key]


def _make(script: str, env: Mapping[str, str], world: int, python: str) -> Reference:
    with tempfile.TemporaryDirectory(prefix="survival-reference-") as made:
        folder = Path(made)
        bench = Bench(folder)
        archive = agent_archive(folder)
        processes = [
            subprocess.Popen(
                [python, str(TRAININGS / script)],
                env={
                    **os.environ, "PYTHONPATH": str(archive), "TONNAGE_CHECKPOINTS": str(folder / "ckpt" / "alone"),
                    "TONNAGE_CHECKPOINT_EVERY": "3600", "OMP_NUM_THREADS": "1", "JOURNAL": str(bench.journal_file),
                    "RANK": str(rank), "WORLD_SIZE": str(world), "MASTER_ADDR": "127.0.0.1",
                    **env, "PAUSE": "0",
                },
                stdout=subprocess.DEVNULL,
            )
            for rank in range(world)
        ]  # fmt: skip
        for process in processes:
            if process.wait(900) != 0:
                raise RuntimeError(f"the undisturbed {script} failed: exit code {process.returncode}")
        losses = {
            line.step: line.loss for line in bench.journal() if line.step is not None and line.rank == 0
        }
        return Reference(losses, sha256(bench.weights()).hexdigest())
