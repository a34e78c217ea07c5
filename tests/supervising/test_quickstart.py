"""The README's main command: OOM-killed on purpose, back with more memory, finished, and nothing lost by it."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

from tonnage.local.processes import Identity
from tonnage.supervising.opening import agent_archive

ROOT = Path(__file__).parents[2]
QUICKSTART = ROOT / "examples" / "quickstart"


def tonnage(home: Path, *words: str, timeout: float = 300) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "TONNAGE_HOME": str(home), "NO_COLOR": "1"}
    command = [sys.executable, "-m", "tonnage", *words]
    return subprocess.run(
        command, env=environment, capture_output=True, text=True, timeout=timeout, check=False, cwd=ROOT
    )


def undisturbed_weights(folder: Path) -> object:
    """What the same training gives when nothing happens to it."""
    archive = agent_archive(folder)
    environment = {**os.environ, "PYTHONPATH": str(archive), "TONNAGE_CHECKPOINTS": str(folder / "ckpt")}
    subprocess.run(
        [sys.executable, "train.py"], cwd=QUICKSTART, env=environment, check=True, capture_output=True
    )
    return newest_weights(folder / "ckpt")


def newest_weights(folder: Path) -> object:
    saved = max(folder.rglob("model.json"), key=lambda path: path.parent.name)
    return json.loads(saved.read_text())


def test_the_quickstart_dies_of_memory_comes_back_bigger_and_loses_nothing(tmp_path: Path) -> None:
    home = tmp_path / "home"
    ran = tonnage(home, "run", "examples/quickstart/run.yaml")
    assert ran.returncode == 0, ran.stdout + ran.stderr
    for word in ("OOM", "checkpoint", "resumed from step", "finished"):
        assert word in ran.stdout
    assert re.search(r"attempt 2: \d+ MiB", ran.stdout)
    assert newest_weights(home / "volumes/quickstart") == undisturbed_weights(tmp_path)


def test_what_happened_can_be_read_again(tmp_path: Path) -> None:
    home = tmp_path / "home"
    document = (QUICKSTART / "run.yaml").read_text().replace("memory: 96Mi", "memory: 512Mi")
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "run.yaml").write_text(document.replace("steps: 300", "steps: 20"))
    (folder / "train.py").write_text((QUICKSTART / "train.py").read_text().replace("300, 2048", "20, 64"))
    assert tonnage(home, "run", str(folder / "run.yaml")).returncode == 0
    listed = json.loads(tonnage(home, "ps", "--all", "-o", "json").stdout)
    assert [(line["name"], line["state"], line["attempt"]) for line in listed] == [
        ("quickstart", "finished", 1)
    ]
    seen = json.loads(tonnage(home, "watch", "quickstart", "-o", "json").stdout)
    assert seen["state"] == "finished"
    assert seen["moments"][-1]["text"].startswith("finished")
    assert "finished: loss" in tonnage(home, "logs", "quickstart").stdout
    refused = tonnage(home, "resume", "quickstart")
    assert (refused.returncode, "RUN-106" in refused.stderr) == (1, True)


def test_detached_it_lives_without_a_terminal_and_stops_when_asked(tmp_path: Path) -> None:
    home = tmp_path / "home"
    started = tonnage(home, "run", "examples/quickstart/run.yaml", "--detach")
    assert started.returncode == 0, started.stderr
    again = tonnage(home, "run", "examples/quickstart/run.yaml", "--detach")
    assert (again.returncode, "RUN-101" in again.stderr) == (1, True)
    supervisor = int((home / "runs/1/lock").read_text())
    who = Identity.of(supervisor)
    assert who is not None
    who.signal(9)  # type: ignore[arg-type]
    listed = tonnage(home, "ps")
    assert "taken up again" in listed.stderr
    stopped = tonnage(home, "stop", "quickstart")
    assert "stopped" in stopped.stdout, stopped.stdout + stopped.stderr
    assert "no run is active" in tonnage(home, "ps").stdout


def test_a_name_that_is_not_there_is_answered_with_one_that_is(tmp_path: Path) -> None:
    missing = tonnage(tmp_path, "watch", "quickstrat")
    assert (missing.returncode, "RUN-103" in missing.stderr) == (1, True)
