"""Ctrl-C leaves a run to its supervisor, from the instant it was written down."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

from tests.supervising.benches import Bench


def test_interrupted_while_it_is_being_started_it_is_left_running_and_not_said_to_be_undone(
    tmp_path: Path,
) -> None:
    bench = Bench(tmp_path)
    words = [
        sys.executable,
        "-m",
        "tonnage",
        "run",
        str(bench.write("long", steps=4000, PAUSE=0.05)),
    ]
    environment = {**os.environ, "TONNAGE_HOME": str(bench.home)}
    ran = subprocess.Popen(
        words, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    )
    give_up = time.monotonic() + 60
    while not (bench.home / "runs/1/environment.json").exists() and time.monotonic() < give_up:
        time.sleep(0.002)  # it is in the history now, and has no supervisor yet
    ran.send_signal(signal.SIGINT)
    said, _ = ran.communicate(timeout=60)
    try:
        assert (ran.returncode, b"`tonnage watch long`" in said) == (0, True), said
        assert bench.seen("long")["state"] in ("starting", "running")
    finally:
        bench.tonnage("stop", "long")
    assert bench.seen("long")["state"] == "stopped"
