"""Who answers about the rest of a pod for a plan: the pod model, asked about a Run's setup.

The number of parameters is learnt from the first estimate and kept: the solver asks about setups of which it
has no estimate yet, and the model does not change with the setup.
"""

from __future__ import annotations

from msgspec.structs import replace

from tonnage.memory.estimate import Estimate
from tonnage.memory.pod import Need, PodNeeds, PodWish, pod_needs
from tonnage.memory.pod.cpu import COMPILING, cpu_seconds
from tonnage.memory.pod.needs import CpuNeed
from tonnage.memory.pod.needs import NeedPart as Part
from tonnage.memory.recipe import Recipe
from tonnage.planning.answers import NeedPart
from tonnage.planning.solver.setup import Setup
from tonnage.planning.sources import Figure, PodFigures
from tonnage.planning.workload.sizing import ModelBytes, batch_bytes, model_bytes, pod_wish, whole_model
from tonnage.planning.workload.value import Workload
from tonnage.units import format_bytes

SHOWN_PARTS = 4
"""Parts named in the one-line sum; the rest is in the list."""


class PodSizer:
    """Answers what a pod needs beside GPU memory; a manifest that does not say what it trains gets no answer."""

    def __init__(self, parameters: int | None = None, image: int | None = None) -> None:
        self._parameters, self._trained = parameters, parameters
        self._image = image
        """Pixels of a side that the model itself is made for, where it reads images."""

    def __call__(self, workload: Workload, setup: Setup | None, estimate: Estimate | None) -> PodFigures:
        if workload.run is None or setup is None:
            return PodFigures()
        recipe = self._with_own_image(setup.recipe)
        model = whole_model(estimate, recipe) if estimate is not None else None
        if model is not None:
            self._parameters, self._trained = model.parameters, model.trained
        elif self._parameters is not None:
            model = model_bytes(self._parameters, recipe, self._trained)
        wish = pod_wish(workload, recipe, model, estimate)
        needs = pod_needs(wish)
        warnings = list(needs.warnings)
        if batch_bytes(recipe) is None:
            warnings.append(
                "neither train.sequence nor train.imageSize is said: RAM and /dev/shm are without batches"
            )
        return PodFigures(
            figures=figures_from(needs),
            checkpoint_bytes=wish.checkpoint.bytes or _unplaced_checkpoint(model),
            is_sharded=wish.checkpoint.saving in ("sharded", "background"),
            cpu_seconds=_cpu_seconds(wish, estimate),
            warnings=tuple(warnings),
        )

    def _with_own_image(self, recipe: Recipe) -> Recipe:
        """GPU memory is reckoned for the model's own size of image where none is said; so is the rest."""
        if self._image is None or recipe.image is not None or recipe.sequence is not None:
            return recipe
        return replace(recipe, image=self._image)


def figures_from(needs: PodNeeds) -> dict[str, Figure]:
    """The four needs by the names a plan uses."""
    return {
        "memory": _figure(needs.ram),
        "shm": _figure(needs.shm),
        "disk": _figure(needs.disk),
        "cpu": _cores(needs.cpu),
    }


def _cores(need: CpuNeed) -> Figure:
    """Cores to ask for; what is only used in a burst is in the limit and said apart."""
    burst = need.limit - need.request
    asked = [part for part in need.parts if part.name != COMPILING] if burst else list(need.parts)
    text = "  ".join(f"{part.name} {part.amount / 1000:.3g}" for part in asked)
    more = f"; {burst / 1000:.3g} more while compiling" if burst else ""
    return Figure(
        amount=need.request, parts=tuple(map(_part, need.parts)), text=text + more, limit=need.limit
    )


def _figure(need: Need) -> Figure:
    parts = [*map(_part, need.parts)]
    if need.margin:
        parts.append(NeedPart(name="margin", amount=need.margin, formula=need.margin_reason))
    largest = sorted(need.parts, key=lambda part: -part.amount)[:SHOWN_PARTS]
    when = f"most in {need.phase}: " if need.phase else ""
    text = when + "  ".join(f"{part.name} {format_bytes(part.amount)}" for part in largest)
    return Figure(amount=need.amount, parts=tuple(parts), text=text)


def _part(part: Part) -> NeedPart:
    origin = "" if part.origin == "computed" else f" ({part.origin})"
    return NeedPart(name=part.name, amount=part.amount, formula=f"{part.formula}{origin}", flag=part.flag)


def _cpu_seconds(wish: PodWish, estimate: Estimate | None) -> float | None:
    step = estimate.step_seconds if estimate is not None else None
    return None if step is None else cpu_seconds(wish, step.p50)


def _unplaced_checkpoint(model: ModelBytes | None) -> int | None:
    """How large a checkpoint would be, where the document names no place for one."""
    return model.checkpoint if model is not None else None
