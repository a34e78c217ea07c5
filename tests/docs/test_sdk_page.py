"""Every example of the SDK's page runs, and the examples it links to survive being killed."""

from __future__ import annotations

import os
import random
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from dev.obtain_torch import interpreter_of

PROJECT = Path(__file__).parents[2]
PAGE = (PROJECT / "docs" / "sdk.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```python\n(.*?)```(?:\n\n```text output\n(.*?)```)?", PAGE, flags=re.DOTALL)
TORCH_BLOCKS = re.findall(r"```python torch\n(.*?)```", PAGE, flags=re.DOTALL)


def run(
    program: str | Path, folder: Path, python: str = sys.executable, **environment: str
) -> subprocess.Popen[str]:
    command = [python, program] if isinstance(program, Path) else [python, "-c", program]
    known = {**os.environ, "PYTHONPATH": str(PROJECT / "src"), "OMP_NUM_THREADS": "1", **environment}
    return subprocess.Popen(
        command, cwd=folder, env=known, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def finished(process: subprocess.Popen[str]) -> str:
    output, errors = process.communicate(timeout=120)
    assert process.returncode == 0, errors
    return output


def test_the_page_has_examples() -> None:
    assert len(BLOCKS) >= 4
    assert TORCH_BLOCKS


@pytest.mark.parametrize(("program", "output"), BLOCKS)
def test_an_example_of_the_page_runs(program: str, output: str, tmp_path: Path) -> None:
    assert finished(run(program, tmp_path)) == output
    finished(run(program, tmp_path))  # and again, where the first has left its checkpoints


@pytest.mark.torch
@pytest.mark.parametrize("program", TORCH_BLOCKS)
def test_a_torch_example_of_the_page_runs(program: str, tmp_path: Path) -> None:
    finished(run(program, tmp_path, str(interpreter_of("2.11"))))


@pytest.mark.parametrize("seed", range(2))
def test_the_plain_example_killed_again_and_again_ends_as_expected(tmp_path: Path, seed: int) -> None:
    example = PROJECT / "examples" / "sdk-python" / "train.py"
    chance = random.Random(seed)
    for _ in range(4):
        process = run(example, tmp_path, TONNAGE_CHECKPOINT_EVERY="0")
        time.sleep(0.1 + chance.random() * 0.6)
        process.send_signal(signal.SIGKILL)
        process.communicate()

    last = finished(run(example, tmp_path, TONNAGE_CHECKPOINT_EVERY="0.2"))

    assert last == (example.parent / "expected.txt").read_text()


@pytest.mark.torch
def test_the_torch_example_ends_alike_with_and_without_a_kill(tmp_path: Path) -> None:
    example, python = PROJECT / "examples" / "sdk-torch" / "train.py", str(interpreter_of("2.11"))
    (tmp_path / "calm").mkdir()
    (tmp_path / "hurt").mkdir()
    expected = finished(run(example, tmp_path / "calm", python))
    process = run(example, tmp_path / "hurt", python, TONNAGE_CHECKPOINT_EVERY="0")
    deadline = time.monotonic() + 60
    while not list((tmp_path / "hurt").glob("checkpoints/step-*")) and time.monotonic() < deadline:
        time.sleep(0.01)
    process.kill()
    process.communicate()

    assert finished(run(example, tmp_path / "hurt", python)) == expected
