"""What the step is doing: building, forward, backward, the optimizer, timing kernels, or something between.

Backward is known exactly (everything autograd runs), the optimizer too (torch announces it). Forward is the rest
of the step up to a backward pass; after it, until a module is called again, work belongs to nothing in particular:
clipping, scaling, averaging, zeroing.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch.optim.optimizer import register_optimizer_step_post_hook, register_optimizer_step_pre_hook

BUILD, FORWARD, BACKWARD, OPTIMIZER, OTHER, COMPILE = range(6)
PHASES = ("build", "forward", "backward", "optimizer", "other", "compile")


class Phases:
    """The current phase, and who wants to know when it changes."""

    def __init__(self) -> None:
        self.current = BUILD
        self._before_optimizer = BUILD
        self.around_backward: Callable[[], contextlib.AbstractContextManager[None]] = contextlib.nullcontext
        self.before_backward: list[Callable[[], None]] = []
        self.after_backward: list[Callable[[], None]] = []
        self.before_optimizer: list[Callable[[Any], None]] = []
        self.after_optimizer: list[Callable[[Any], None]] = []

    def begin_step(self) -> None:
        """A step begins with its input and forward pass."""
        self.current = FORWARD

    def module_called(self) -> None:
        """A module is called from outside: what comes now is a forward pass, unless it is part of something else."""
        if self.current == OTHER:
            self.current = FORWARD

    @contextlib.contextmanager
    def compiling(self) -> Iterator[None]:
        """What happens only while kernels are chosen: a run that finds them in its cache does not do it."""
        before, self.current = self.current, COMPILE
        try:
            yield
        finally:
            self.current = before

    @contextlib.contextmanager
    def watching(self) -> Iterator[None]:
        """Watch backward passes and optimizers."""
        original = torch.autograd.graph._engine_run_backward

        def run(*args: Any, **kwargs: Any) -> Any:
            outermost = self.current != BACKWARD
            if outermost:
                for told in self.before_backward:
                    told()
            before, self.current = self.current, BACKWARD
            try:
                with self.around_backward():
                    return original(*args, **kwargs)
            finally:
                if outermost:
                    for told in self.after_backward:
                        told()
                    self.current = before if before in (BUILD, OPTIMIZER) else OTHER

        hooks = (
            register_optimizer_step_pre_hook(self._optimizer_begins),
            register_optimizer_step_post_hook(self._optimizer_ends),
        )
        torch.autograd.graph._engine_run_backward = torch.autograd._engine_run_backward = run
        try:
            yield
        finally:
            torch.autograd.graph._engine_run_backward = torch.autograd._engine_run_backward = original
            for hook in hooks:
                hook.remove()

    def _optimizer_begins(self, optimizer: Any, _args: Any, _kwargs: Any) -> None:
        for told in self.before_optimizer:
            told(optimizer)
        if self.current != BUILD:
            self._before_optimizer, self.current = self.current, OPTIMIZER

    def _optimizer_ends(self, optimizer: Any, _args: Any, _kwargs: Any) -> None:
        for told in self.after_optimizer:
            told(optimizer)
        if self.current != BUILD:  # an optimizer may run inside the backward pass, parameter by parameter
            self.current = BACKWARD if self._before_optimizer == BACKWARD else OTHER


class Threads:
    """Small numbers for threads: 0 is the one that records, 1 is usually autograd's."""

    def __init__(self) -> None:
        self._numbers = {threading.get_ident(): 0}

    def current(self) -> int:
        """Number of this thread."""
        identity = threading.get_ident()
        found = self._numbers.get(identity)
        if found is None:
            found = self._numbers[identity] = len(self._numbers)
        return found
