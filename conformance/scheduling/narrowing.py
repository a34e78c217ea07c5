"""Make a cluster small before its parts are made small: whole kinds of objects first, then halves, then
less.

Every attempt lays out a cluster, so attempts are few and must pay: most of forty pods have nothing to do
with a disagreement, and asking about each of them alone would take all day.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Question = dict[str, Any]


def narrow(question: Question, still_differs: Callable[[Question], bool], *, attempts: int) -> Question:
    """The question with as few objects as can be found within so many attempts."""
    left = attempts

    def try_with(kind: str, items: list[Any]) -> bool:
        nonlocal question, left
        if left <= 0:
            return False
        left -= 1
        candidate = {**question, "cluster": {**question["cluster"], kind: items}}
        if not still_differs(candidate):
            return False
        question = candidate
        return True

    for kind in sorted(question.get("cluster", {}), key=lambda kind: len(question["cluster"][kind])):
        if question["cluster"][kind]:
            try_with(kind, [])
    for kind in ("pods", "nodes", "claims", "volumes"):
        size = len(question["cluster"].get(kind, []))
        while size > 0 and left > 0:
            start = 0
            while start < len(items := question["cluster"].get(kind, [])):
                if not try_with(kind, items[:start] + items[start + size :]):
                    start += size
                if left <= 0:
                    break
            size //= 2
    return question
