"""Models as dimensions: what shape mode knows of a model without ever building it.

`find_shape` answers a name, `shape_from_config` a Hugging Face `config.json`; both give a `ModelShape`.
"""

from tonnage.memory.shapes.configs import MODEL_TYPES, shape_from_config
from tonnage.memory.shapes.finding import find_shape, preset_names
from tonnage.memory.shapes.shape import ModelShape, ShapeError
from tonnage.memory.shapes.stating import shape_from_dimensions

__all__ = [
    "MODEL_TYPES",
    "ModelShape",
    "ShapeError",
    "find_shape",
    "preset_names",
    "shape_from_config",
    "shape_from_dimensions",
]
