"""Libraries take the path they take on the device, and torch the kernels it takes there."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from .conftest import Recorded
from .reading import calls_of, operations, sizes

pytestmark = [pytest.mark.torch, pytest.mark.xdist_group("libraries")]  # one child process serves the module


@pytest.fixture(scope="module")
def recorded(record_file: Callable[[str], Recorded]) -> Recorded:
    return record_file("libraries.py")


def test_all_of_them_can_be_recorded(recorded: Recorded) -> None:
    for name in recorded.names():
        assert recorded.trace(name).steps == 2


def test_transformers_leaves_the_causal_mask_to_the_kernel(recorded: Recorded) -> None:
    trace = recorded.trace("hf_llama")
    kernels = operations(trace, "_scaled_dot_product_cudnn_attention.default")

    assert kernels
    assert all(each.scalars["is_causal"] is True for each in kernels)
    assert all(len(each.inputs) == 3 for each in kernels)  # query, key, value and no mask


def test_grouped_experts_run_in_float32_under_autocast(recorded: Recorded) -> None:
    (first, *_) = operations(recorded.trace("hf_experts_grouped"), "_grouped_mm")

    assert first.outputs[0].dtype == "float32"
    assert first.outputs[0].shape[0] == 2 * 64 * 2  # tokens times chosen experts


def test_looped_experts_share_all_tokens(recorded: Recorded) -> None:
    trace = recorded.trace("hf_experts_looped")

    assert calls_of(trace, "index_add_", mark="step 1") == 2 * 4
    assert any("mlp" in note.text for note in trace.notes if note.code == "assumed-choice")


def test_attention_kernels_are_chosen_as_on_the_device(recorded: Recorded) -> None:
    trace = recorded.trace("attention_kernels")

    assert calls_of(trace, "_scaled_dot_product_cudnn_attention.default") == 2
    assert calls_of(trace, "_scaled_dot_product_flash_attention.default") == 2
    assert (
        calls_of(trace, "_scaled_dot_product_efficient_attention.default") == 4
    )  # asked for, and for float32
    assert calls_of(trace, "aten._softmax.default") + calls_of(trace, "_safe_softmax") >= 2


def test_an_optimizer_inside_the_backward_pass_is_seen_as_optimizer(recorded: Recorded) -> None:
    trace = recorded.trace("optimizer_in_backward")

    assert calls_of(trace, "_foreach_add_", phase="optimizer", mark="step 1") == 4
    # four gradients of weights and three of inputs, before and after the updates between them
    assert calls_of(trace, "aten.mm.default", phase="backward", mark="step 1") == 7


def test_a_loss_over_sequences_keeps_its_forward_variable(recorded: Recorded) -> None:
    (loss,) = operations(recorded.trace("sequence_loss"), "aten._ctc_loss.")

    assert loss.outputs[1].shape == (4, 50, 2 * 10 + 1)


def test_offloaded_activations_leave_the_gpu(recorded: Recorded) -> None:
    assert sizes(recorded.trace("offloaded_activations"), "activation").count(1024 * 256 * 4) <= 2
