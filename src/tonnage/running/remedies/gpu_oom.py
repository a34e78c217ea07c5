"""Out of GPU memory: the next smaller step with the same global batch, or the next larger GPU, as the document allows.

The solver has listed the ways, best first. One that was tried and died is not tried again, nor one that needs as much
as something that died. When the list ends, the run is given up: the same step on the same GPU would die the same way.
"""

from __future__ import annotations

from dataclasses import replace

from tonnage.running.actions import GiveUp
from tonnage.running.attempts import Attempt, Size
from tonnage.running.observing import Refit, Situation
from tonnage.running.policies import Policies
from tonnage.running.remedies.cure import Cure

CODE = "RUN-011"


def remedy(situation: Situation, policies: Policies, attempt: Attempt) -> Cure | GiveUp:
    """The next way to make the step, or why there is none."""
    if policies.on_gpu_oom == "fail":
        return GiveUp(
            why="out of GPU memory, and onOOM.gpu says fail", hint="set onOOM: {gpu: refit}", code=CODE
        )
    dead = [_shape(each.size) for each in _died(situation)]
    least = _least_that_died(situation, dead)
    for refit in _in_order(situation.refits, policies):
        size = _with(attempt.size, refit)
        is_allowed = refit.gpu is None or policies.on_gpu_oom == "largerGpu"
        is_smaller = (
            refit.gpu is not None or least is None or refit.required is None or refit.required < least
        )
        if is_allowed and is_smaller and _shape(size) not in dead:
            return Cure(size, refit.text or _text(refit))
    tried = f" after {len(dead)} sizes" if len(dead) > 1 else ""
    missing = "no smaller step is known"
    if policies.on_gpu_oom == "largerGpu":
        missing = "neither a larger GPU nor a smaller step is known here"
    return GiveUp(why=f"out of GPU memory{tried}, and {missing}", hint=_hint(policies), code=CODE)


def _in_order(refits: tuple[Refit, ...], policies: Policies) -> list[Refit]:
    """Best first; an owner who asks for a larger GPU gets it before a smaller step."""
    is_wished = policies.on_gpu_oom == "largerGpu"
    return sorted(refits, key=lambda refit: is_wished and refit.gpu is None)


def _died(situation: Situation) -> list[Attempt]:
    return [each for each in situation.attempts if each.ending is not None and each.ending.cause == "gpu_oom"]


def _least_that_died(situation: Situation, dead: list[tuple[object, ...]]) -> int | None:
    """The smallest need that was estimated for anything that died."""
    base = situation.first_size
    needs = [
        refit.required
        for refit in situation.refits
        if refit.required is not None and refit.gpu is None and _shape(_with(base, refit)) in dead
    ]
    return min(needs, default=None)


def _with(size: Size, refit: Refit) -> Size:
    return replace(
        size,
        micro_batch=refit.micro_batch if refit.micro_batch is not None else size.micro_batch,
        accumulation=refit.accumulation if refit.accumulation is not None else size.accumulation,
        checkpointing=refit.checkpointing or size.checkpointing,
        gpu=refit.gpu or size.gpu,
    )


def _shape(size: Size) -> tuple[object, ...]:
    """All that decides GPU memory."""
    return (size.micro_batch, size.accumulation, size.checkpointing, size.gpu)


def _text(refit: Refit) -> str:
    parts = [f"microBatch {refit.micro_batch}"] if refit.micro_batch is not None else []
    parts += [f"accumulate {refit.accumulation}"] if refit.accumulation is not None else []
    parts += [f"checkpointing {refit.checkpointing}"] if refit.checkpointing else []
    parts += [f"on {refit.gpu}"] if refit.gpu else []
    return ", ".join(parts)


def _hint(policies: Policies) -> str:
    ways = "write {microBatch} and {accumulation} into the command, so that the step can be refitted"
    return ways if policies.on_gpu_oom == "largerGpu" else f"{ways}; or onOOM: {{gpu: largerGpu}}"
