"""The training step that shape mode means, run on paper.

    model on the device, in training mode
    loss of the library's own, under autocast where the precision says so; loss.backward(), per micro-batch
    clip_grad_norm_; optimizer.step(); zero_grad(set_to_none=True)

Optimizer state appears inside the first step, so only the second is like all that follow. It does the same again
otherwise, so only the first is written down, and the second is read off it. Of accumulated micro-batches only two
differ.
LoRA adapters go on the attention's projections (q, k, v, o), in the model's own dtype; all else is frozen.
"""

from __future__ import annotations

from collections import defaultdict
from functools import lru_cache, partial

import msgspec
from msgspec.structs import replace

from tonnage.cluster.gpus import find_gpu
from tonnage.memory.ledger.attention_kernels import HOPPER, AttentionKernels
from tonnage.memory.ledger.checking import check_recipe
from tonnage.memory.ledger.families.catalogue import family_of
from tonnage.memory.ledger.families.program import Program
from tonnage.memory.ledger.machine import Machine
from tonnage.memory.ledger.operators.losses import averaged
from tonnage.memory.ledger.optimizing import OptimizerState, clip, optimize
from tonnage.memory.ledger.sharing import Sharing, local_shape, sharing_of
from tonnage.memory.ledger.stretching import Stretch
from tonnage.memory.ledger.tape import ACTIVATION, TEMPORARY, Tape
from tonnage.memory.ledger.tensors import BYTES, Shape, Tensor, count
from tonnage.memory.ledger.turns import (
    GATHERED,
    MicroStep,
    NotAlikeError,
    Template,
    period_of,
    read_template,
    shallow_depth,
)
from tonnage.memory.recipe import Recipe
from tonnage.memory.shapes.shape import ModelShape
from tonnage.memory.trace import Trace

PARAMETER_DTYPE = {
    "bf16": "bfloat16", "fp16": "float16", "amp-bf16": "float32", "amp-fp16": "float32", "fp32": "float32",
}  # fmt: skip
AUTOCAST = {"amp-bf16": "bfloat16", "amp-fp16": "float16"}
ADAPTED = ("q", "k", "v", "o", "qkv")
DISTINCT = 2
"""Micro-batches of a step that differ: gradients are made in the first and added to in all others."""
BUILD, FORWARD, BACKWARD, OPTIMIZER_PHASE, OTHER = range(5)


class Weights(msgspec.Struct):
    """What a rank's part of the model consists of."""

    sizes: dict[str, Shape]
    adapters: dict[str, Shape]
    total: int
    trained: int
    sharing: Sharing
    width: int
    """Bytes of a weight."""


class Run(msgspec.Struct):
    """A step that was run on paper."""

    machine: Machine
    program: Program
    sharing: Sharing
    weights: int
    trained: int
    dtype: str
    tokens: int = 0
    """Rows that each layer works on; 0 for networks over images whose rows change from layer to layer."""

    @property
    def width(self) -> int:
        """Bytes of a weight."""
        return BYTES[self.dtype]

    @property
    def tape(self) -> Tape:
        return self.machine.tape


def shape_trace(shape: ModelShape, recipe: Recipe, gpu: str) -> Trace:
    """Two steps as a trace, as if they had been recorded."""
    found = find_gpu(gpu)
    assert found is not None
    check_recipe(shape, recipe, found)
    kernels = AttentionKernels.of(found.compute, recipe.attention)
    return trace_of(remembered_run(shape, recipe, kernels), recipe, gpu)


def trace_of(run: Run, recipe: Recipe, gpu: str, steps: int = 2) -> Trace:
    """The record of a run, with the groups of ranks that talk to each other."""
    parallel = recipe.parallel
    degrees = [parallel.data, parallel.tensor, parallel.pipeline, parallel.expert]
    groups = tuple(tuple(range(degree)) for degree in degrees if degree > 1)
    return run.tape.trace(gpu, steps, parallel.world_size, groups)


@lru_cache(maxsize=4)
def remembered_run(shape: ModelShape, recipe: Recipe, kernels: AttentionKernels) -> Run:
    """The same run for memory and for time."""
    return run_steps(shape, recipe, kernels)


@lru_cache(maxsize=256)
def rank_weights(shape: ModelShape, recipe: Recipe) -> Weights:
    """The part of the model that a rank works on, and how others share it."""
    return _weights_of(local_shape(shape, recipe), recipe)


def working_bytes(shape: ModelShape, recipe: Recipe) -> int:
    """What a rank holds of the others' for as long as it works on it."""
    return rank_weights(shape, recipe).sharing.working_bytes


