"""Facts of GPU types: every type has them, and they agree with what else is known of it."""

from __future__ import annotations

import pytest
from timing_builders import gpu

from tonnage.cluster.gpu_facts import facts_of
from tonnage.cluster.gpus import GPU_TYPES, GpuType

EVERY = pytest.mark.parametrize("kind", GPU_TYPES, ids=lambda kind: kind.name)


@EVERY
def test_torch_never_sees_more_than_the_driver_reports(kind: GpuType) -> None:
    usable, reported = facts_of(kind).usable_bytes, kind.memory_mib * 2**20

    assert 0.94 * reported < usable < reported


@EVERY
def test_shorter_numbers_are_never_slower_than_longer_ones(kind: GpuType) -> None:
    facts = facts_of(kind)

    assert facts.peak("fp32") <= facts.peak("tf32") <= facts.peak("fp16")
    assert facts.peak("fp8") >= facts.peak("bf16")


@EVERY
def test_every_figure_says_where_it_comes_from(kind: GpuType) -> None:
    facts = facts_of(kind)

    origins = {facts.origin(name) for name in ("usable_bytes", "sm_count", "bandwidth", "context_bytes")}
    assert origins <= {"measured", "reported", "data sheet", "estimated"}


def test_the_h200_holds_what_was_measured() -> None:
    facts = facts_of(gpu("h200"))

    assert facts.usable_bytes == 150_109_880_320
    assert facts.origin("usable_bytes") == "measured"
    assert facts.origin("bandwidth") == "data sheet"


def test_arithmetic_a_gpu_lacks_runs_on_what_it_has() -> None:
    turing = facts_of(gpu("t4"))

    assert not turing.supports("bf16")
    assert turing.peak("bf16") == turing.peak("fp32")
    assert turing.peak("fp8") == turing.peak("fp16")
