"""A step that no GPU could hold is still answered in proportion: the paper device has room for it."""

from __future__ import annotations

import pytest

from tonnage.cluster.gpus import find_gpu
from tonnage.memory.estimate import Estimate
from tonnage.memory.ledger import shape_estimate
from tonnage.memory.ledger.checking import MOST_PAIRS
from tonnage.memory.recipe import Recipe
from tonnage.memory.shapes import ShapeError, find_shape


def estimate(batch: int, gpu_name: str) -> Estimate:
    shape, gpu = find_shape("gpt2"), find_gpu(gpu_name)
    assert shape is not None
    assert gpu is not None
    return shape_estimate(shape, Recipe(batch, 1024), gpu)


@pytest.mark.parametrize("gpu", ["h100", "t4"])
@pytest.mark.parametrize("batch", [100_000, 4_000_000])
def test_the_smallest_limit_stays_near_what_tensors_hold(batch: int, gpu: str) -> None:
    found = estimate(batch, gpu)
    assert found.peak_allocated <= found.smallest_cap <= 1.25 * found.peak_allocated
    assert found.smallest_cap / batch == pytest.approx(estimate(1000, gpu).smallest_cap / 1000, rel=0.05)


def test_a_micro_batch_whose_bytes_no_number_of_64_bits_holds_is_refused() -> None:
    shape, gpu = find_shape("llama-3.1-405b"), find_gpu("t4")
    assert shape is not None
    assert gpu is not None
    with pytest.raises(ShapeError) as caught:
        shape_estimate(shape, Recipe(32_768, 131_072), gpu)
    assert [problem.code for problem in caught.value.problems] == ["SHAPE-027"]


def test_the_largest_attention_that_is_estimated_stays_within_64_bits() -> None:
    shape, gpu = find_shape("llama-3.1-405b"), find_gpu("t4")
    assert shape is not None
    assert gpu is not None
    batch = MOST_PAIRS // (131_072**2 * shape.heads * shape.layers)
    assert 2**50 < shape_estimate(shape, Recipe(batch, 131_072), gpu).required < 2**63
