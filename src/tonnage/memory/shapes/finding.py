"""A model by its name: presets first, then torchvision's classification models; `-` and `_` alike.

People paste names as hubs write them: an owner before a slash, and words behind that say how the weights were
trained further (`-Instruct`, `-it`, `-hf`). Neither changes a dimension, so neither has to be left out by hand.
"""

from __future__ import annotations

import re
from difflib import get_close_matches

from tonnage.errors import Problem
from tonnage.memory.shapes import presets
from tonnage.memory.shapes.networks import network_names, network_shape
from tonnage.memory.shapes.shape import ModelShape, ShapeError

_SAME_DIMENSIONS = frozenset(("instruct", "chat", "it", "hf", "base", "4k", "v0.1", "v1.0"))
"""Words of a name that do not change the model's dimensions, for those names that we know without them."""


def find_shape(name: str, *, where: str | None = None) -> ModelShape:
    """The model of this name; raise ShapeError with near matches where there is none."""
    wanted = _plain(name)
    known = {_plain(each): each for each in reversed(preset_names())}
    bare = "-".join(word for word in wanted.split("-") if word not in _SAME_DIMENSIONS)
    found = known.get(wanted) or known.get(bare) or _same_letters(wanted, known)
    if found is not None and (shape := presets.preset(found) or network_shape(found)) is not None:
        return shape
    near = get_close_matches(bare, known, n=4, cutoff=0.5)
    raise ShapeError(
        Problem(
            code="SHAPE-001",
            what="we know no model of this name",
            where=where,
            found=name.strip() or "an empty name",
            hint=(
                f"did you mean {', '.join(near)}? Or give"
                if near
                else "give a name like llama-3-8b or resnet50,"
            )
            + " --config config.json, or dimensions under model.shape",
        )
    )


def _same_letters(wanted: str, known: dict[str, str]) -> str | None:
    """The one name with these letters and digits, whatever stands between them (`resnet-50`, `t5-v1_1-base`)."""
    found = [known[each] for each in known if _letters(each) == _letters(wanted)]
    return found[0] if len(found) == 1 else None


def _letters(name: str) -> str:
    # Between two digits a separator is kept: llama-3-8b is not llama-38b.
    return re.sub(r"(?<!\d)[-.]|[-.](?!\d)", "", name).replace(".", "-")


def preset_names() -> tuple[str, ...]:
    """Every name that `find_shape` answers."""
    return (*presets.names(), *network_names())


def _plain(name: str) -> str:
    last = name.strip().lower().rsplit("/", 1)[-1]
    return last.replace("_", "-").removeprefix("meta-")
