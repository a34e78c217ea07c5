"""A Run's pod is sized from its document, its setup and one rank's estimate."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from tonnage.memory.estimate import Estimate, Guard, Interval, LargeTensor, Part
from tonnage.memory.recipe import Parallel, Recipe
from tonnage.planning.figuring import PodSizer
from tonnage.planning.solver.setup import Devices, Setup
from tonnage.planning.workload import Workload
from tonnage.planning.workload.of_run import workload_of_run
from tonnage.planning.workload.reading import workloads_in
from tonnage.planning.workload.sizing import batch_bytes, model_bytes, pod_wish, whole_model
from tonnage.spec.run import Run

MIB, GIB = 1024**2, 1024**3
PARAMETERS = 2 * GIB
"""Two thousand million, as a round number of bytes."""


def a_run(**spec: Any) -> Workload:
    values = {"gpus": "8 x h100", "train": {"microBatch": 4, "sequence": 4096}, **spec}
    return workload_of_run(Run.model_validate({"metadata": {"name": "r"}, "spec": values}))


def a_recipe(**other: Any) -> Recipe:
    return Recipe(
        **({"micro_batch": 4, "sequence": 4096, "precision": "bf16", "parallel": Parallel(ddp=8)} | other)
    )


def an_estimate(weights: int, optimizer: int, **other: Any) -> Estimate:
    parts = (Part("parameters", weights), Part("optimizer", optimizer), Part("activations", GIB))
    values: dict[str, Any] = {
        "mode": "shape", "gpu": "h100", "peak_allocated": 5 * GIB, "peak_reserved": 5 * GIB, "smallest_cap": 5 * GIB,
        "outside_allocator": GIB, "guard": Guard(0, ""), "parts": parts, "phases": (),
    }  # fmt: skip
    return Estimate(**(values | other))


def a_setup(recipe: Recipe) -> Setup:
    return Setup(recipe, Devices("h100", 8, recipe.parallel.world_size // 8))


# -- from one rank to the whole model


@pytest.mark.parametrize(
    ("parallel", "weights", "states"),
    [
        (Parallel(ddp=8), 1, 1),
        (Parallel(fsdp=8), 8, 8),
        (Parallel(ddp=2, fsdp=8), 8, 8),
        (Parallel(ddp=8, zero=1), 1, 8),
        (Parallel(ddp=8, zero=3), 8, 8),
        (Parallel(ddp=2, tensor=4), 4, 4),
        (Parallel(ddp=4, pipeline=2), 2, 2),
    ],
)
def test_a_ranks_part_times_the_ranks_that_share_it_is_the_model(
    parallel: Parallel, weights: int, states: int
) -> None:
    model = whole_model(an_estimate(4 * GIB // weights, 8 * GIB // states), a_recipe(parallel=parallel))

    assert model is not None
    assert (model.parameters, model.weights, model.optimizer) == (PARAMETERS, 4 * GIB, 8 * GIB)


@pytest.mark.parametrize(
    ("precision", "optimizer", "bytes_each"),
    [
        ("fp32", "adamw", 12),
        ("amp-bf16", "adamw-fused", 12),
        ("bf16", "adamw", 6),
        ("fp32", "sgd", 4),
        ("bf16", "sgdm", 4),
    ],
)
def test_a_checkpoint_is_weights_and_optimizer_states(
    precision: Any, optimizer: Any, bytes_each: int
) -> None:
    model = model_bytes(1000, a_recipe(precision=precision, optimizer=optimizer))

    assert model.checkpoint == 1000 * bytes_each


def test_a_batch_is_tokens_or_pixels_or_unknown() -> None:
    assert batch_bytes(a_recipe()) == 4 * 4096 * 24
    assert batch_bytes(a_recipe(sequence=None, image=224)) == 4 * (3 * 224 * 224 * 4 + 8)
    assert batch_bytes(a_recipe(sequence=None)) is None


# -- what the document decides


def test_data_parallel_ranks_all_load_and_sharded_ones_leave_it_to_rank_0() -> None:
    model = model_bytes(PARAMETERS, a_recipe())
    plain = pod_wish(a_run(), a_recipe(), model)
    sharded = pod_wish(a_run(), a_recipe(parallel=Parallel(fsdp=8)), model)

    assert (plain.loads_on_every_rank, sharded.loads_on_every_rank) == (True, False)
    assert plain.parameter_bytes == 2 * PARAMETERS


def test_loader_and_env_of_the_document_are_taken() -> None:
    loader = {"workers": 6, "prefetch": 3, "pinMemory": False}
    run = a_run(
        train={"microBatch": 4, "sequence": 4096, "loader": loader}, env={"MALLOC_MMAP_THRESHOLD_": "65536"}
    )
    wish = pod_wish(run, a_recipe(), None).loader

    assert (wish.workers, wish.prefetch, wish.pins, wish.malloc_is_told) == (6, 3, False, True)
    assert wish.sample_bytes == 4096 * 24


@pytest.mark.parametrize(
    ("to", "on_disk", "in_memory", "through_cache"),
    [
        ("pvc/ckpt", False, False, True),
        ("s3://b/x", False, False, False),
        ("emptyDir", True, False, True),
        ("/root/out", True, False, True),
    ],
)
def test_checkpoints_land_where_the_document_says(
    to: str, on_disk: bool, in_memory: bool, through_cache: bool
) -> None:
    wish = pod_wish(a_run(checkpoints=to), a_recipe(), model_bytes(PARAMETERS, a_recipe())).checkpoint

    assert (wish.is_on_pod_disk, wish.is_in_memory, wish.passes_page_cache) == (
        on_disk,
        in_memory,
        through_cache,
    )
    assert (wish.saving, wish.bytes, wish.keep) == ("streamed", 6 * PARAMETERS, 3)


def test_adapters_alone_are_saved_with_lora() -> None:
    recipe = a_recipe(lora_rank=16)
    model = whole_model(an_estimate(4 * GIB, 64 * MIB), recipe)

    assert pod_wish(a_run(checkpoints="pvc/c"), recipe, model).checkpoint.bytes == 96 * MIB


def test_offload_is_this_pods_share_of_all_states() -> None:
    recipe = a_recipe(parallel=Parallel(ddp=16, zero=2), offload="optimizer")
    model = model_bytes(PARAMETERS, recipe)

    assert pod_wish(a_run(nodes=2), recipe, model).offload_bytes == 16 * PARAMETERS // 2


def test_a_cache_on_a_claim_takes_no_disk_of_the_pod() -> None:
    model = model_bytes(PARAMETERS, a_recipe())
    inside = pod_wish(a_run(), a_recipe(), model)
    outside = pod_wish(
        a_run(env={"HF_HOME": "/cache/hf"}, volumes=[{"mount": "/cache", "pvc": "hub"}]), a_recipe(), model
    )

    assert (inside.download_bytes, outside.download_bytes) == (2 * PARAMETERS, 0)


def test_staged_data_takes_disk_or_memory() -> None:
    data = [
        {"from": "s3://a/x", "mount": "/a", "stage": "nvme", "size": "10Gi"},
        {"from": "s3://b/x", "mount": "/b", "stage": "memory", "size": "2Gi"},
        {"from": "s3://c/x", "mount": "/c", "size": "9Gi"},
    ]
    wish = pod_wish(a_run(data=data), a_recipe(), None)

    assert (wish.staged_bytes, wish.staged_in_memory_bytes) == (10 * GIB, 2 * GIB)


def test_a_run_without_a_gpu_trains_in_host_memory() -> None:
    run = a_run(gpus=0)
    wish = pod_wish(run, a_recipe(parallel=Parallel()), None, an_estimate(GIB, GIB))

    assert wish.host_state_bytes == 5 * GIB


# -- as a plan asks


def test_a_plan_gets_all_four_figures_with_their_parts() -> None:
    seconds = Interval(0.9, 1.0, 1.1)
    largest = (LargeTensor(512 * MIB, "parameter", "lm_head", "empty"),)
    estimate = an_estimate(4 * GIB, 8 * GIB, step_seconds=seconds, largest=largest)
    found = PodSizer()(a_run(checkpoints="pvc/ckpt"), a_setup(a_recipe()), estimate)

    assert set(found.figures) == {"memory", "shm", "disk", "cpu"}
    assert found.checkpoint_bytes == 12 * GIB
    assert not found.is_sharded
    for figure in found.figures.values():
        assert figure.text
        assert all(part.formula for part in figure.parts)
    memory = found.figures["memory"]
    assert memory.amount == sum(part.amount for part in memory.parts)


def test_the_solver_can_ask_about_setups_it_has_no_estimate_of() -> None:
    sizer, run = PodSizer(), a_run()
    recipe = a_recipe()
    known = sizer(run, a_setup(recipe), an_estimate(4 * GIB, 8 * GIB)).figures["memory"].amount
    again = sizer(run, a_setup(recipe), None).figures["memory"].amount
    offloaded = sizer(run, a_setup(replace(recipe, offload="all")), None).figures["memory"].amount

    assert again == pytest.approx(known, rel=0.02)
    assert offloaded > known


def test_a_manifest_that_does_not_say_what_it_trains_gets_no_figures() -> None:
    text = "apiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec: {containers: [{name: c, image: i}]}\n"
    (pod,) = workloads_in(text, "p.yaml")

    assert PodSizer()(pod, None, None).figures == {}


def test_a_batch_nobody_described_is_warned_of() -> None:
    found = PodSizer()(a_run(), a_setup(a_recipe(sequence=None)), None)

    assert "without batches" in found.warnings[0]


def test_the_models_own_size_of_image_stands_in_for_one_that_is_not_said() -> None:
    unsaid, said = a_recipe(sequence=None), a_recipe(sequence=None, image=224)
    implied = PodSizer(image=224)(a_run(), a_setup(unsaid), None)
    written = PodSizer(image=224)(a_run(), a_setup(said), None)

    assert implied == written
    assert not any("without batches" in warning for warning in implied.warnings)
