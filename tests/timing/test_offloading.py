"""Offloading costs time: bytes over PCIe and an update on the host."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from timing_builders import gpu

from tonnage.memory.recipe import Parallel, Recipe
from tonnage.memory.shapes import ModelShape, find_shape
from tonnage.timing.offloading import HOST_BANDWIDTH, offloading_of
from tonnage.timing.shape import shape_step_time

PLACES = ("none", "optimizer", "all")


def model(name: str) -> ModelShape:
    found = find_shape(name)
    assert found is not None
    return found


@pytest.mark.parametrize("gpu_name", ["h100", "t4", "gb200"])
@pytest.mark.parametrize("name", ["gpt2", "llama-3-8b"])
def test_the_more_is_offloaded_the_longer_a_step_takes(name: str, gpu_name: str) -> None:
    recipe = Recipe(1, 512, accumulation=2)
    none, optimizer, everything = (
        shape_step_time(model(name), replace(recipe, offload=where), gpu(gpu_name)) for where in PLACES
    )
    assert none.p50 < optimizer.p50 < everything.p50
    assert none.p90 < optimizer.p90 < everything.p90
    assert optimizer.p10 <= everything.p10


def test_what_was_not_measured_has_a_wider_interval() -> None:
    recipe = Recipe(1, 512)
    none, everything = (
        shape_step_time(model("llama-3-8b"), replace(recipe, offload=where), gpu())
        for where in ("none", "all")
    )
    assert everything.p90 / everything.p10 > none.p90 / none.p10


def test_the_update_is_as_long_as_its_bytes_take_through_the_hosts_memory() -> None:
    recipe = Recipe(1, 128, offload="optimizer")
    parameters = 124_439_808
    # fp32 gradients out and weights back, then 28 bytes of a weight read and written by AdamW.
    expected = parameters * (2 * 4 + 28) / HOST_BANDWIDTH
    assert offloading_of(model("gpt2"), recipe, gpu()).updating == pytest.approx(expected, rel=0.001)


def test_a_narrow_link_decides_where_it_is_narrower_than_the_hosts_memory() -> None:
    recipe = Recipe(1, 128, offload="all")
    wide, narrow = (offloading_of(model("gpt2"), recipe, gpu(name)) for name in ("h100", "t4"))
    assert narrow.streaming > wide.streaming


@given(ranks=st.sampled_from([2, 4, 8, 16]), place=st.sampled_from(["optimizer", "all"]))
def test_ranks_that_share_the_states_share_what_is_moved(ranks: int, place: str) -> None:
    alone = Recipe(1, 128, offload=place)  # type: ignore[arg-type]
    shared = replace(alone, parallel=Parallel(fsdp=ranks))
    one, each = (offloading_of(model("gpt2"), recipe, gpu()) for recipe in (alone, shared))
    assert each.updating == pytest.approx(one.updating / ranks)
    assert each.streaming == pytest.approx(one.streaming / ranks)


@given(micro_batches=st.integers(1, 32))
def test_weights_come_in_for_every_micro_batch_and_go_out_once(micro_batches: int) -> None:
    recipe = Recipe(1, 128, offload="all")
    once, often = (
        offloading_of(model("gpt2"), replace(recipe, accumulation=number), gpu())
        for number in (1, micro_batches)
    )
    assert often.streaming == pytest.approx(micro_batches * once.streaming)
    assert often.updating == once.updating


def test_adapters_are_updated_alone_but_all_weights_come_in() -> None:
    recipe = Recipe(1, 128, offload="all")
    whole, adapted = (
        offloading_of(model("gpt2"), replace(recipe, lora_rank=rank), gpu()) for rank in (None, 8)
    )
    assert adapted.updating < 0.05 * whole.updating
    assert adapted.streaming >= whole.streaming
