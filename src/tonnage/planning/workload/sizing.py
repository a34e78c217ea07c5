"""What a Run's pod depends on beside GPU memory, as the plain values that `memory.pod` sizes it from.

A document does not say everything: how the program loads its weights, how it writes a checkpoint, what a batch
looks like in host memory. What is assumed is the usual way for such a run, on the safe side, and each part of
the answer says its formula:

    loading   data parallel: every rank makes or reads the weights in host memory first; sharded: rank 0 alone
    saving    data parallel: rank 0 writes tensor by tensor; sharded: every rank its part
    batches   token ids, mask and labels of 8 bytes each; images of three colours of 4 bytes
"""

from __future__ import annotations

import msgspec

from tonnage.memory.estimate import Estimate
from tonnage.memory.pod import CheckpointWish, LoaderWish, PodWish
from tonnage.memory.recipe import Parallel, Recipe
from tonnage.planning.workload.durability import DiesWith
from tonnage.planning.workload.saving import mount_of
from tonnage.planning.workload.value import Role, Workload
from tonnage.spec.run import RunSpec

_BYTES = {"bf16": 2, "fp16": 2, "amp-bf16": 4, "amp-fp16": 4, "fp32": 4}
_STATES = {"adamw": 2, "adamw-fused": 2, "adamw-forloop": 2, "sgdm": 1, "sgd": 0, "adafactor": 0}
_ADAFACTOR = 0.02
"""Row and column sums, for each byte of a parameter."""
_BUCKETS = ("s3://", "gs://", "az://", "hf://")
_ALLOCATORS = ("jemalloc", "tcmalloc", "mimalloc")
_CACHES = ("HF_HOME", "HF_HUB_CACHE", "TRANSFORMERS_CACHE", "TORCH_HOME", "XDG_CACHE_HOME")
_OFFLOADED_STATES = 16
"""Bytes in host memory for each parameter that is trained: master weights 4, moments 8, gradients 4."""
_OFFLOADED_WEIGHTS = 2
"""Bytes for every parameter, trained or not, where the weights themselves are offloaded too."""


class ModelBytes(msgspec.Struct, frozen=True):
    """A whole model, over all ranks: its parameters and what the optimizer keeps for them."""

    parameters: int
    weights: int
    optimizer: int
    trained: int
    """Parameters that are trained; with adapters, those of the adapters."""

    @property
    def checkpoint(self) -> int:
        return self.weights + self.optimizer


def model_bytes(parameters: int, recipe: Recipe, trainable: int | None = None) -> ModelBytes:
    """Weights and optimizer states from the number of parameters."""
    width = _BYTES[recipe.precision]
    trained = parameters if trainable is None else trainable
    states = trained * width * _STATES[recipe.optimizer]
    if recipe.optimizer == "adafactor":
        states = int(trained * width * _ADAFACTOR)
    return ModelBytes(parameters, parameters * width, states, trained)


