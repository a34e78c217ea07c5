"""Which attention kernel a GPU runs decides whether square matrices are kept."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from tonnage.cluster.gpus import GpuType, find_gpu
from tonnage.memory.ledger import shape_estimate
from tonnage.memory.ledger.attention_kernels import AttentionKernels, Heads
from tonnage.memory.ledger.stepping import run_steps, trace_of
from tonnage.memory.recipe import Recipe
from tonnage.memory.shapes import ModelShape, ShapeError, find_shape, shape_from_config

GROUPED = {
    "model_type": "llama", "hidden_size": 1024, "intermediate_size": 2816, "num_hidden_layers": 12,
    "num_attention_heads": 16, "num_key_value_heads": 4, "vocab_size": 32000, "max_position_embeddings": 2048,
}  # fmt: skip

P100, V100, T4, A100, A10G, HOPPER, B200, B300, RTX_PRO = (
    (6, 0), (7, 0), (7, 5), (8, 0), (8, 6), (9, 0), (10, 0), (10, 3), (12, 0)
)  # fmt: skip

SEEN_IN_TRACES = [
    (T4, Heads("float16", 64), "efficient"),
    (T4, Heads("float16", 64, masked=True), "efficient"),
    (T4, Heads("float16", 20), "math"),
    (T4, Heads("float16", 64, grouped=True), "math"),
    (T4, Heads("bfloat16", 64), "math"),
    (T4, Heads("float32", 64), "efficient"),
    (T4, Heads("float32", 64, grouped=True), "math"),
    (V100, Heads("float16", 160), "efficient"),
    (V100, Heads("bfloat16", 160), "math"),
    (P100, Heads("bfloat16", 64), "math"),
    (P100, Heads("float16", 20), "efficient"),
    (A100, Heads("bfloat16", 64, grouped=True), "flash"),
    (A10G, Heads("bfloat16", 64), "flash"),
    (A10G, Heads("bfloat16", 20), "flash"),
    (A10G, Heads("bfloat16", 256), "flash"),
    (A10G, Heads("bfloat16", 64, masked=True), "efficient"),
    (A10G, Heads("bfloat16", 20, masked=True), "math"),
    (A10G, Heads("bfloat16", 64, grouped=True, masked=True), "math"),
    (A10G, Heads("float32", 64), "efficient"),
    (HOPPER, Heads("bfloat16", 256, grouped=True, masked=True), "cudnn"),
    (HOPPER, Heads("bfloat16", 20), "flash"),
    (HOPPER, Heads("float32", 64, grouped=True), "math"),
    (B200, Heads("float16", 80), "cudnn"),
    (B300, Heads("bfloat16", 80), "cudnn"),
    (B200, Heads("float16", 160), "flash"),
    (B200, Heads("float16", 160, masked=True), "efficient"),
    (RTX_PRO, Heads("bfloat16", 64), "flash"),
    (RTX_PRO, Heads("bfloat16", 64, masked=True), "efficient"),
]


@pytest.mark.parametrize(("compute", "heads", "kernel"), SEEN_IN_TRACES)
def test_the_kernel_is_the_one_that_torch_took(compute: tuple[int, int], heads: Heads, kernel: str) -> None:
    assert AttentionKernels.of(compute).choose(heads) == kernel


def gpu(name: str) -> GpuType:
    found = find_gpu(name)
    assert found is not None
    return found


def gpt2() -> ModelShape:
    found = find_shape("gpt2")
    assert found is not None
    return found


TRACED_PEAKS = [
    ("gpt2", "amp-bf16", 5, 15_992_608_256),
    ("grouped", "amp-bf16", 2, 6_725_048_320),
    ("grouped", "amp-fp16", 2, 6_725_049_856),
]
"""Live bytes of a steady step on a T4 of transformers' own models at 1024 tokens, in 512-byte grains, as traced."""


@pytest.mark.parametrize(("model", "precision", "batch", "traced"), TRACED_PEAKS)
def test_attention_that_is_spelt_out_holds_what_the_traced_step_held(
    model: str, precision: str, batch: int, traced: int
) -> None:
    shape = gpt2() if model == "gpt2" else shape_from_config(GROUPED)
    found = shape_estimate(shape, Recipe(batch, 1024, precision=precision), gpu("t4"))  # type: ignore[arg-type]
    assert abs(found.peak_allocated / traced - 1) < 0.005
    assert found.required > traced


def test_what_one_gpu_was_asked_does_not_answer_for_another() -> None:
    recipe = Recipe(2, 1024)
    older, newer, again = (shape_estimate(gpt2(), recipe, gpu(name)) for name in ("t4", "h200", "t4"))
    assert older.peak_allocated > 1.3 * newer.peak_allocated
    assert again.peak_allocated == older.peak_allocated


def test_in_fp16_an_old_gpu_has_a_fused_kernel_where_heads_are_not_shared() -> None:
    half, brain = (
        shape_estimate(gpt2(), Recipe(2, 1024, precision=precision), gpu("t4"))
        for precision in ("amp-fp16", "amp-bf16")
    )
    assert half.peak_allocated < brain.peak_allocated


@pytest.mark.parametrize("name", ["t4", "a10g", "b200"])
def test_rough_answers_choose_the_same_kernel(name: str) -> None:
    full, rough = (
        shape_estimate(gpt2(), Recipe(4, 1024), gpu(name), quick=quick).peak_allocated
        for quick in (False, True)
    )
    assert abs(rough / full - 1) < 0.02


@pytest.mark.parametrize("compute", [T4, A10G])
@pytest.mark.parametrize("model", ["gpt2", "grouped"])
def test_layers_written_from_one_another_hold_what_layers_run_one_by_one_hold(
    model: str, compute: tuple[int, int]
) -> None:
    shape = replace(gpt2() if model == "gpt2" else shape_from_config(GROUPED), layers=6)
    recipe, kernels = Recipe(2, 256), AttentionKernels.of(compute)
    each, written = (
        trace_of(run_steps(shape, recipe, kernels, layer_by_layer=slow), recipe, "t4")
        for slow in (True, False)
    )
    assert (each.kinds, each.arguments) == (written.kinds, written.arguments)


def test_heads_of_an_odd_width_are_filled_up_for_the_flash_kernel() -> None:
    shape = shape_from_config({**GROUPED, "head_dim": 100, "num_key_value_heads": 16})
    run = run_steps(shape, Recipe(1, 128), AttentionKernels.of(A100))
    trace = trace_of(run, Recipe(1, 128), "a100-80")
    widths = {
        op.inputs[0].shape[-1] for op in trace.operations if op.name.endswith("flash_attention.default")
    }
    assert widths == {104}


def test_flash_attention_is_refused_where_no_kernel_exists() -> None:
    with pytest.raises(ShapeError) as caught:
        shape_estimate(gpt2(), Recipe(1, 128, attention="flash", precision="fp32"), gpu("t4"))
    assert [problem.code for problem in caught.value.problems] == ["SHAPE-038", "SHAPE-039"]
    assert "t4" in caught.value.problems[1].what


def test_flash_attention_is_taken_where_it_exists() -> None:
    run = run_steps(gpt2(), Recipe(1, 128), AttentionKernels.of(HOPPER, "flash"))
    names = {op.name for op in trace_of(run, Recipe(1, 128), "h200").operations}
    assert "aten._scaled_dot_product_flash_attention.default" in names
