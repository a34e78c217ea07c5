"""The GPU table: names people use lead to what nodes announce, and back."""

from __future__ import annotations

import pytest

from tonnage.cluster.gpus import GPU_TYPES, find_gpu, gpu_from_product, nearest_gpus


def test_every_name_and_alias_means_one_gpu() -> None:
    words = [word.lower() for gpu in GPU_TYPES for word in (gpu.name, gpu.product, *gpu.aliases)]

    assert len(words) == len(set(words))


@pytest.mark.parametrize("gpu", GPU_TYPES, ids=lambda gpu: gpu.name)
def test_a_gpu_is_found_by_each_of_its_names_in_any_case(gpu) -> None:
    for word in (gpu.name, gpu.name.upper(), gpu.product, *gpu.aliases):
        assert find_gpu(word) is gpu


@pytest.mark.parametrize("gpu", GPU_TYPES, ids=lambda gpu: gpu.name)
def test_a_shared_or_cut_gpu_is_still_recognised(gpu) -> None:
    assert gpu_from_product(f"{gpu.product}-SHARED") is gpu
    assert gpu_from_product(f"{gpu.product}-MIG-1g.10gb") is gpu
    assert gpu_from_product(f"{gpu.product}-MIG-1g.10gb-SHARED") is gpu


@pytest.mark.parametrize("gpu", [gpu for gpu in GPU_TYPES if gpu.mig], ids=lambda gpu: gpu.name)
def test_the_most_slices_of_one_profile_fit_one_gpu(gpu) -> None:
    for profile in gpu.mig:
        assert profile.most * profile.memory_slices <= gpu.memory_slices
        assert profile.most * profile.compute_slices <= 7


def test_a_product_nobody_knows_is_nothing() -> None:
    assert gpu_from_product("AMD-Instinct-MI300X") is None
    assert find_gpu("") is None


def test_a_slip_of_the_finger_is_answered_with_names_that_look_like_it() -> None:
    assert "h100" in nearest_gpus("h10")
    assert "a100-80" in nearest_gpus("a100-8")
    assert nearest_gpus("banana") == []