def whole_model(estimate: Estimate, recipe: Recipe) -> ModelBytes | None:
    """The whole model from one rank's estimate: its part, times the ranks that share one copy."""
    held = {part.name: part.bytes for part in estimate.parts}
    for phase in estimate.phases:
        for part in phase.parts:
            held[part.name] = max(held.get(part.name, 0), part.bytes)
    for part in estimate.on_host:
        held[part.name] = held.get(part.name, 0) + part.bytes
    own = held.get("parameters", 0)
    if not own:
        return None
    parallel = recipe.parallel
    shards = _weight_shards(parallel)
    weights = own * shards
    optimizer = held.get("optimizer", 0) * (max(shards, _state_shards(parallel)))
    width = _BYTES[recipe.precision]
    parameters = weights // width
    states = width * _STATES[recipe.optimizer]
    is_adapted = recipe.lora_rank is not None and states and optimizer
    return ModelBytes(parameters, weights, optimizer, optimizer // states if is_adapted else parameters)


def pod_wish(
    workload: Workload, recipe: Recipe, model: ModelBytes | None, estimate: Estimate | None = None
) -> PodWish:
    """The pod of a Run's training role, ready to be sized."""
    run, role = workload.run, workload.trainer
    assert run is not None
    spec, env = run.spec, dict(role.env)
    ranks = role.ranks_per_pod or 1
    is_sharded = _is_sharded(recipe.parallel)
    weights = model.weights if model else 0
    return PodWish(
        ranks=ranks,
        pods=role.count,
        gpus=role.gpus.count,
        parameter_bytes=weights,
        largest_tensor_bytes=_largest(estimate, weights),
        loading="built" if weights else "none",
        loads_on_every_rank=not is_sharded,
        host_state_bytes=0 if role.gpus.count or estimate is None else ranks * estimate.peak_allocated,
        offload_bytes=_offloaded(model, recipe, ranks),
        loader=_loader(spec, recipe, env),
        checkpoint=_checkpoint(workload, recipe, model, is_sharded=is_sharded),
        compiles=spec.train.compile,
        compile_workers=_whole(env.get("TORCHINDUCTOR_COMPILE_THREADS")),
        download_bytes=0 if _caches_outside(role, env) or model is None else 2 * model.parameters,
        staged_bytes=sum(data.size.bytes for data in spec.data if data.stage == "nvme" and data.size),
        staged_in_memory_bytes=sum(
            data.size.bytes for data in spec.data if data.stage == "memory" and data.size
        ),
        output_bytes=weights if spec.output is not None and not spec.output.to.outlives_pod else 0,
        containers=len(role.pod.spec.containers),
        cpu_seconds_per_sample=spec.train.loader.sample_seconds,
        samples_per_second=_rate(recipe, estimate),
    )


def batch_bytes(recipe: Recipe) -> int | None:
    """One batch in host memory; None where neither sequence nor image size is said."""
    if recipe.image is not None:
        return recipe.micro_batch * (3 * recipe.image * recipe.image * 4 + 8)
    if recipe.sequence is not None:
        return recipe.micro_batch * recipe.sequence * 3 * 8
    return None


def _loader(spec: RunSpec, recipe: Recipe, env: dict[str, str]) -> LoaderWish:
    loader, batch = spec.train.loader, batch_bytes(recipe) or 0
    preloaded = any(name in env.get("LD_PRELOAD", "") for name in _ALLOCATORS)
    return LoaderWish(
        workers=loader.workers,
        prefetch=max(loader.prefetch, 1) if loader.workers else 0,
        pins=loader.pin_memory,
        batch_bytes=batch,
        sample_bytes=batch // max(recipe.micro_batch, 1),
        malloc_is_told="MALLOC_MMAP_THRESHOLD_" in env or preloaded,
    )


def _checkpoint(
    workload: Workload, recipe: Recipe, model: ModelBytes | None, *, is_sharded: bool
) -> CheckpointWish:
    target = workload.checkpoints
    if target is None or model is None:
        return CheckpointWish()
    place, dies_with = target.durability.place, target.durability.dies_with
    is_memory = place == "emptyDir in memory"
    size = model.checkpoint
    if (
        recipe.lora_rank is not None
    ):  # adapters alone are saved: the optimizer's share, and half as much again
        size = model.optimizer + model.optimizer // max(_STATES[recipe.optimizer], 1)
    return CheckpointWish(
        saving="sharded" if is_sharded else "streamed",
        bytes=size,
        keep=target.keep or 1,
        is_on_pod_disk=dies_with in (DiesWith.CONTAINER, DiesWith.POD) and not is_memory,
        is_in_memory=is_memory,
        passes_page_cache=not place.startswith(_BUCKETS),
    )


def _offloaded(model: ModelBytes | None, recipe: Recipe, ranks: int) -> int:
    if model is None or recipe.offload == "none":
        return 0
    shards = max(_state_shards(recipe.parallel), _weight_shards(recipe.parallel))
    held = _OFFLOADED_STATES * model.trained
    if recipe.offload == "all":
        held += _OFFLOADED_WEIGHTS * model.parameters
    return held * ranks // shards


def _largest(estimate: Estimate | None, weights: int) -> int:
    """The largest parameter seen; a twentieth of the weights where none was."""
    seen = [one.bytes for one in estimate.largest if one.category.startswith("parameter")] if estimate else []
    return max(seen, default=weights // 20)


def _is_sharded(parallel: Parallel) -> bool:
    return parallel.fsdp > 1 or parallel.zero >= 2 or parallel.tensor > 1 or parallel.pipeline > 1


def _weight_shards(parallel: Parallel) -> int:
    """Ranks over which one copy of the weights is spread."""
    data = parallel.fsdp if parallel.fsdp > 1 else parallel.data if parallel.zero == 3 else 1
    return data * parallel.tensor * parallel.pipeline


def _state_shards(parallel: Parallel) -> int:
    """Ranks over which one copy of the optimizer's states is spread."""
    data = parallel.data if parallel.zero else parallel.fsdp
    return data * parallel.tensor * parallel.pipeline


def _caches_outside(role: Role, env: dict[str, str]) -> bool:
    """Whether downloads go to a volume that is not the pod's own disk."""
    mounts = [mount_of(env[name], role.mounts) for name in _CACHES if name in env]
    gone = (DiesWith.CONTAINER, DiesWith.POD)
    return any(mount is not None and mount.durability.dies_with not in gone for mount in mounts)


def _rate(recipe: Recipe, estimate: Estimate | None) -> float | None:
    seconds = estimate.step_seconds.p50 if estimate is not None and estimate.step_seconds else None
    return recipe.micro_batch * recipe.accumulation / seconds if seconds else None


def _whole(text: str | None) -> int:
    return int(text) if text is not None and text.isascii() and text.isdigit() else 0
