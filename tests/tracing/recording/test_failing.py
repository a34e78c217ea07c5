"""Mistakes and operations nobody can foresee are named, with what to do about them."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from .conftest import Recorded
from .reading import notes

pytestmark = [pytest.mark.torch, pytest.mark.xdist_group("failing")]  # one child process serves the module


@pytest.fixture(scope="module")
def recorded(record_file: Callable[[str], Recorded]) -> Recorded:
    return record_file("mistakes.py")


@pytest.mark.parametrize(
    ("name", "code", "words"),
    [
        ("not_a_function", "build-not-callable", ("int", "function")),
        ("returns_nothing", "build-returned-no-step", ("returned nothing", "return step")),
        ("needs_an_argument", "build-needs-arguments", ("rows", "default")),
        ("raises", "step-failed", ("raises()", "ValueError", "no such dataset")),
        ("exits", "step-failed", ("exits()", "SystemExit", "usage: train.py")),
        ("knob_unknown", "unknown-knob", ("batch_size", "micro_batch")),
    ],
)
def test_a_mistake_of_the_build_function_is_named(
    recorded: Recorded, name: str, code: str, words: tuple[str, ...]
) -> None:
    failure = recorded.failure(name)

    assert failure["code"] == code
    assert all(word in failure["text"] + failure["advice"] for word in words)


def test_an_error_inside_a_module_names_the_module_and_the_line(recorded: Recorded) -> None:
    failure = recorded.failure("step_raises")

    assert failure["code"] == "step-failed"
    assert "step 0" in failure["text"]
    assert "mistakes.py" in failure["where"]
    assert "x @ torch.ones(3, 3" in failure["where"]


def test_an_operation_without_a_fake_kernel_is_named_with_its_module_and_the_remedy(
    recorded: Recorded,
) -> None:
    failure = recorded.failure("own_operation")

    assert failure["code"] == "no-fake-kernel"
    assert failure["operation"].startswith("mistakes.secret")
    assert 'register_fake("mistakes::secret")' in failure["advice"]


def test_an_operation_with_a_fake_kernel_is_recorded(recorded: Recorded) -> None:
    trace = recorded.trace("own_operation_described")

    assert any(operation.name.startswith("mistakes.open") for operation in trace.operations)


def test_knobs_that_build_names_are_passed_and_the_others_are_fixed(recorded: Recorded) -> None:
    trace = recorded.trace("knob_taken")

    assert trace.knobs == {"micro_batch": 16, "sequence": 1024}
    assert set(trace.fixed) == {"accumulation", "checkpointing", "precision"}
    assert trace.steps == 3
    assert trace.marks == ("build", "step 0", "step 1", "step 2")
    assert max(block.size for block in trace.blocks) == 16 * 1024 * 4


def test_a_knob_nobody_turns_keeps_its_default(recorded: Recorded) -> None:
    assert recorded.trace("knob_by_default").knobs == {"accumulation": 4}


def test_a_mask_nobody_can_know_is_bounded_and_said(recorded: Recorded) -> None:
    assert any("all 100 elements" in text for text in notes(recorded.trace("bounded_by_data"), "bounded"))


def test_what_only_a_traced_step_cannot_do_is_not_blamed_on_the_code(recorded: Recorded) -> None:
    failure = recorded.failure("sparse_gradients")

    assert failure["code"] == "not-pretended"
    assert "sparse=False" in failure["advice"]
