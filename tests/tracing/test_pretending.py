"""A GPU type as torch will see it."""

from __future__ import annotations

import pytest

from tonnage.cluster.gpu_facts import facts_of
from tonnage.cluster.gpus import GPU_TYPES, GpuType, find_gpu
from tonnage.tracing.pretending import device_name, gpu_environment


def gpu(name: str) -> GpuType:
    found = find_gpu(name)
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("name", "torch_calls_it"),
    [
        ("h200", "NVIDIA H200"),
        ("h100", "NVIDIA H100 80GB HBM3"),
        ("a100-80", "NVIDIA A100-SXM4-80GB"),
        ("v100", "Tesla V100-SXM2-16GB"),
        ("p100", "Tesla P100-PCIE-16GB"),
        ("t4", "Tesla T4"),
        ("rtx4090", "NVIDIA GeForce RTX 4090"),
        ("rtx-a6000", "NVIDIA RTX A6000"),
    ],
)
def test_the_name_is_the_one_the_driver_gives(name: str, torch_calls_it: str) -> None:
    assert device_name(gpu(name)) == torch_calls_it


@pytest.mark.parametrize("kind", GPU_TYPES, ids=lambda kind: kind.name)
def test_every_gpu_of_the_table_can_be_pretended(kind: GpuType) -> None:
    said = gpu_environment(kind, 8)

    assert said["TONNAGE_GPU_COUNT"] == "8"
    assert int(said["TONNAGE_GPU_MEMORY"]) == facts_of(kind).usable_bytes
    assert all(value and value != "0" for value in said.values())
    assert int(said["TONNAGE_GPU_SHARED_PER_BLOCK"]) <= int(said["TONNAGE_GPU_SHARED_PER_SM"])


@pytest.mark.parametrize(
    ("name", "threads", "shared_kib"),
    [("h200", 2048, 228), ("a10g", 1536, 100), ("t4", 1024, 64), ("v100", 2048, 96)],
)
def test_what_the_compute_capability_fixes(name: str, threads: int, shared_kib: int) -> None:
    said = gpu_environment(gpu(name), 1)

    assert said["TONNAGE_GPU_THREADS_PER_SM"] == str(threads)
    assert said["TONNAGE_GPU_SHARED_PER_SM"] == str(shared_kib * 1024)
