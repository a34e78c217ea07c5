"""What every family's program gets: the machine, the model's dimensions, and its weights by name."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import msgspec

from tonnage.memory.ledger.machine import Machine
from tonnage.memory.ledger.operators.elementwise import add, dropout, gelu, gelu_new, relu, silu
from tonnage.memory.ledger.operators.products import linear
from tonnage.memory.ledger.tensors import BYTES, Shape, Tensor
from tonnage.memory.shapes.shape import ModelShape

Weights = Iterator[tuple[str, Shape]]

ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {
    "silu": silu,
    "swish": silu,
    "gelu": gelu,
    "gelu_pytorch_tanh": gelu,
    "gelu_new": gelu_new,
    "gelu_fast": gelu_new,
    "relu": relu,
}


class Program(msgspec.Struct):
    """A model that can be run forward on paper."""

    machine: Machine
    shape: ModelShape
    attention: str
    checkpointing: str
    weights: dict[str, Tensor] = msgspec.field(default_factory=dict)
    tensor: int = 1
    """Tensor-parallel ranks that share each block."""
    gathers: int = 0
    """Bytes of a weight that must be gathered from other ranks before use; 0 where each rank has all."""

    def weight(self, name: str) -> Tensor:
        return self.weights[name]

    def maybe(self, name: str) -> Tensor | None:
        return self.weights.get(name)

    def dropped(self, x: Tensor, rate: float | None = None) -> Tensor:
        """Dropout at the model's rate."""
        return dropout(x, self.shape.dropout if rate is None else rate)

    def block(self, name: str, function: Callable[[Tensor], Tensor], x: Tensor) -> Tensor:
        """Run one block of the model, checkpointed where asked."""
        stack, _, number = name.rpartition(".")
        self.machine.tape.enter(name, (stack, int(number)))
        self._talk(name, x)
        if self.checkpointing == "full" or (self.checkpointing == "selective" and _is_even(name)):
            return self.machine.checkpoint(lambda: function(x))
        return function(x)

    def _talk(self, name: str, x: Tensor) -> None:
        """Collectives of one block: weights gathered twice, and its two sums over tensor-parallel ranks, both ways."""
        if self.gathers:
            start = f"{name}."
            held = sum(w.numel for at, w in self.weights.items() if at.startswith(start))
            for _ in range(2):
                self.machine.communicate("allgather_", held * self.gathers)
        if self.tensor > 1:
            for _ in range(4):
                self.machine.communicate("allreduce_", x.numel * BYTES[x.dtype], waits=True)

    def projected(self, x: Tensor, name: str, label: str) -> Tensor:
        """An attention projection with its LoRA adapter, where there is one: w(x) + b(a(x))."""
        out = linear(x, self.weight(name), self.maybe(f"{name}.bias"), label)
        return self.adapted(out, x, name, label)

    def adapted(self, out: Tensor, x: Tensor, name: str, label: str) -> Tensor:
        """A projection's result with its adapter's added."""
        first = self.maybe(f"{name}.lora_a")
        if first is None:
            return out
        low = linear(x, first, None, "r")
        return add(out, linear(low, self.weight(f"{name}.lora_b"), None, label))

    def activate(self, x: Tensor) -> Tensor:
        return ACTIVATIONS[self.shape.activation](x)


def _is_even(name: str) -> bool:
    """Selective checkpointing takes every second block, from the first."""
    return int(name.rsplit(".", 1)[-1]) % 2 == 0
