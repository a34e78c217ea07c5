"""The solver's knobs: which of them `build` can turn, and to what.

`build` says which knobs it has by naming them as keyword arguments. The ones asked for are passed, the others keep
their defaults, and those it does not name are reported as fixed.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any

from .failing import CannotRecord

KNOBS = ("micro_batch", "accumulation", "checkpointing", "precision", "sequence")


def chosen_knobs(
    build: Callable[..., Any], asked: Mapping[str, Any]
) -> tuple[dict[str, Any], dict[str, Any], list[str]]:
    """What to call `build` with, the value of every knob it has, and the names of those it has not."""
    if not callable(build):
        raise CannotRecord(
            "build-not-callable",
            f"build is {type(build).__name__}, not a function.",
            "Name a function: --step FILE.py:build, where build() returns a function that does one step.",
        )
    unknown = sorted(set(asked) - set(KNOBS))
    if unknown:
        raise CannotRecord(
            "unknown-knob", f"{', '.join(unknown)} is not a knob.", f"The knobs are {', '.join(KNOBS)}."
        )
    parameters = _parameters(build)
    _refuse_required(build, parameters, asked)
    takes_any = any(each.kind is each.VAR_KEYWORD for each in parameters)
    named = {
        each.name: each for each in parameters if each.kind in (each.POSITIONAL_OR_KEYWORD, each.KEYWORD_ONLY)
    }
    given = {name: value for name, value in asked.items() if name in named or takes_any}
    values = {
        name: given[name] if name in given else named[name].default
        for name in KNOBS
        if name in given or name in named
    }
    fixed = [] if takes_any else [name for name in KNOBS if name not in named]
    return given, values, fixed


def _parameters(build: Callable[..., Any]) -> list[inspect.Parameter]:
    try:
        return list(inspect.signature(build).parameters.values())
    except (TypeError, ValueError):
        return []  # a builtin without a signature: it can only be called bare


def _refuse_required(
    build: Callable[..., Any], parameters: list[inspect.Parameter], asked: Mapping[str, Any]
) -> None:
    """Every argument of `build` must have a default, unless it is a knob that was asked for."""
    required = [
        each.name
        for each in parameters
        if each.default is each.empty
        and each.kind not in (each.VAR_POSITIONAL, each.VAR_KEYWORD)
        and not (each.name in KNOBS and each.name in asked and each.kind is not each.POSITIONAL_ONLY)
    ]
    if required:
        name = getattr(build, "__name__", "build")
        raise CannotRecord(
            "build-needs-arguments",
            f"{name}() needs {', '.join(required)}, and nobody passes it.",
            f"Give it a default. Only {', '.join(KNOBS)} are ever passed, as keyword arguments.",
        )
