"""What each block of memory turned out to be, decided by who holds it.

A storage is a parameter because a module or an optimizer holds it as one, a gradient because it hangs on a
parameter or is a bucket in which DDP sends gradients, optimizer state because the optimizer keeps it. What the forward
pass made and is still there when the backward pass begins was kept for it: an activation. What the step fetched or
made before the model was called is input. The rest came and went.

Modules and optimizers are found among the objects made since recording began (the garbage collector knows them
all), because a copied or loaded model announces itself to nobody.
"""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import torch
from torch import nn
from torch.nn.parameter import is_lazy

from .blocks import Blocks
from .phases import BACKWARD, BUILD, FORWARD

CATEGORIES = (
    "parameter", "buffer", "gradient", "optimizer", "activation", "input", "temporary", "workspace", "other",
)  # fmt: skip
PARAMETER, BUFFER, GRADIENT, OPTIMIZER_STATE, ACTIVATION, INPUT, TEMPORARY, WORKSPACE, OTHER = range(9)


class Ownership:
    """Categories of blocks, filled in while they live."""

    def __init__(self, blocks: Blocks) -> None:
        self._blocks = blocks
        self._decided: dict[int, int] = {}
        self._modules: list[Any] = []
        self._optimizers: list[Any] = []
        self._forward_since = 0
        self._input_since: int | None = None
        self._recompute_since: int | None = None

    def decide(self, block: int, category: int) -> None:
        """Settle what a block is; the first owner counts."""
        if block >= 0:
            self._decided.setdefault(block, category)

    def decide_tensors(self, tensors: Iterable[Any], category: int) -> None:
        """Settle what the blocks of tensors are."""
        for tensor in tensors:
            if isinstance(tensor, torch.Tensor) and not is_lazy(tensor):
                for plain in _plain_tensors(tensor):
                    self.decide(self._blocks.of(plain), category)

    def find_owners(self) -> None:
        """Look for new modules and optimizers (the caller freezes those found), and claim what all hold."""
        for thing in gc.get_objects():
            kind = type(thing)
            if issubclass(kind, nn.Module):
                self._modules.append(weakref.ref(thing))
            elif issubclass(kind, torch.optim.Optimizer):
                self._optimizers.append(weakref.ref(thing))
        self.claim_parameters()
        for optimizer in _alive(self._optimizers):
            self.claim_state(optimizer)

    def claim_parameters(self) -> None:
        """Claim parameters, buffers and gradients of all known modules and optimizers."""
        for module in _alive(self._modules):
            self.decide_tensors(module._parameters.values(), PARAMETER)
            self.decide_tensors(module._buffers.values(), BUFFER)
        for optimizer in _alive(self._optimizers):
            self.decide_tensors(_parameters_of(optimizer), PARAMETER)
        self.claim_gradients()

    def claim_gradients(self) -> None:
        """Claim what hangs on parameters as their gradient."""
        for module in _alive(self._modules):
            self.decide_tensors(
                [each.grad for each in module._parameters.values() if each is not None], GRADIENT
            )
        for optimizer in _alive(self._optimizers):
            self.decide_tensors([each.grad for each in _parameters_of(optimizer)], GRADIENT)

    def claim_state(self, optimizer: Any) -> None:
        """Claim an optimizer's state, and the gradients it worked on."""
        self.decide_tensors([each.grad for each in _parameters_of(optimizer)], GRADIENT)
        for state in optimizer.state.values():
            if isinstance(state, dict):
                self.decide_tensors(state.values(), OPTIMIZER_STATE)

    def claiming(self, call: Callable[..., Any], category: int) -> Callable[..., Any]:
        """A function as it is, but that what it makes and leaves behind is of this category."""

        def called(*args: Any, **kwargs: Any) -> Any:
            first = len(self._blocks.sizes)
            answer = call(*args, **kwargs)
            for block in self._made_since(first):
                self.decide(block, category)
            return answer

        return called

    def begin_step(self) -> None:
        """What is made from here to the first module call is input."""
        self._input_since = len(self._blocks.sizes)

    def module_called(self, args: Any, kwargs: Any, phase: int) -> None:
        """A module is called from outside all modules."""
        if phase == BACKWARD:
            self._recompute_since = len(self._blocks.sizes)
            return
        if phase == BUILD:
            return
        self.decide_tensors([*args, *kwargs.values()], INPUT)
        if self._input_since is not None:
            for block in self._made_since(self._input_since):
                self.decide(block, INPUT)
            self._input_since = None

    def module_left(self, phase: int) -> None:
        """A call from outside has ended; inside a backward pass it recomputed activations."""
        if phase == BACKWARD and self._recompute_since is not None:
            for block in self._made_since(self._recompute_since):
                self.decide(block, ACTIVATION)
            self._recompute_since = None

    def before_backward(self) -> None:
        """What the forward pass made and is still here was kept for the backward pass, but for gathered parameters."""
        self.claim_parameters()
        for block in self._made_since(self._forward_since):
            if self._blocks.phases[block] == FORWARD:
                self.decide(block, ACTIVATION)

    def after_backward(self) -> None:
        """The next forward pass begins here, and its input with it."""
        self.claim_gradients()
        self._forward_since = self._input_since = len(self._blocks.sizes)

    def categories(self) -> list[int]:
        """The category of every block; what nobody ever owned came and went, or is somebody's business."""
        alive = set(self._blocks.live_blocks())
        return [
            self._decided.get(block, OTHER if block in alive else TEMPORARY)
            for block in range(len(self._blocks.sizes))
        ]

    def _made_since(self, first: int) -> list[int]:
        return [block for block in self._blocks.live_blocks() if block >= first]


def _alive(references: Iterable[Any]) -> Iterator[Any]:
    for reference in references:
        thing = reference()
        if thing is not None:
            yield thing


def _parameters_of(optimizer: Any) -> list[Any]:
    return [parameter for group in optimizer.param_groups for parameter in group["params"]]


def _plain_tensors(tensor: torch.Tensor) -> Iterator[torch.Tensor]:
    """The tensors with storages that make up a tensor: itself, or the parts of a wrapper (DTensor, quantised)."""
    flatten = getattr(tensor, "__tensor_flatten__", None)
    if flatten is None:
        if tensor.layout == torch.strided:
            yield tensor
        return
    for name in flatten()[0]:
        inner = getattr(tensor, name)
        if isinstance(inner, torch.Tensor):
            yield from _plain_tensors(inner)
