"""Steps as scripts write them: the same kernels, lifetimes and owners as on the device."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from .conftest import Recorded
from .reading import calls_of, category_bytes, notes, operations, peak_bytes, sizes

pytestmark = [pytest.mark.torch, pytest.mark.xdist_group("everyday")]  # one child process serves the module

WEIGHTS = 4 * (2 * 256 * 1024 + 1024 + 256)
"""Bytes of the small network's parameters in float32."""


@pytest.fixture(scope="module")
def recorded(record_file: Callable[[str], Recorded]) -> Recorded:
    return record_file("everyday.py")


def test_every_everyday_step_can_be_recorded(recorded: Recorded) -> None:
    for name in recorded.names():
        trace = recorded.trace(name)

        assert trace.marks == ("build", "step 0", "step 1")
        assert trace.kinds.count("a") == len(trace.blocks)
        assert len(trace.kinds) == len(trace.arguments)


@pytest.mark.parametrize("name", ["default_adamw", "default_sgd_momentum", "moved_after_optimizer"])
def test_optimizers_take_their_multi_tensor_path_by_default(recorded: Recorded, name: str) -> None:
    trace = recorded.trace(name)

    assert calls_of(trace, "_foreach_", phase="optimizer") > 0
    assert calls_of(trace, "aten.add_.Tensor", phase="optimizer") == 0


def test_an_explicit_choice_of_the_optimizers_path_is_honoured(recorded: Recorded) -> None:
    assert calls_of(recorded.trace("fused_adamw"), "_fused_adamw_") == 2
    assert calls_of(recorded.trace("fused_adamw"), "_foreach_addcdiv") == 0
    assert calls_of(recorded.trace("forloop_adamw"), "_foreach_") == 0
    assert calls_of(recorded.trace("forloop_adamw"), "aten.addcdiv_") == 8


def test_gradient_clipping_takes_the_multi_tensor_path_and_a_loss_is_finite(recorded: Recorded) -> None:
    trace = recorded.trace("clipped")

    assert calls_of(trace, "_foreach_norm") == 2
    assert calls_of(trace, "_foreach_mul_") == 2


def test_categories_follow_the_owner_of_a_storage(recorded: Recorded) -> None:
    kept = category_bytes(recorded.trace("default_adamw"), at_end=True)

    assert kept["parameter"] == WEIGHTS
    assert kept["optimizer"] == 2 * WEIGHTS
    assert kept["gradient"] == 0
    assert category_bytes(recorded.trace("accumulated"), at_end=True)["gradient"] == WEIGHTS


def test_the_first_step_makes_the_optimizers_state(recorded: Recorded) -> None:
    trace = recorded.trace("default_adamw")

    assert calls_of(trace, "zeros_like", phase="optimizer", mark="step 0") == 8
    assert calls_of(trace, "zeros_like", phase="optimizer", mark="step 1") == 0
    assert (
        peak_bytes(trace, "step 1") >= 5 * WEIGHTS
    )  # weights, gradients, two moments, one list of temporaries


def test_what_the_forward_pass_keeps_is_activation_and_what_it_is_fed_is_input(recorded: Recorded) -> None:
    trace = recorded.trace("accumulated")

    assert sizes(trace, "input") == [64 * 256 * 4] * 6  # three micro-batches in each of two steps
    assert (
        sizes(trace, "activation").count(64 * 1024 * 4) == 2 * 6
    )  # before and after the activation function


def test_a_backward_operation_belongs_to_the_module_that_made_it(recorded: Recorded) -> None:
    trace = recorded.trace("default_adamw")
    made_by = {
        trace.modules[call.module]
        for call in trace.calls
        if trace.phases[call.phase] == "backward" and "gelu_backward" in trace.operations[call.operation].name
    }
    threads = {call.thread for call in trace.calls if trace.phases[call.phase] == "backward"}

    assert made_by == {"1"}
    assert 1 in threads


@pytest.mark.parametrize("name", ["device_context", "default_device", "moved_after_optimizer"])
def test_all_ways_to_the_gpu_lead_to_the_same_weights(recorded: Recorded, name: str) -> None:
    kept = category_bytes(recorded.trace(name), at_end=True)

    assert kept["parameter"] == WEIGHTS


def test_weights_moved_by_assignment_leave_nothing_behind(recorded: Recorded) -> None:
    assert category_bytes(recorded.trace("moved_by_data"), at_end=True)["parameter"] == WEIGHTS // 2


