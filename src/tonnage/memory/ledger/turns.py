"""Alike layers are run once: a deep model's micro-step, written down from that of a shallow one.

A model of eighty layers does the same eighty times, forward and backward. So the step is run on paper for a few
layers only, cut into *turns* (the events of one layer, or those between layers), and the turns of an inner layer are
written once for every layer the deep model has more. What is written is the very record that a full run would have
left; tests hold the two against each other over families, recipes and depths.

A turn can be written for another layer because nothing in it says which layer it is: blocks are named by the turn
that made them, relative to the own layer (or as the first or last layer's), modules and weights by the own layer's
name. Where that cannot be said, or inner layers turn out not to be alike, the model is run in full instead.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import msgspec

from tonnage.memory.ledger.tape import ARRIVAL, OUTSIDE, Part, Tape
from tonnage.memory.ledger.tensors import Tensor
from tonnage.memory.recipe import Recipe
from tonnage.memory.shapes.shape import ModelShape

INSIDE = 2
"""Periods of layers inside the shallow model, to compare; its ends come on top."""
GATHERED = "pipeline"
"""Label of the one block whose size is a sum over all layers."""

Code = tuple[Any, ...]


class NotAlikeError(Exception):
    """The layers cannot be written from one another."""


class MicroStep(msgspec.Struct):
    """Where one micro-step lies on a tape, and the gradients it left, by parameter."""

    start: int
    end: int = 0
    batch: int = 0
    """Blocks of the batch, made before all others."""
    gradients: dict[str, Tensor] = msgspec.field(default_factory=dict)


class Piece(msgspec.Struct):
    """Events without a gradient's arrival among them; `arrives` is what arrives behind them, in bytes."""

    kinds: list[str] = msgspec.field(default_factory=list)
    events: list[Any] = msgspec.field(default_factory=list)
    """A call's or new block's place in this turn; a freed block's code."""
    calls: list[Code] = msgspec.field(default_factory=list)
    blocks: list[Code] = msgspec.field(default_factory=list)
    modules: dict[Code, None] = msgspec.field(default_factory=dict)
    arrives: int = 0
    columns: Any = None
    """The same as columns, once it has been written for a layer (`ledger.columns`)."""


class Turn(msgspec.Struct, frozen=True):
    """The events of one layer in one sweep over its stack, or (layer -1) those between sweeps."""

    sweep: int
    stack: str
    layer: int
    pieces: list[Piece]


class Template(msgspec.Struct, frozen=True):
    """One micro-step as turns, and where each parameter's gradient lies behind it."""

    turns: list[Turn]
    gradients: dict[str, Code]
    """By the parameter's name in the shallow model."""
    names: list[str]
    """Modules of the shallow model, in the order in which they were entered."""
    depths: dict[str, int]
    period: int
    edge: int
    """Layers at each end that may be unlike those inside."""
    batch: int
    """Blocks of the batch, made before all others."""
    left: tuple[int, int, int]
    """Phase, module and thread in which it ends."""

    def source(self, stack: str, layer: int, depth: int) -> int:
        """The shallow model's layer that is like this one of a model with `depth` layers."""
        if layer < self.edge:
            return layer
        if layer >= depth - self.edge:
            return self.depths[stack] - (depth - layer)
        return self.edge + (layer - self.edge) % self.period


def period_of(shape: ModelShape, recipe: Recipe) -> int:
    """After how many layers the same kind of layer comes again."""
    windowed = shape.window_every if shape.window and shape.window_every > 1 else 1
    return math.lcm(windowed, 2 if recipe.checkpointing == "selective" else 1)


def shallow_depth(layers: int, period: int, edge: int) -> int:
    """Layers of the shallow model: its last ones stand where the deep model's stand in their period.

    `edge` layers at each end may be unlike those inside.
    """
    return 2 * edge + INSIDE * period + layers % period


def read_template(tape: Tape, step: MicroStep, period: int, edge: int) -> Template:
    """A micro-step of a shallow run as a template; raise NotAlikeError where it cannot be one."""
    depths: dict[str, int] = {}
    for name in tape.modules:
        stack, layer = layer_of(name)
        if layer >= 0:
            depths[stack] = max(depths.get(stack, 0), layer + 1)
    reader = _Reader(tape, step, period, edge, depths)
    turns, gradients = reader.turns(), reader.gradients()
    left = (tape.phase, tape.module, tape.thread)
    return Template(turns, gradients, list(tape.modules), depths, period, edge, step.batch, left)


def layer_of(name: str) -> Part:
    """The stack and number of a layer by its module's name; (name, -1) where it is none.

    >>> layer_of("layers.17"), layer_of("norm")
    (('layers', 17), ('norm', -1))
    """
    stack, _, number = name.rpartition(".")
    return (stack, int(number)) if stack and number.isdigit() else (name, -1)


