"""A model stated by its dimensions in a document: the family says the rest."""

from __future__ import annotations

from tonnage.errors import Problem
from tonnage.memory.shapes.configs import shape_from_config
from tonnage.memory.shapes.shape import ModelShape, ShapeError

_TYPES = {"gpt2": "gpt2", "llama": "llama", "mixtral": "mixtral", "bert": "bert", "t5": "t5", "vit": "vit"}

_NAMES: dict[str, dict[str, str]] = {
    "gpt2": {
        "layers": "n_layer", "hidden": "n_embd", "heads": "n_head", "intermediate": "n_inner",
        "vocabulary": "vocab_size",
    },
    "t5": {
        "layers": "num_layers", "hidden": "d_model", "heads": "num_heads", "intermediate": "d_ff",
        "vocabulary": "vocab_size",
    },
}  # fmt: skip
_COMMON = {
    "layers": "num_hidden_layers",
    "hidden": "hidden_size",
    "heads": "num_attention_heads",
    "kv_heads": "num_key_value_heads",
    "intermediate": "intermediate_size",
    "vocabulary": "vocab_size",
    "experts": "num_local_experts",
    "experts_per_token": "num_experts_per_tok",
}


def shape_from_dimensions(family: str, *, where: str | None = None, **dimensions: int | None) -> ModelShape:
    """A model of a family by `layers`, `hidden`, `heads`, ...; what is not said has the library's default."""
    kind = _TYPES.get(family)
    if kind is None:
        raise ShapeError(
            Problem(
                code="SHAPE-002",
                what="a model of this family cannot be told by dimensions alone",
                where=where,
                found=family,
                expected=f"one of {', '.join(_TYPES)}; for a convnet, a torchvision name such as resnet50",
            )
        )
    names = _NAMES.get(family, _COMMON)
    said = {name: value for name, value in dimensions.items() if value is not None}
    unknown = sorted(set(said) - set(names))
    if unknown:
        raise ShapeError(
            Problem(
                code="SHAPE-003",
                what=f"a model of family {family} has no {', '.join(unknown)}",
                where=where,
            )
        )
    config: dict[str, object] = {"model_type": kind, **{names[name]: value for name, value in said.items()}}
    return shape_from_config(config, name=family, where=where)