def test_tied_weights_stay_one_block_when_they_move(recorded: Recorded) -> None:
    kept = category_bytes(recorded.trace("tied_weights"), at_end=True)

    assert kept["parameter"] == 1000 * 256 * 2


def test_a_copied_model_is_a_model(recorded: Recorded) -> None:
    assert category_bytes(recorded.trace("averaged_copy"), at_end=True)["parameter"] == 2 * WEIGHTS


def test_gradients_of_picked_rows_are_written_into_their_zeros(recorded: Recorded) -> None:
    trace = recorded.trace("gathered_gradients")

    assert calls_of(trace, "aten.index_put_.default", phase="backward") == 2
    assert calls_of(trace, "aten.scatter_add_.default", phase="backward") == 2
    assert calls_of(trace, "aten.index_put.default") == calls_of(trace, "aten.scatter_add.default") == 0


def test_a_mask_is_made_before_what_it_masks(recorded: Recorded) -> None:
    trace = recorded.trace("dropped_out")
    made = next(
        call for call, each in enumerate(trace.calls) if "dropout" in trace.operations[each.operation].name
    )

    assert [block.size for block in trace.blocks if block.call == made] == [64 * 256, 4 * 64 * 256]


def test_nothing_is_saved_while_pretending(recorded: Recorded) -> None:
    assert notes(recorded.trace("states_saved_and_loaded"), "not-saved")


def test_emptying_the_cache_is_an_event(recorded: Recorded) -> None:
    assert recorded.trace("logging_loss").kinds.count("r") == 2


def test_values_read_from_the_gpu_are_assumed_and_said(recorded: Recorded) -> None:
    assert any("1.0" in text for text in notes(recorded.trace("logging_loss"), "assumed-value"))


def test_autocast_casts_each_weight_once(recorded: Recorded) -> None:
    trace = recorded.trace("autocast_bf16")
    products = [each for each in operations(trace, "aten.addmm") if each.outputs[0].dtype == "bfloat16"]

    assert products
    # two weights, two biases, the input and the first layer's float32 copies of nothing else
    assert calls_of(trace, "_to_copy", phase="forward", mark="step 1") == 6


def test_a_scaled_step_unscales_all_gradients_at_once_and_is_taken(recorded: Recorded) -> None:
    trace = recorded.trace("autocast_fp16_scaled")

    assert calls_of(trace, "_amp_foreach_non_finite_check_and_unscale_") == 2
    assert calls_of(trace, "_foreach_addcdiv_", phase="optimizer") == 2


@pytest.mark.parametrize("name", ["recomputed_reentrant", "recomputed_nonreentrant"])
def test_recomputing_runs_the_forward_pass_again_inside_backward(recorded: Recorded, name: str) -> None:
    trace = recorded.trace(name)
    recomputed = calls_of(trace, "aten.gelu.default", phase="backward", mark="step 1")

    assert calls_of(trace, "aten.gelu.default", phase="forward", mark="step 1") == 4
    assert recomputed == 4
    assert category_bytes(trace)["activation"] > 0


def test_gradients_are_summed_in_place_unless_somebody_else_holds_them(recorded: Recorded) -> None:
    """Per block: two sums of the forward pass again, one with the caller's gradient, one with the engine's own."""
    trace = recorded.trace("recomputed_residual")

    assert calls_of(trace, "aten.add.Tensor", phase="backward", mark="step 1") == 2 * (2 + 1)
    assert calls_of(trace, "aten.add_.Tensor", phase="backward", mark="step 1") == 2


def test_evaluation_in_between_keeps_nothing(recorded: Recorded) -> None:
    trace = recorded.trace("evaluated_between")

    assert set(category_bytes(trace, at_end=True)) <= {"parameter", "optimizer"}


def test_adapters_train_only_themselves(recorded: Recorded) -> None:
    kept = category_bytes(recorded.trace("adapters"), at_end=True)

    assert kept["optimizer"] == 2 * 4 * 4 * (256 + 1024 + 1024 + 256)


def test_lazy_layers_hold_what_layers_of_the_same_shape_hold(recorded: Recorded) -> None:
    lazy, plain = recorded.trace("shaped_by_the_first_batch"), recorded.trace("default_adamw")

    assert category_bytes(lazy, at_end=True) == category_bytes(plain, at_end=True)
    assert calls_of(lazy, "aten.", mark="step 1") == calls_of(plain, "aten.", mark="step 1")
