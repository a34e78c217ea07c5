"""The order in which backward runs, and what it lets go of when.

This follows PyTorch's engine where memory depends on it: the ready node made last runs first, gradients of
parameters are put away at once, a node's saved tensors are dropped when it has run, and two gradients for one
value are added in place where the first is owned by nobody else. Activation checkpointing is the non-reentrant
kind: nothing inside is saved, the first node that needs a saved tensor runs the forward again, and that run
stops as soon as the last saved tensor is back.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Sequence
from sys import getrefcount
from typing import TYPE_CHECKING

import msgspec

from tonnage.memory.ledger.tape import OUTSIDE, Part
from tonnage.memory.ledger.tensors import Shape, Tensor

if TYPE_CHECKING:
    from tonnage.memory.ledger.machine import Machine

Gradients = Sequence[Tensor | None]
Rule = Callable[[list[Tensor], list[Tensor | None], "Node"], Gradients]

FIRST = -(1 << 62)
"""Queue priority of parameter gradients: before every other node."""


class Node:
    """One backward step: what it saved, where its gradients go."""

    __slots__ = ("accumulates", "edges", "metas", "order", "outputs", "part", "rule", "saved", "slots")

    def __init__(
        self,
        order: int,
        edges: list[tuple[Node, int] | None],
        rule: Rule | None,
        outputs: int,
        part: Part = OUTSIDE,
    ) -> None:
        self.order = order
        self.part = part
        self.edges = edges
        self.rule = rule
        self.outputs = outputs
        self.saved: list[Tensor] | None = None
        self.slots: list[Slot] | None = None
        self.accumulates: Tensor | None = None
        self.metas: list[tuple[Shape, str]] = []

    def needs(self, index: int) -> bool:
        """Whether anybody wants the gradient of this input."""
        return self.edges[index] is not None


class StopRecomputation(Exception):  # noqa: N818 - a signal, not an error
    """Every saved tensor of the checkpointed part is back."""


class Frame(msgspec.Struct):
    """One checkpointed part: how to run it again, and the tensors that run gave back."""

    function: Callable[[], object]
    autocast: str | None = None
    packed: int = 0
    recomputed: list[Tensor | None] | None = None


class Slot:
    """The place of a saved tensor that was not saved."""

    __slots__ = ("frame", "index")

    def __init__(self, frame: Frame, index: int) -> None:
        self.frame = frame
        self.index = index

    def __del__(self) -> None:
        kept = self.frame.recomputed
        if kept is not None and self.index < len(kept):
            kept[self.index] = None


def track(
    machine: Machine,
    outputs: Sequence[Tensor],
    inputs: Sequence[Tensor | None],
    saved: Sequence[Tensor],
    rule: Rule,
) -> None:
    """Hang a node behind `outputs`, unless no input wants a gradient."""
    if not machine.grad_enabled:
        return
    edges: list[tuple[Node, int] | None] = []
    wanted = False
    for value in inputs:
        if value is None or not value.requires_grad:
            edges.append(None)
            continue
        wanted = True
        edges.append((_source(value), value.port))
    if not wanted:
        return
    machine.order += 1
    node = Node(-machine.order, edges, rule, len(outputs), machine.tape.part)
    node.metas = [((), "") if value is None else (value.shape, value.dtype) for value in inputs]
    machine.save(node, saved)
    for port, output in enumerate(outputs):
        output.node = node
        output.port = port


def _source(value: Tensor) -> Node:
    if value.node is not None:
        return value.node
    if value.accumulator is None:
        value.accumulator = Node(FIRST, [], None, 1)
        value.accumulator.accumulates = value
    return value.accumulator


def run_backward(machine: Machine, root: Node, gradient: Tensor) -> None:
    """Run every node that `root` depends on, last made first."""
    waiting = _dependencies(root)
    buffers: dict[Node, list[Tensor | None]] = {root: [gradient]}
    del gradient
    ready: list[tuple[int, int, Node]] = [(root.order, 0, root)]
    pushed = 1
    while ready:
        _, _, node = heapq.heappop(ready)
        if node.accumulates is None:
            machine.tape.turn_to(node.part)
        outputs = _run(machine, node, buffers)
        for index, edge in enumerate(node.edges):
            if edge is None:
                continue
            target, port = edge
            buffer = buffers.setdefault(target, [None] * target.outputs)
            gradient_now = outputs[index]
            outputs[index] = None
            if gradient_now is not None:
                buffer[port] = _accumulated(machine, buffer, port, gradient_now)
            del gradient_now, buffer
            waiting[target] -= 1
            if not waiting[target]:
                heapq.heappush(ready, (target.order, pushed, target))
                pushed += 1
        node.edges = []
    machine.tape.turn_to(OUTSIDE)


def _dependencies(root: Node) -> dict[Node, int]:
    counts: dict[Node, int] = {root: 0}
    stack = [root]
    while stack:
        for edge in stack.pop().edges:
            if edge is None:
                continue
            target = edge[0]
            if target in counts:
                counts[target] += 1
            else:
                counts[target] = 1
                stack.append(target)
    return counts


def _run(machine: Machine, node: Node, buffers: dict[Node, list[Tensor | None]]) -> list[Tensor | None]:
    gradients = buffers.pop(node)
    if node.accumulates is not None:
        machine.put_gradient(node.accumulates, gradients)
        return []
    assert node.rule is not None
    if all(gradient is None for gradient in gradients):
        node.saved = node.slots = None
        return [None] * len(node.edges)
    saved = machine.unpack(node)
    outputs = list(node.rule(saved, gradients, node))
    for index, edge in enumerate(node.edges):
        given = outputs[index]
        if edge is None or given is None:
            continue
        shape, dtype = node.metas[index]
        if given.shape != shape:
            given = machine.summed_to(given, shape)
        if given.dtype != dtype:
            given = machine.cast(given, dtype)
        outputs[index] = given
        del given
    del gradients
    saved.reverse()  # a list lets go of its last item first
    saved.clear()
    node.saved = node.slots = None
    node.rule = None
    return outputs


def _accumulated(machine: Machine, buffer: list[Tensor | None], port: int, new: Tensor) -> Tensor:
    old = buffer[port]
    if old is None:
        return new
    buffer[port] = None
    # Two references are the local name and getrefcount's own argument: nobody else holds the storage.
    if machine.adds_in_place and getrefcount(old.storage) <= 2 and getrefcount(old) <= 2:
        machine.call_in_place("aten.add_.Tensor", old, new)
        return old
    return machine.elementwise("aten.add.Tensor", old, new)
