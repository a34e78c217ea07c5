"""Operations that a compiled graph runs under a given state of the random number generator.

Recomputed activations must draw the same numbers twice, so the compiler wraps what draws them (dropout, attention)
in higher-order operators that set the generator first. No numbers are drawn here: the wrapped operation alone is
what the recorder has to see.
"""

from __future__ import annotations

from typing import Any

import torch
from torch._prims import rng_prims

from .recorder import Recorder

_installed: list[str] = []


def install() -> None:
    """Let recorders see through the wrappers; once per process."""
    if _installed:
        return
    for name, answer in (
        ("run_with_rng_state", _with_state_given),
        ("graphsafe_run_with_rng_state", _with_state_named),
        ("run_and_save_rng_state", _saving_state),
    ):
        wrapper = getattr(rng_prims, name, None)
        if wrapper is not None:
            wrapper.py_impl(Recorder)(answer)
            _installed.append(name)


def _with_state_given(mode: Recorder, _state: Any, operation: Any, *args: Any, **kwargs: Any) -> Any:
    with mode:
        return operation(*args, **kwargs)


def _with_state_named(
    mode: Recorder, operation: Any, *args: Any, rng_state: Any = None, **kwargs: Any
) -> Any:
    del rng_state
    with mode:
        return operation(*args, **kwargs)


def _saving_state(mode: Recorder, operation: Any, *args: Any, **kwargs: Any) -> Any:
    state = torch.cuda.get_rng_state()
    with mode:
        return state, operation(*args, **kwargs)