class _Reader:
    """Cuts one micro-step of a shallow run into turns."""

    def __init__(self, tape: Tape, step: MicroStep, period: int, edge: int, depths: dict[str, int]) -> None:
        self.tape, self.step, self.period, self.edge, self.depths = tape, step, period, edge, depths
        self.modules = [layer_of(name) for name in tape.modules]
        self.made: dict[int, tuple[int, str, int, int]] = {}
        """By block: sweep, stack, layer and place in its turn."""
        self.stack, self.layer, self.sweep = "", -1, 0

    def turns(self) -> list[Turn]:
        """All turns in order."""
        found = []
        for sweep, (stack, layer), begin, end in self._runs():
            self.sweep, self.stack, self.layer = sweep, stack, layer
            found.append(Turn(sweep, stack, layer, list(self._pieces(begin, end))))
        self._compare(found)
        return found

    def gradients(self) -> dict[str, Code]:
        """Where each parameter's gradient lies; inner layers must agree."""
        found: dict[str, Code] = {}
        for name, gradient in self.step.gradients.items():
            self.stack, self.layer, _ = split_weight(name, self.depths)
            block = self._block(gradient.storage.block)
            found[name] = (block, gradient.shape, gradient.stride, gradient.dtype, gradient.label)
        for name, code in found.items():
            stack, layer, rest = split_weight(name, self.depths)
            if self._has_alike(stack, layer):
                other = found.get(f"{stack}.{layer + self.period}{rest}", ())
                if other[:4] != code[:4] or (code[4] == name) != (
                    other[4] == f"{stack}.{layer + self.period}{rest}"
                ):
                    raise NotAlikeError
        return found

    def _runs(self) -> Iterator[tuple[int, Part, int, int]]:
        """(sweep, layer, begin, end): each sweep goes once over all layers of a stack, up or down."""
        bounds = [(self.step.start, OUTSIDE)]
        bounds += [(at, part) for at, part in self.tape.turns if self.step.start <= at <= self.step.end]
        places = [*(at for at, _ in bounds), self.step.end]
        sweep, visited, before = 0, list[int](), ""
        for number, (begin, part) in enumerate(bounds):
            stack, layer = part
            if stack != before or len(visited) == self.depths.get(stack, -1):
                self._check_sweep(before, visited)
                sweep, visited = sweep + 1, []
            visited.append(layer)
            before = stack
            yield sweep, part, begin, places[number + 1]
        self._check_sweep(before, visited)

    def _check_sweep(self, stack: str, visited: list[int]) -> None:
        every = list(range(self.depths.get(stack, 0)))
        if stack and visited not in (every, every[::-1]):
            raise NotAlikeError

    def _pieces(self, begin: int, end: int) -> Iterator[Piece]:
        tape, piece, blocks = self.tape, Piece(), 0
        calls: dict[int, int] = {}
        for kind, argument in zip(tape.kinds[begin:end], tape.arguments[begin:end], strict=True):
            code: Any
            if kind == ARRIVAL:
                piece.arrives = argument
                yield piece
                piece, calls = Piece(), {}
                continue
            if kind == "c":
                calls[argument] = len(piece.calls)
                operation, phase, module, thread = tape.calls[argument]
                piece.calls.append((operation, phase, self._module(module, piece), thread))
                code = calls[argument]
            elif kind == "e":
                code = calls[argument]
            elif kind == "a":
                if (
                    tape.labels[argument] == GATHERED
                ):  # its size is summed when it is written: nothing before it waits
                    yield piece
                    piece, calls = Piece(), {}
                self.made[argument] = (self.sweep, self.stack, self.layer, blocks)
                piece.blocks.append(self._made(argument, calls, piece))
                code = blocks
                blocks += 1
            elif kind == "f":
                code = self._block(argument)
            else:
                raise NotAlikeError
            piece.kinds.append(kind)
            piece.events.append(code)
        yield piece

    def _made(self, block: int, calls: dict[int, int], piece: Piece) -> Code:
        """Size, category, label, module and call of a block."""
        tape = self.tape
        call = tape.block_calls[block]
        label: str | Code = tape.labels[block]
        stack, layer, rest = split_weight(tape.labels[block], self.depths)
        if stack:
            if (stack, layer) != (self.stack, self.layer):
                raise NotAlikeError
            label = (rest,)
        module = self._module(tape.block_modules[block], piece)
        return tape.sizes[block], tape.categories[block], label, module, calls.get(call, -1)

    def _module(self, module: int, piece: Piece) -> Code:
        stack, layer = self.modules[module]
        code = (module,) if layer < 0 else self._relative(stack, layer)
        piece.modules[code] = None
        return code

    def _block(self, block: int) -> Code:
        """A block as the one so manieth of a turn: of this layer or a near one, of the first or last, or of none."""
        if block not in self.made:
            raise NotAlikeError
        sweep, stack, layer, place = self.made[block]
        if layer < 0:
            return sweep, place
        return sweep, place, *self._relative(stack, layer)

    def _relative(self, stack: str, layer: int) -> Code:
        away = layer - self.layer
        if stack == self.stack and abs(away) <= self.period:
            return "near", away
        if layer < self.edge:
            return "first", stack, layer
        if layer >= self.depths[stack] - self.edge:
            return "last", stack, self.depths[stack] - layer
        raise NotAlikeError

    def _has_alike(self, stack: str, layer: int) -> bool:
        """Whether this layer and the next of its kind are both inside."""
        return bool(stack) and self.edge <= layer < self.depths[stack] - self.edge - self.period

    def _compare(self, turns: list[Turn]) -> None:
        by_place = {(turn.sweep, turn.layer): turn for turn in turns if turn.stack}
        for (sweep, layer), turn in by_place.items():
            if self._has_alike(turn.stack, layer):
                following = by_place[sweep, layer + self.period]
                if turn.pieces != following.pieces:
                    raise NotAlikeError


def split_weight(name: str, depths: dict[str, int]) -> tuple[str, int, str]:
    """A weight's stack, layer and the rest of its name; ("", -1, name) for one that no layer owns."""
    for stack in depths:
        if name.startswith(stack + "."):
            number, dot, rest = name[len(stack) + 1 :].partition(".")
            if number.isdigit():
                return stack, int(number), dot + rest
    return "", -1, name
