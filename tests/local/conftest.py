"""Runs on this machine, in a home of their own, that leave nothing behind."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tonnage.local.place import LocalPlace
from tonnage.local.starting import Setting
from tonnage.running.history import Launching
from tonnage.running.observing import Observation
from tonnage.spec.loading import load_one
from tonnage.spec.run import Run
from tonnage.supervising.opening import agent_archive

MIB = 1024**2


class Bench:
    """A run of a small script, and the place that runs it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.home = folder / "home"
        self.numbers: list[int] = []
        self.place: LocalPlace | None = None

    def run(self, script: str, *, nodes: int = 1, grace: float = 5.0, extra: str = "") -> LocalPlace:
        """The place of a run whose command is this script."""
        (self.folder / "train.py").write_text(script)
        document = f"""
apiVersion: tonnage.dev/v1alpha1
kind: Run
metadata: {{name: bench}}
spec:
  command: [{sys.executable}, train.py]
  nodes: {nodes}
  checkpoints: {{to: ./ckpt, every: 1s}}
{extra}"""
        archive = agent_archive(self.home)
        setting = Setting(
            run_id=1,
            run=load_one(document, "run.yaml", Run),
            launching=Launching(
                document=document,
                folder=str(self.folder),
                lineage="bench-1",
                grace_seconds=grace,
                checkpoint_every=0.2,
            ),
            home=self.home,
            agent=(sys.executable, str(archive), "run", "--"),
            agent_path=str(archive),
            environment={"PATH": os.environ["PATH"], "TONNAGE_SAMPLE_SECONDS": "0.1"},
        )
        self.place = LocalPlace(setting)
        return self.place

    def wait(self, number: int, until: Callable[[Observation], bool], seconds: float = 30.0) -> Observation:
        """Look until something is so."""
        assert self.place is not None
        give_up = time.monotonic() + seconds
        while True:
            seen = self.place.observe(number)
            if until(seen):
                return seen
            assert time.monotonic() < give_up, f"still {seen}; {self.place.logs(number)}"
            time.sleep(0.05)

    def ended(self, number: int = 1) -> Observation:
        return self.wait(number, lambda seen: seen.state == "ended")

    def stepping(self, number: int = 1, step: int = 1) -> Observation:
        return self.wait(number, lambda seen: seen.progress is not None and seen.progress.step >= step)

    def close(self) -> None:
        if self.place is not None:
            for folder in (self.home / "runs" / "1").glob("attempt-*"):
                number = int(folder.name.rpartition("-")[2])
                self.place.stop(number, 0.0)
                self.wait(number, lambda seen: seen.state in ("ended", "absent"), 20.0)


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    made = Bench(tmp_path)
    yield made
    made.close()
