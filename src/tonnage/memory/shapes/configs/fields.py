"""The fields of a configuration: each with the library's default, and what is wrong with it said by name."""

from __future__ import annotations

from collections.abc import Mapping

from tonnage.errors import Problem
from tonnage.memory.shapes.shape import ShapeError

Config = Mapping[str, object]


class Fields:
    """Reads fields with their defaults and says what is wrong with them."""

    def __init__(self, config: Config, where: str | None) -> None:
        self.config = config
        self.where = where

    def whole(self, name: str, default: int) -> int:
        value = self.config.get(name)
        if value is None:
            return default
        if isinstance(value, bool) or not isinstance(value, int) or value < 0:
            raise self._wrong(name, value, "a whole number")
        return value

    def positive(self, name: str, default: int) -> int:
        value = self.whole(name, default)
        if value < 1:
            raise self._wrong(name, value, "at least 1")
        return value

    def rate(self, name: str, default: float) -> float:
        value = self.config.get(name)
        if value is None:
            return default
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < 1:
            raise self._wrong(name, value, "a rate from 0 to 1")
        return float(value)

    def share(self, name: str, default: float) -> float:
        """A part of something, up to all of it."""
        value = self.config.get(name)
        if value is None:
            return default
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value <= 1:
            raise self._wrong(name, value, "a share above 0, at most 1")
        return float(value)

    def flag(self, name: str, default: bool) -> bool:
        value = self.config.get(name)
        return default if value is None else bool(value)

    def text(self, name: str, default: str) -> str:
        value = self.config.get(name)
        return value if isinstance(value, str) else default

    def windowed_layers(self, default: int) -> int:
        """Every how many layers attention is full, from `layer_types` or `sliding_window_pattern`."""
        kinds = self.config.get("layer_types")
        if isinstance(kinds, list) and "full_attention" in kinds and "sliding_attention" in kinds:
            return kinds.index("full_attention") + 1
        return self.whole("sliding_window_pattern", default)

    def _wrong(self, name: str, found: object, expected: str) -> ShapeError:
        return ShapeError(
            Problem(
                code="SHAPE-013",
                what=f"{name} cannot be used",
                where=self.where,
                found=repr(found),
                expected=expected,
            )
        )


def count_classes(fields: Fields) -> int:
    """How many labels: `num_labels`, else the names in `id2label`, else two."""
    labels = fields.config.get("id2label")
    return fields.positive("num_labels", len(labels) if isinstance(labels, Mapping) and labels else 2)
