"""The training step that shape mode means, run on paper.

    model on the device, in training mode
    loss of the library's own, under autocast where the precision says so; loss.backward(), per micro-batch
    clip_grad_norm_; optimizer.step(); zero_grad(set_to_none=True)

Two steps are run: optimizer state appears inside the first, so only the second is like all that follow.
"""

from __future__ import annotations

from tonnage.memory.ledger.families.catalogue import family_of
from tonnage.memory.ledger.families.program import Program
from tonnage.memory.ledger.machine import Machine
from tonnage.memory.ledger.operators.losses import averaged
from tonnage.memory.ledger.optimizing import OptimizerState, clip, optimize
from tonnage.memory.ledger.tape import ACTIVATION, TEMPORARY, Tape
from tonnage.memory.ledger.tensors import Tensor
from tonnage.memory.recipe import Recipe
from tonnage.memory.shapes.shape import ModelShape
from tonnage.memory.trace import Trace

PARAMETER_DTYPE = {
    "bf16": "bfloat16", "fp16": "float16", "amp-bf16": "float32", "amp-fp16": "float32", "fp32": "float32",
}  # fmt: skip
AUTOCAST = {"amp-bf16": "bfloat16", "amp-fp16": "float16"}


def shape_trace(shape: ModelShape, recipe: Recipe, gpu: str) -> Trace:
    """The step as a trace, as if it had been recorded."""
    return run_steps(shape, recipe).tape.trace(gpu, 2)


def run_steps(shape: ModelShape, recipe: Recipe, *, steps: int = 2, adds_in_place: bool = True) -> Machine:
    """Build the model and train `steps` steps; the machine's tape holds what happened."""
    machine = Machine(adds_in_place=adds_in_place)
    tape = machine.tape
    tape.mark("build")
    family = family_of(shape)
    dtype = PARAMETER_DTYPE[recipe.precision]
    program = Program(machine, shape, recipe.attention, recipe.checkpointing, tensor=recipe.parallel.tensor)
    for name, size in family.weights(shape, recipe.parallel.tensor):
        program.weights[name] = machine.parameter(size, dtype, name)
    trained = [p for p in machine.parameters if p.leaf]
    state = OptimizerState(recipe.optimizer)
    for step in range(steps):
        tape.mark(f"step {step}")
        for _ in range(recipe.accumulation):
            tape.phase = 4
            batch = family.batch(machine, shape, recipe)
            _micro_step(machine, family.loss, program, batch, AUTOCAST.get(recipe.precision))
            del batch
        tape.phase = 3
        tape.enter("optimizer")
        clip(machine, trained)
        optimize(machine, trained, state)
        for p in trained:
            p.grad = None
    tape.mark("end")
    tape.closed = True
    return machine


def _micro_step(machine: Machine, loss_of: object, program: Program, batch: tuple[Tensor, ...], half: str | None) -> None:
    tape = machine.tape
    tape.phase = 1
    before = len(tape.sizes)
    with machine.autocasting(half):
        loss = averaged(loss_of(program, *batch))  # type: ignore[operator]
    for block in range(before, len(tape.sizes)):
        if block not in tape.alive and tape.categories[block] == ACTIVATION:
            tape.categories[block] = TEMPORARY
    machine.backward(loss)
