"""From a plan to what every attempt shares: its size, its price, how often it saves, and the smaller steps it may
fall back to.
"""

from __future__ import annotations

from collections.abc import Sequence

from tonnage.planning.answers import Alternative, Plan
from tonnage.running.attempts import Size
from tonnage.running.history import Launching
from tonnage.running.observing import Refit
from tonnage.spec.run import Run
from tonnage.units import format_bytes
from tonnage_agent.contract import MICRO_BATCH

DEFAULT_GRACE = 30.0


def launching_of(
    plan: Plan,
    run: Run,
    *,
    document: str,
    file: str,
    folder: str,
    lineage: str,
    probe_steps: int | None = None,
    refits: tuple[Refit, ...] | None = None,
) -> Launching:
    """What is settled once, when the run was planned."""
    saving = plan.risk.checkpoints
    said = run.spec.checkpoints is not None and run.spec.checkpoints.every.duration is not None
    grace = saving.grace_seconds if saving is not None and saving.grace_seconds is not None else DEFAULT_GRACE
    return Launching(
        document=document,
        file=file,
        folder=folder,
        namespace=plan.workload.namespace,
        lineage=lineage,
        first_size=size_of(plan, run),
        refits=refits_of(run) if refits is None else refits,
        price_per_hour=plan.cost.per_hour,
        price_origin=plan.cost.origin,
        probe_steps=probe_steps,
        checkpoint_every=saving.interval_seconds if saving is not None and said else None,
        grace_seconds=float(grace),
        failure_seconds=plan.risk.mean_hours * 3600,
    )


def size_of(plan: Plan, run: Run) -> Size:
    """The size of the first attempt: what the document asks for, else what the plan worked out."""
    granted = {need.name: need.granted for need in plan.needs}
    request = run.spec.memory.request
    return Size(
        memory=granted.get("memory"),
        memory_request=request.bytes if request is not None else None,
        shm=granted.get("shm"),
        disk=granted.get("disk"),
        micro_batch=run.spec.train.micro_batch,
        accumulation=run.spec.train.accumulation,
    )


def refits_of(
    run: Run, alternatives: Sequence[Alternative] = (), script: str = "", *, gpu: str = ""
) -> tuple[Refit, ...]:
    """Smaller steps with the same global batch, best first: the solver's where the step is described, else by division.

    Every divisor of the samples that one rank handles per optimizer step is a way to cut it; the largest below the
    present one loses least speed. `gpu` is the type it was planned on: an alternative on another one keeps its step.
    """
    is_told = takes_micro_batch(run, script)
    if alternatives:
        found = (_refit(each, gpu) for each in alternatives)
        return tuple(refit for refit in found if is_told or refit.gpu is not None)
    micro, accumulation = run.spec.train.micro_batch, run.spec.train.accumulation
    if micro is None or not is_told:
        return ()
    samples = micro * accumulation
    sizes = [size for size in range(micro - 1, 0, -1) if samples % size == 0]
    return tuple(
        Refit(
            micro_batch=size,
            accumulation=samples // size,
            text=f"microBatch {size} (accumulate {samples // size}), the same global batch",
        )
        for size in sizes
    )


def takes_micro_batch(run: Run, script: str = "") -> bool:
    """Whether the run can be told another micro-batch: a placeholder, or a variable that its script reads."""
    words = " ".join(run.spec.command or ())
    return "{microBatch}" in words or any(
        MICRO_BATCH in text for text in (words, script, *run.spec.env.values())
    )


def _refit(each: Alternative, planned_on: str) -> Refit:
    recipe, gpu = each.setup.recipe, each.setup.devices.gpu
    is_cut = gpu == planned_on
    what = f"microBatch {recipe.micro_batch} (accumulate {recipe.accumulation})" if is_cut else f"on {gpu}"
    slower = "" if each.slower is None else f", {each.slower:+.0%} time".replace("%", " %")
    return Refit(
        micro_batch=recipe.micro_batch if is_cut else None,
        accumulation=recipe.accumulation if is_cut else None,
        gpu=None if is_cut else gpu,
        required=each.required,
        text=f"{what} -> {format_bytes(each.required)} of GPU memory{slower}",
    )
