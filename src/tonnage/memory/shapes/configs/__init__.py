"""Hugging Face `config.json` files as shapes.

A field that a file leaves out has the default of `transformers` 5.17 for that `model_type`, because that is what
the library would build. Only fields that change memory or work are read. One module per way of writing a model;
`reading` chooses.
"""

from tonnage.memory.shapes.configs.reading import MODEL_TYPES, shape_from_config

__all__ = ["MODEL_TYPES", "shape_from_config"]