def run_steps(
    shape: ModelShape,
    recipe: Recipe,
    kernels: AttentionKernels = HOPPER,
    *,
    adds_in_place: bool = True,
    layer_by_layer: bool = False,
) -> Run:
    """Build the model and train a first step; the machine's tape holds what happened.

    Alike layers are written from one another, unless every one is to be run: the record is the same.
    """
    local = local_shape(shape, recipe)
    templates = None
    shallow = None if layer_by_layer else _shallow_run(local, recipe, kernels, adds_in_place)
    if shallow is not None:
        templates = shallow.templates(min(recipe.accumulation, DISTINCT))
    run = _built(local, recipe, kernels, adds_in_place)
    machine, tape, sharing = run.machine, run.tape, run.sharing
    trained = [p for p in machine.parameters if p.leaf]
    state = OptimizerState(
        recipe.optimizer, sharing.state, sharing.has_masters, on_host=recipe.offload in ("optimizer", "all")
    )
    tape.phase = OTHER
    tape.enter("sharing")
    held = machine.new((sharing.working_bytes,), "uint8", "sharing") if sharing.working_bytes else None
    tape.begin_step()
    if shallow is None or templates is None:
        for _ in range(min(recipe.accumulation, DISTINCT)):
            _micro_step(run, recipe)
    else:
        _stretched(run, shallow.tape, templates)
    machine.send_gradients()
    tape.begin_optimizer()
    tape.phase = OPTIMIZER_PHASE
    tape.enter("optimizer")
    clip(machine, trained)
    optimize(machine, trained, state)
    for p in trained:
        p.grad = None
    tape.closed = True
    del held
    return run


class Shallow:
    """Micro-steps of a model with few of the same layers, each run when it is first asked for."""

    def __init__(self, run: Run, recipe: Recipe, period: int, edge: int) -> None:
        self.tape = run.tape
        self._run, self._recipe, self._period, self._edge = run, recipe, period, edge
        self._templates: list[Template] = []
        self._are_alike = True
        run.machine.only_notes_arrivals = True
        self.tape.enter("sharing")
        self.tape.closed = True

    def templates(self, number: int) -> tuple[Template, ...] | None:
        """The first so many micro-steps; nothing where the layers are not alike."""
        self.tape.closed = False
        try:
            while self._are_alike and len(self._templates) < number:
                self._templates.append(self._next())
        except NotAlikeError:
            self._are_alike = False
        finally:
            self.tape.closed = True
        return tuple(self._templates[:number]) if self._are_alike else None

    def _next(self) -> Template:
        run, tape = self._run, self.tape
        step = MicroStep(len(tape.kinds))
        made = len(tape.sizes)
        before = {name for name, weight in run.program.weights.items() if weight.grad is not None}
        step.batch = _micro_step(run, self._recipe) - made
        step.end = len(tape.kinds)
        step.gradients = {
            name: weight.grad
            for name, weight in run.program.weights.items()
            if weight.grad is not None and name not in before
        }
        return read_template(tape, step, self._period, self._edge)


def _shallow_run(
    local: ModelShape, recipe: Recipe, kernels: AttentionKernels, adds_in_place: bool
) -> Shallow | None:
    """The micro-steps to write a deep model's from; nothing where it is not deep, or its layers are not alike."""
    period = period_of(local, recipe)
    # What a decoder's layers share is summed over them: the first two to add to it differ from the rest.
    edge = period * (2 if local.decoder_layers else 1)
    layers = shallow_depth(local.layers, period, edge)
    decoder_layers = shallow_depth(local.decoder_layers, period, edge) if local.decoder_layers else 0
    is_deep = local.layers > layers and (not local.decoder_layers or local.decoder_layers > decoder_layers)
    # One shallow run serves every depth, so a few layers are written from it too: others will be asked for.
    if not is_deep and (period > 1 or local.decoder_layers or local.layers < 2 * edge):
        return None
    small = replace(local, layers=layers, decoder_layers=decoder_layers)
    return _remembered_shallow_run(small, _told_to_micro_steps(recipe), kernels, period, edge, adds_in_place)


def _told_to_micro_steps(recipe: Recipe) -> Recipe:
    """The recipe without what only the optimizer's step sees."""
    accumulation = recipe.accumulation if recipe.parallel.pipeline > 1 else DISTINCT
    return replace(recipe, optimizer="adamw", accumulation=accumulation)


@lru_cache(maxsize=32)
def _remembered_shallow_run(
    small: ModelShape,
    recipe: Recipe,
    kernels: AttentionKernels,
    period: int,
    edge: int,
    adds_in_place: bool,
) -> Shallow:
    return Shallow(_built(small, recipe, kernels, adds_in_place), recipe, period, edge)


