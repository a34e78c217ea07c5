"""`tonnage estimate --step` from end to end: a user's file, a GPU that pretends, and an answer."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.torch

STEP = """
import torch

def build(*, micro_batch=8, precision="fp32"):
    model = torch.nn.Sequential(torch.nn.Linear(1024, 4096), torch.nn.GELU(), torch.nn.Linear(4096, 1024)).cuda()
    optimizer = torch.optim.AdamW(model.parameters())

    def step():
        loss = model(torch.randn(micro_batch, 1024, device="cuda")).square().mean()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()

    return step

def broken():
    raise ValueError("no data set at /data")
"""


def estimate(python: str, *words: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "tonnage", "estimate", "--python", python, *words],
        capture_output=True,
        text=True,
        env={**os.environ, "COLUMNS": "80", "OMP_NUM_THREADS": "1", **environment},
        check=False,
        timeout=240,
    )


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("user") / "train.py"
    path.write_text(STEP)
    return path


def test_a_step_is_answered_exactly_with_its_knobs(torch_python: str, file: Path):
    timeline = file.parent / "timeline.json"
    shown = estimate(
        torch_python, "--step", f"{file}:build", "--batch", "4096", "--gpu", "h200", "-o", "json",
        "--timeline", str(timeline),
    )  # fmt: skip
    assert shown.returncode == 0, shown.stderr
    found = json.loads(shown.stdout)
    assert found["mode"] == "exact"
    assert (found["knobs"]["micro_batch"], found["fits"]) == (4096, True)
    assert "sequence" in found["fixed"]
    assert sum(part["bytes"] for part in found["parts"]) == found["peak_allocated"]
    parts = {part["name"]: part["bytes"] for part in found["parts"]}
    weights = 2 * 1024 * 4096 * 4
    assert weights <= parts["parameters"] <= weights + 65536
    assert parts["optimizer"] == pytest.approx(2 * parts["parameters"], rel=0.02)
    assert found["peak_allocated"] <= found["smallest_cap"] <= found["peak_reserved"]
    assert found["step_seconds"]["p50"] > 0
    assert json.loads(timeline.read_text())["traceEvents"]


def test_a_knob_that_build_does_not_take_is_refused(torch_python: str, file: Path):
    shown = estimate(torch_python, "--step", f"{file}:build", "--seq", "128")
    assert shown.returncode == 1
    assert "does not take sequence" in " ".join(shown.stderr.split())  # wrapped where the path happens to end


def test_what_describes_the_shape_beside_a_step_need_not_be_taken_by_build(torch_python: str, file: Path):
    shown = estimate(
        torch_python, "--step", f"{file}:build", "--shape", "gpt2", "--batch", "8", "--seq", "128", "--gpu", "h200",
        "-o", "json",
    )  # fmt: skip
    assert shown.returncode == 0, shown.stderr
    found = json.loads(shown.stdout)
    assert found["mode"] == "exact"
    assert "build() does not take sequence: its own was traced" in found["notes"]


def test_a_file_that_is_not_python_is_named_with_its_line(torch_python: str, tmp_path: Path):
    (tmp_path / "train.py").write_text("import torch\ndef build(:\n")
    shown = estimate(torch_python, "--step", f"{tmp_path}/train.py:build", "--gpu", "h200")
    assert shown.returncode == 1
    assert "train.py:2" in "".join(shown.stderr.split())


def test_a_shape_answers_where_the_step_cannot_be_traced(torch_python: str, file: Path):
    alone = estimate(torch_python, "--step", f"{file}:broken")
    assert alone.returncode == 1
    assert "no data set at /data" in alone.stderr
    both = estimate(
        torch_python,
        "--step",
        f"{file}:broken",
        "--shape",
        "gpt2",
        "--batch",
        "1",
        "--seq",
        "64",
        "-o",
        "json",
    )
    assert both.returncode == 0, both.stderr
    found = json.loads(both.stdout)
    assert found["mode"] == "shape"
    assert "no data set at /data" in found["why_not_exact"]


def test_allocator_settings_of_the_environment_count(torch_python: str, file: Path):
    words = ("--step", f"{file}:build", "-o", "json")
    plain = estimate(torch_python, *words, PYTORCH_CUDA_ALLOC_CONF="")
    growing = estimate(torch_python, *words, PYTORCH_CUDA_ALLOC_CONF="expandable_segments:True")
    one, other = json.loads(plain.stdout), json.loads(growing.stdout)
    assert other["peak_allocated"] == pytest.approx(one["peak_allocated"], rel=0.05)
    assert other["peak_reserved"] != one["peak_reserved"]


@pytest.mark.parametrize("words", [(), ("-o", "json")], ids=["text", "json"])
def test_a_torch_that_is_refused_is_named_where_the_shape_answers(tmp_path: Path, words: tuple[str, ...]):
    answers = {"python": [3, 11, 0], "torch": "2.5.1+cu124", "cuda": "12.4", "hip": None}
    old = tmp_path / "python"
    old.write_text(f"#!/bin/sh\necho '{json.dumps(answers)}'\n")
    old.chmod(0o755)
    (tmp_path / "train.py").write_text("")
    shape = ("--shape", "gpt2", "--batch", "1", "--seq", "64")
    shown = estimate(str(old), "--step", f"{tmp_path / 'train.py'}:build", *shape, *words)
    assert shown.returncode == 0, shown.stderr
    assert "found torch 2.5.1+cu124, expected torch 2.9, " in " ".join(shown.stdout.split())
