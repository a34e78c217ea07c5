"""A model by its name: presets first, then torchvision's classification models; `-` and `_` alike."""

from __future__ import annotations

from difflib import get_close_matches

from tonnage.errors import Problem
from tonnage.memory.shapes import presets
from tonnage.memory.shapes.networks import network_names, network_shape
from tonnage.memory.shapes.shape import ModelShape, ShapeError


def find_shape(name: str, *, where: str | None = None) -> ModelShape:
    """The model of this name; raise ShapeError with near matches where there is none."""
    wanted = _plain(name)
    for known in preset_names():
        if _plain(known) == wanted:
            found = presets.preset(known) or network_shape(known)
            if found is not None:
                return found
    near = get_close_matches(wanted, [_plain(known) for known in preset_names()], n=4, cutoff=0.5)
    raise ShapeError(
        Problem(
            code="SHAPE-001",
            what="we know no model of this name",
            where=where,
            found=name,
            hint=(f"did you mean {', '.join(near)}? " if near else "")
            + "Or give --config config.json, or dimensions under model.shape",
        )
    )


def preset_names() -> tuple[str, ...]:
    """Every name that `find_shape` answers."""
    return (*presets.names(), *network_names())


def _plain(name: str) -> str:
    last = name.strip().lower().rsplit("/", 1)[-1]
    return last.replace("_", "-").removeprefix("meta-")
