"""What every family's program gets: the machine, the model's dimensions, and its weights by name."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from tonnage.memory.ledger.machine import Machine
from tonnage.memory.ledger.operators.elementwise import dropout, gelu, gelu_new, relu, silu
from tonnage.memory.ledger.tensors import Shape, Tensor
from tonnage.memory.shapes.shape import ModelShape

Weights = Iterator[tuple[str, Shape]]

ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {
    "silu": silu,
    "gelu": gelu,
    "gelu_pytorch_tanh": gelu,
    "gelu_new": gelu_new,
    "relu": relu,
}


@dataclass
class Program:
    """A model that can be run forward on paper."""

    machine: Machine
    shape: ModelShape
    attention: str
    checkpointing: str
    weights: dict[str, Tensor] = field(default_factory=dict)
    tensor: int = 1
    """Tensor-parallel ranks that share each block."""

    def weight(self, name: str) -> Tensor:
        return self.weights[name]

    def maybe(self, name: str) -> Tensor | None:
        return self.weights.get(name)

    def dropped(self, x: Tensor, rate: float | None = None) -> Tensor:
        """Dropout at the model's rate."""
        return dropout(x, self.shape.dropout if rate is None else rate)

    def block(self, name: str, function: Callable[[Tensor], Tensor], x: Tensor) -> Tensor:
        """Run one block of the model, checkpointed where asked."""
        self.machine.tape.enter(name)
        if self.checkpointing == "full":
            return self.machine.checkpoint(lambda: function(x))
        return function(x)

    def activate(self, x: Tensor) -> Tensor:
        return ACTIVATIONS[self.shape.activation](x)
