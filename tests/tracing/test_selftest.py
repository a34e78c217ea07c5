"""The self-test in real torch environments, and torch's view of the pretended GPU."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest

import tonnage_tracer
from tonnage.cluster.gpus import find_gpu
from tonnage.tracing import TraceRequest
from tonnage.tracing.interpreter import find_interpreter
from tonnage.tracing.pretending import gpu_environment
from tonnage.tracing.tracing import self_test

pytestmark = pytest.mark.torch


def outcome(python: str, gpu: str) -> dict[str, str]:
    kind = find_gpu(gpu)
    assert kind is not None
    here = Path(__file__)
    return self_test(
        find_interpreter(python, here), TraceRequest(file=here, function="build", gpu=kind, python=python)
    )


def test_both_cuda_majors_pass(any_torch_python: str) -> None:
    said = outcome(any_torch_python, "h200")

    assert len(said) >= 7
    assert set(said.values()) == {"ok"}


@pytest.mark.parametrize("gpu", ["t4", "b200"])
def test_gpus_of_other_generations_can_be_pretended(torch_python: str, gpu: str) -> None:
    assert set(outcome(torch_python, gpu).values()) == {"ok"}


def test_a_torch_that_does_not_take_the_virtual_gpu_fails_it(torch_python: str, tmp_path: Path) -> None:
    """With a runtime that answers nothing, torch is as it is on a machine without a GPU: decisions differ."""
    tracer = tmp_path / "tracer"
    shutil.copytree(Path(tonnage_tracer.__file__).parent, tracer)
    shutil.copy(tracer / "lib" / "libnvidia-ml.so.1", tracer / "lib" / "libtonnage_cudart13.so")
    kind = find_gpu("h200")
    assert kind is not None
    request = {
        "format": 1,
        "task": "selftest",
        "environment": gpu_environment(kind, 1),
        "output": str(tmp_path / "answer.json"),
    }
    (tmp_path / "request.json").write_text(json.dumps(request))

    subprocess.run([torch_python, tracer, tmp_path / "request.json"], check=True, capture_output=True)
    said = json.loads((tmp_path / "answer.json").read_text())["selftest"]

    for behaviour in (
        "The GPU is the one asked for",
        "Autocast is on",
        "Attention takes a fused kernel of the GPU",
    ):
        assert said[behaviour] != "ok"
    assert sum(outcome != "ok" for outcome in said.values()) >= 5
