"""The self-test in real torch environments, and torch's view of the pretended GPU."""

from __future__ import annotations

from pathlib import Path

import pytest

from tonnage.cluster.gpus import find_gpu
from tonnage.tracing import TraceRequest
from tonnage.tracing.interpreter import find_interpreter
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
