"""Planning a step that can be traced: exact figures, and only the knobs that the step takes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from tonnage.cli.plan import plan

pytestmark = pytest.mark.torch

STEP = """
import torch


def build(micro_batch=8, accumulation=1):
    layers = [layer for _ in range(4) for layer in (torch.nn.Linear(2048, 2048), torch.nn.ReLU())]
    model = torch.nn.Sequential(*layers).to("cuda")
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

    def step():
        for _ in range(accumulation):
            batch = torch.randn(micro_batch, 1024, 2048, device="cuda")
            (model(batch).square().mean() / accumulation).backward()
        optimizer.step()
        optimizer.zero_grad()

    return step
"""

RUN = """
apiVersion: tonnage.dev/v1alpha1
kind: Run
metadata: {{name: traced}}
spec:
  image: registry.example/ml/traced:1
  command: python train.py
  gpus: 1 x t4
  model: {{step: "step.py:build", python: {python}}}
  train: {{microBatch: 256, accumulation: 1, steps: 100}}
  checkpoints: s3://bucket/traced
"""


def test_a_traced_step_is_planned_exactly_and_fitted_with_its_own_knobs(
    torch_python: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("step.py").write_text(STEP)
    Path("run.yaml").write_text(RUN.format(python=torch_python))
    result = CliRunner().invoke(plan, ["run.yaml", "--fit", "-o", "json"], standalone_mode=False)
    assert result.exception is None, result.exception
    answer = json.loads(result.stdout)

    assert result.return_value == 1
    assert answer["gpuMemory"]["mode"] == "exact"
    assert answer["verdict"]["kind"] == "fits if"
    assert answer["fit"]["confirmed"]
    chosen = {change["field"]: change["value"] for change in answer["fit"]["chosen"]["changes"]}
    assert chosen["train.microBatch"] * chosen["train.accumulation"] == 256
    assert answer["fit"]["chosen"]["required"] <= answer["fit"]["chosen"]["usable"]
    assert set(answer["fit"]["fixed"]) >= {"checkpointing", "sharding", "offload"}


def test_without_tracing_the_step_is_said_to_be_unknown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("run.yaml").write_text(RUN.format(python="python3"))
    result = CliRunner().invoke(plan, ["run.yaml", "--no-trace"], standalone_mode=False)

    assert result.return_value == 0
    assert "not known: the step was not traced" in result.stdout


def test_a_step_that_cannot_be_traced_says_why(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("run.yaml").write_text(RUN.format(python="python3"))
    result = CliRunner().invoke(plan, ["run.yaml"], standalone_mode=False)

    assert result.return_value == 0
    assert "not known: there is no such file (TRACE-002)" in result.stdout


def test_a_step_that_cannot_be_traced_falls_back_to_its_shape(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    text = RUN.format(python="python3").replace("model: {", "model: {shape: resnet18, ")
    Path("run.yaml").write_text(text.replace("microBatch: 256", "microBatch: 8, imageSize: 224"))
    result = CliRunner().invoke(plan, ["run.yaml"], standalone_mode=False)

    assert result.return_value == 0
    assert "estimated from the shape" in result.stdout
    assert "not traced, estimated from the shape: there is no such file" in result.stdout