def _stretched(run: Run, shallow: Tape, templates: tuple[Template, ...]) -> None:
    """The micro-steps of a shallow model, written for this one."""
    layers = defaultdict[str, int](int)
    for name in run.program.weights:
        stack, _, rest = name.partition(".")
        number = rest.partition(".")[0]
        if number.isdigit():
            layers[stack] = max(layers[stack], int(number) + 1)
    stretch = Stretch(run.machine, shallow, layers)
    for template in templates:
        before = len(run.tape.sizes) + template.batch
        stretch.write(template, partial(_size_of_others, run, before))
        stretch.hand_gradients(template, run.program.weights)


def _built(local: ModelShape, recipe: Recipe, kernels: AttentionKernels, adds_in_place: bool) -> Run:
    machine = Machine(adds_in_place=adds_in_place, kernels=kernels)
    machine.tape.mark("build")
    dtype = PARAMETER_DTYPE[recipe.precision]
    weights = _weights_of(local, recipe)
    sizes, adapters, sharing = weights.sizes, weights.adapters, weights.sharing
    machine.gradient_ranks, machine.reduces = sharing.gradients, sharing.reduces
    program = Program(machine, local, recipe.attention, recipe.checkpointing, tensor=recipe.parallel.tensor)
    program.gathers = BYTES[dtype] if sharing.weights > 1 else 0
    ranks = 0 if recipe.offload == "all" else sharing.weights
    for name, size in sizes.items():
        program.weights[name] = machine.parameter(size, dtype, name, trained=not adapters, ranks=ranks)
        for end in (".lora_a", ".lora_b"):
            if name + end in adapters:
                program.weights[name + end] = machine.parameter(
                    adapters[name + end], dtype, name + end, ranks=ranks
                )
    return Run(machine, program, sharing, weights.total, weights.trained, dtype, _rows(local, recipe))


def _weights_of(local: ModelShape, recipe: Recipe) -> Weights:
    """Sizes by name, and how ranks share them."""
    sizes = dict(family_of(local).weights(local, recipe.parallel.tensor))
    adapters = _adapters(local, sizes, recipe.lora_rank)
    counts = {name: count(size) for name, size in sizes.items()}
    added = sum(count(size) for size in adapters.values())
    trained = added if adapters else sum(counts.values())
    width = BYTES[PARAMETER_DTYPE[recipe.precision]]
    sharing = sharing_of(recipe, counts, width, trained)
    return Weights(sizes, adapters, sum(counts.values()) + added, trained, sharing, width)


def _rows(shape: ModelShape, recipe: Recipe) -> int:
    if shape.family == "convnet":
        return 0
    if shape.family == "vit":
        return recipe.micro_batch * (((recipe.image or shape.image) // shape.patch) ** 2 + 1)
    return recipe.micro_batch * (recipe.sequence or 0)


def _adapters(shape: ModelShape, sizes: dict[str, Shape], rank: int | None) -> dict[str, Shape]:
    """Two thin matrices beside every attention projection."""
    if rank is None:
        return {}
    found: dict[str, Shape] = {}
    for name, size in sizes.items():
        if name.rsplit(".", 1)[-1] not in ADAPTED or len(size) != 2:
            continue
        outs, ins = (size[1], size[0]) if shape.family == "gpt2" else (size[0], size[1])
        found[f"{name}.lora_a"] = (rank, ins)
        found[f"{name}.lora_b"] = (outs, rank)
    return found


def _micro_step(run: Run, recipe: Recipe) -> int:
    """Forward and backward of one micro-batch; the first block behind those of the batch itself."""
    machine, tape, family = run.machine, run.tape, family_of(run.program.shape)
    tape.phase = OTHER
    batch = family.batch(machine, run.program.shape, recipe)
    tape.phase = FORWARD
    before = len(tape.sizes)
    with machine.autocasting(AUTOCAST.get(recipe.precision)):
        loss = averaged(family.loss(run.program, *batch))
    for block in range(before, len(tape.sizes)):
        if block not in tape.alive and tape.categories[block] == ACTIVATION:
            tape.categories[block] = TEMPORARY
    others = _other_micro_batches(run, before)
    machine.backward(loss)
    del others
    return before


def _other_micro_batches(run: Run, before: int) -> Tensor | None:
    """Activations of the micro-batches that a pipeline's first stage holds beside the one at work."""
    if run.sharing.in_flight < 2:
        return None
    size = _size_of_others(run, before)
    run.tape.enter(GATHERED)
    return run.machine.new((size,), "uint8", GATHERED)


def _size_of_others(run: Run, before: int) -> int:
    tape = run.tape
    stays = ("head", "loss", "norm")
    names = {number: name for name, number in tape.modules.items()}
    held = sum(
        tape.sizes[block]
        for block in range(before, len(tape.sizes))
        if block in tape.alive and not names[tape.block_modules[block]].startswith(stays)
    )
    return (run.sharing.in_flight - 1) * held
