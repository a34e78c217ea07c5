"""Planning a step that can be traced: exact figures, and only the knobs that the step takes."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

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


def planned(text: str, *options: str, more: str = "") -> dict[str, Any]:
    """The plan of a document beside the step (and more functions), as JSON."""
    Path("step.py").write_text(STEP + more)
    Path("run.yaml").write_text(text)
    result = CliRunner().invoke(plan, ["run.yaml", "-o", "json", *options], standalone_mode=False)
    assert result.exception is None, result.exception
    answer: dict[str, Any] = json.loads(result.stdout)
    return answer


def test_what_the_document_leaves_out_is_what_build_itself_uses(
    torch_python: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    unsaid = RUN.format(python=torch_python).replace("microBatch: 256, accumulation: 1, ", "")
    said = unsaid.replace("steps: 100", "microBatch: 8, accumulation: 1, steps: 100")
    own, same = planned(unsaid, "--fit"), planned(said)

    assert own["gpuMemory"]["own"] == {"train.microBatch": 8, "train.accumulation": 1}
    assert same["gpuMemory"]["own"] == {}
    assert own["gpuMemory"]["required"] == same["gpuMemory"]["required"]
    assert own["time"]["perSecond"] == same["time"]["perSecond"]
    assert {"field": "train.microBatch", "value": "8", "origin": "step"} in own["effective"]
    assert own["fit"]["chosen"] is not None
    text = CliRunner().invoke(plan, ["run.yaml"], standalone_mode=False).stdout
    assert "build() itself uses" not in text
    Path("run.yaml").write_text(unsaid)
    text = CliRunner().invoke(plan, ["run.yaml"], standalone_mode=False).stdout
    assert "build() itself uses train.microBatch 8, train.accumulation 1" in " ".join(text.split())


def test_a_batch_that_only_the_step_knows_leaves_memory_and_time_known(
    torch_python: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    more = "\n\ndef fixed():\n    return build(8)\n"
    text = RUN.format(python=torch_python).replace("step.py:build", "step.py:fixed")
    unsaid = planned(text.replace("microBatch: 256, accumulation: 1, ", ""), more=more)

    assert unsaid["gpuMemory"]["mode"] == "exact"
    assert unsaid["time"]["totalSeconds"] is not None
    assert unsaid["time"]["perSecond"] is None
    assert unsaid["needs"] == []
    whys = {item["what"]: item["why"] for item in unsaid["unknown"]}
    assert whys["RAM, /dev/shm, disk, CPU"].startswith(
        "train.microBatch is not said and build() does not take it"
    )
    unheard = planned(text, more=more)
    assert unheard["gpuMemory"]["required"] == unsaid["gpuMemory"]["required"]
    assert unheard["warnings"][0].startswith(
        "fixed() does not take micro_batch, accumulation: its own was traced"
    )


def test_a_knob_that_means_something_else_to_build_is_left_alone(
    torch_python: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    odd = "\n\ndef odd(micro_batch=8, checkpointing=False):\n    return build(4 if checkpointing else micro_batch)\n"
    text = RUN.format(python=torch_python).replace("step.py:build", "step.py:odd")
    unsaid = text.replace("microBatch: 256, accumulation: 1, ", "")
    answer = planned(unsaid, "--fit", "--allow", "precision", more=odd)

    assert answer["gpuMemory"]["own"] == {"train.microBatch": 8}
    assert answer["fit"]["fixed"]["checkpointing"] == "build does not take it"
    assert answer["fit"]["fixed"]["precision"] == "build does not take it"


def test_precision_is_only_advised_where_build_takes_it(
    torch_python: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert planned(RUN.format(python=torch_python), "--fit")["fit"]["fixed"]["precision"] == (
        "build does not take it"
    )


def test_a_torch_that_is_not_proven_is_named_with_those_that_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("torch").mkdir()
    Path("torch/__init__.py").write_text("raise RuntimeError('looked at, not imported')\n")
    Path("torch/version.py").write_text("__version__ = '2.4.1+cu121'\ncuda = '12.1'\nhip = None\n")
    text = RUN.format(python=sys.executable).replace("model: {", "model: {shape: resnet18, ")
    answer = planned(text.replace("microBatch: 256", "microBatch: 8, imageSize: 224"))

    assert answer["gpuMemory"]["mode"] == "shape"
    (note,) = [text for text in answer["warnings"] if text.startswith("not traced")]
    assert "found torch 2.4.1+cu121, expected torch 2.9" in note
    assert "2.11" in note


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
    assert "not known: there is no such file (TRACE-002 at step.py)" in result.stdout


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
