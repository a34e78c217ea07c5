"""Rules about a Run: what it runs and where to; the rest is told by subject in the files beside this one."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from tonnage.spec.rules.about_checkpoints import (
    checkpoints_outlive_the_pod,
    deadline_before_checkpoint,
    spot_wants_checkpoints,
)
from tonnage.spec.rules.about_environment import (
    env_holds_no_secrets,
    env_leaves_ranks_alone,
    one_name_one_variable,
)
from tonnage.spec.rules.about_money import budget_is_a_wall, price_is_a_rate
from tonnage.spec.rules.about_mounts import mounts_are_apart, volume_has_one_source
from tonnage.spec.rules.about_patch import patch_is_a_pod, patch_is_well_spelt
from tonnage.spec.rules.about_resources import (
    amounts_are_more_than_nothing,
    at_least_one_node,
    gpu_type_is_known,
    part_of_a_gpu,
    several_nodes_need_whole_gpus,
    shm_within_memory,
)
from tonnage.spec.rules.remarks import Remark
from tonnage.spec.run import Run

_SINGLE_POD = ("Job", "local")
_FRAMEWORK_OF = {
    "PyTorchJob": ("torch", "deepspeed"),
    "TFJob": ("tensorflow",),
    "MPIJob": ("mpi", "horovod", "deepspeed"),
}


def target_fits(run: Run) -> Iterator[Remark]:
    """The named target must be able to run this many pods of this framework."""
    spec = run.spec
    if spec.target in _SINGLE_POD and spec.nodes.high > 1:
        yield Remark(
            code="DOC-036",
            path=("spec", "target"),
            what=f"a {spec.target} runs one pod, and nodes is {spec.nodes}",
            expected="a target for several pods",
            hint="target: auto chooses a JobSet or Indexed Job",
        )
    wanted = _FRAMEWORK_OF.get(spec.target)
    if wanted and spec.framework not in ("auto", *wanted):
        yield Remark(
            code="DOC-036",
            path=("spec", "target"),
            what=f"a {spec.target} does not run {spec.framework}",
            expected=f"framework {' or '.join(wanted)}, or another target",
            hint="target: auto follows the framework",
        )
    if spec.gpus.milli == 0 and spec.gpus.type:
        yield Remark(
            code="DOC-038",
            path=("spec", "gpus"),
            what=f"no GPU, and of type {spec.gpus.type}",
            expected="1 or more",
        )


def model_is_step_or_shape(run: Run) -> Iterator[Remark]:
    """A model that says nothing is none; with both, the shape answers where the step cannot be traced."""
    model = run.spec.model
    if model is None:
        return
    if model.step is None and model.shape is None:
        yield Remark(
            code="DOC-031",
            path=("spec", "model"),
            what="neither step nor shape is given",
            expected="step: FILE.py:function to trace, or shape: a preset, config.json or dimensions",
            absent=(("spec", "model"),),
        )
    if model.step is not None and ":" not in model.step:
        yield Remark(
            code="DOC-025",
            path=("spec", "model", "step"),
            what=f"'{model.step[:40]}' does not name a function",
            expected="FILE.py:function",
            hint=f"try {model.step[:40]}:build",
        )
    shape = model.shape
    if (
        shape is not None
        and shape.preset is None
        and shape.parameters is None
        and not (shape.layers and shape.hidden)
    ):
        yield Remark(
            code="DOC-031",
            path=("spec", "model", "shape"),
            what="not enough to know the model",
            expected="a preset, the number of parameters, or layers and hidden",
            absent=(("spec", "model", "shape"),),
        )


def something_runs(run: Run) -> Iterator[Remark]:
    """Without a command the image's own entry point runs; without an image there is none."""
    if run.spec.command is None and run.spec.image is None:
        yield Remark(
            code="DOC-058",
            path=("spec",),
            what="neither command nor image: there is nothing to run",
            hint="add command: python train.py",
            is_mild=True,
            absent=(("spec", "command"), ("spec", "image")),
        )


def image_has_a_version(run: Run) -> Iterator[Remark]:
    """`latest` may be another image on the next try, or on the next rank."""
    image = run.spec.image
    if image is None or "@" in image:
        return
    tag = image.rsplit("/", 1)[-1].partition(":")[2]
    if tag in ("", "latest"):
        yield Remark(
            code="DOC-055",
            path=("spec", "image"),
            what="the image has no fixed version: a retry may run another one",
            hint="name a tag or a digest",
            is_mild=True,
        )


def money_has_one_limit(run: Run) -> Iterator[Remark]:
    """What a run may cost, and what a spot node may cost."""
    budget = run.spec.budget
    yield from budget_is_a_wall(budget.limit if budget else None, ("spec", "budget", "limit"))
    yield from price_is_a_rate(run.spec.spot.max_price, ("spec", "spot", "maxPrice"))


RUN_RULES: tuple[Callable[[Run], Iterable[Remark]], ...] = (
    deadline_before_checkpoint,
    several_nodes_need_whole_gpus,
    at_least_one_node,
    amounts_are_more_than_nothing,
    target_fits,
    volume_has_one_source,
    model_is_step_or_shape,
    mounts_are_apart,
    patch_is_a_pod,
    patch_is_well_spelt,
    one_name_one_variable,
    shm_within_memory,
    spot_wants_checkpoints,
    checkpoints_outlive_the_pod,
    env_holds_no_secrets,
    env_leaves_ranks_alone,
    gpu_type_is_known,
    part_of_a_gpu,
    image_has_a_version,
    something_runs,
    money_has_one_limit,
)
