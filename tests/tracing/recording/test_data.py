"""Data from the CPU, and data that decides shapes."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from .conftest import Recorded
from .reading import calls_of, category_bytes, notes, operations

pytestmark = [pytest.mark.torch, pytest.mark.xdist_group("data")]  # one child process serves the module


@pytest.fixture(scope="module")
def recorded(record_file: Callable[[str], Recorded]) -> Recorded:
    return record_file("data.py")


def test_every_step_on_data_can_be_recorded(recorded: Recorded) -> None:
    for name in recorded.names():
        assert recorded.trace(name).steps == 2


@pytest.mark.parametrize("name", ["data_loader", "data_loader_with_workers", "numpy_and_pinned"])
def test_a_batch_from_the_cpu_is_input_on_the_gpu(recorded: Recorded, name: str) -> None:
    trace = recorded.trace(name)

    assert category_bytes(trace)["input"] >= 64 * 128 * 4


def test_a_known_mask_selects_what_it_would(recorded: Recorded) -> None:
    trace = recorded.trace("masked_tokens")
    selected = {each.outputs[0].shape[0] for each in operations(trace, "aten.index.Tensor")}

    assert all(0.1 * 64 * 32 < rows < 0.2 * 64 * 32 for rows in selected)
    assert not notes(trace, "bounded")


def test_an_unknown_mask_is_bounded(recorded: Recorded) -> None:
    assert any("8192" in text for text in notes(recorded.trace("unknown_mask"), "bounded"))


@pytest.mark.parametrize("name", ["looped_experts", "looped_experts_autocast"])
def test_every_expert_sees_about_its_share_of_tokens(recorded: Recorded, name: str) -> None:
    trace = recorded.trace(name)
    shares = [
        call.outputs[0].shape[0]
        for call in operations(trace, "aten.addmm")
        if call.outputs[0].shape[1] == 128
    ]

    assert calls_of(trace, "aten.addmm", phase="forward", mark="step 1") == 8
    assert all(700 < rows < 1350 for rows in shares)
    assert notes(trace, "assumed-choice") == [
        "the choice made by topk or argmax in Experts was taken to be random (2 times)"
    ]


def test_tokens_counted_by_expert_are_cut_by_those_counts(recorded: Recorded) -> None:
    trace = recorded.trace("counted_experts")
    rows = [
        each.outputs[0].shape[0]
        for each in operations(trace, "aten.addmm")
        if each.outputs[0].shape[1:] == (128,)
    ]

    assert all(400 < count < 620 for count in rows)
    assert not notes(trace, "bounded")


@pytest.mark.parametrize("name", ["looped_experts", "counted_experts"])
def test_sizes_that_follow_from_a_choice_are_said_to(recorded: Recorded, name: str) -> None:
    assert notes(recorded.trace(name), "drawn-sizes")


@pytest.mark.parametrize("name", ["grouped_experts_autocast", "masked_tokens"])
def test_sizes_that_no_choice_decides_are_not(recorded: Recorded, name: str) -> None:
    assert not notes(recorded.trace(name), "drawn-sizes")


def test_grouped_products_of_float32_experts_are_described(recorded: Recorded) -> None:
    trace = recorded.trace("grouped_experts_autocast")

    assert calls_of(trace, "_grouped_mm", phase="forward") == 2
    assert calls_of(trace, "_grouped_mm", phase="backward") == 2


@pytest.mark.parametrize(("name", "gates"), [("recurrent_lstm", 4), ("recurrent_gru", 3)])
def test_recurrent_layers_take_cudnns_path_with_one_flat_weight(
    recorded: Recorded, name: str, gates: int
) -> None:
    trace = recorded.trace(name)
    weights = gates * 256 * (128 + 256 + 2) + gates * 256 * (256 + 256 + 2)
    (forward,) = operations(trace, "_cudnn_rnn.default")

    assert calls_of(trace, "_cudnn_rnn_backward") == 2
    assert forward.outputs[3].shape[0] > 64 * 20 * 256 * 4 * gates
    assert category_bytes(trace, at_end=True)["parameter"] == 4 * (weights + 256 + 1)
