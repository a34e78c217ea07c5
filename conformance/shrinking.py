"""Make a failing question small: drop and simplify parts of a JSON-like value while the two answers still differ."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any


def shrink(question: Any, still_differs: Callable[[Any], bool], *, attempts: int = 200) -> Any:
    """The smallest variant found within `attempts` questions; greedy, deterministic, first improvement wins."""
    improved = True
    while improved and attempts > 0:
        improved = False
        for candidate in smaller(question):
            attempts -= 1
            if still_differs(candidate):
                question, improved = candidate, True
                break
            if attempts <= 0:
                break
    return question


def smaller(value: Any) -> Iterator[Any]:
    """Every variant with one part removed, outermost parts first."""
    if isinstance(value, dict):
        for key in value:
            yield {k: v for k, v in value.items() if k != key}
        for key, inner in value.items():
            for variant in smaller(inner):
                yield {**value, key: variant}
    elif isinstance(value, list):
        for index in range(len(value)):
            yield value[:index] + value[index + 1 :]
        for index, inner in enumerate(value):
            for variant in smaller(inner):
                yield [*value[:index], variant, *value[index + 1 :]]
