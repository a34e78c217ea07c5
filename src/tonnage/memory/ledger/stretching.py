"""A deep model's micro-step, written from the turns of a shallow one's.

The first and the last layers are the shallow model's own; every layer between is written from the inner one that
stands at the same place of its period. Numbers are given out as a full run would have given them: calls, blocks,
operations and modules in the order in which they come.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import groupby

from tonnage.memory.ledger.columns import columns_of
from tonnage.memory.ledger.machine import Machine
from tonnage.memory.ledger.tape import Tape
from tonnage.memory.ledger.tensors import Storage, Tensor
from tonnage.memory.ledger.turns import Code, Piece, Template, Turn, layer_of, split_weight

OperationKey = tuple[object, ...]


class Stretch:
    """Writes the micro-steps of one deep run."""

    def __init__(self, machine: Machine, shallow: Tape, depths: dict[str, int]) -> None:
        self.machine, self.tape, self.depths = machine, machine.tape, depths
        self.keys: list[OperationKey] = list(shallow.operations)
        self.values = shallow.operation_values
        self.operations: dict[int, int] = {}
        """Numbers of the shallow run's operations here."""
        self.bases: dict[tuple[int, int], int] = {}
        """The first block of every turn by sweep and layer."""
        self.layer, self.stack, self.sweep = -1, "", 0

    def write(self, template: Template, gathered: Callable[[], int]) -> None:
        """One micro-step; `gathered` tells the size of the block that sums over all layers."""
        self._enter_modules(template.names)
        self.names = template.names
        self.bases = {}
        for turn, layer in self._turns(template):
            self.sweep, self.stack, self.layer = turn.sweep, turn.stack, layer
            self.bases[turn.sweep, layer] = len(self.tape.sizes)
            for piece in turn.pieces:
                self._write(piece, gathered)
        phase, module, thread = template.left
        self.tape.phase, self.tape.thread = phase, thread
        self.tape.module = self.tape.modules[template.names[module]]

    def hand_gradients(self, template: Template, parameters: dict[str, Tensor]) -> None:
        """Parameters hold the gradients that the micro-step left."""
        storages: dict[int, Storage] = {}
        for name, parameter in parameters.items():
            self.stack, self.layer, rest = split_weight(name, self.depths)
            source = name
            if self.stack:
                like = template.source(self.stack, self.layer, self.depths[self.stack])
                source = f"{self.stack}.{like}{rest}"
            found = template.gradients.get(source)
            if found is None or parameter.grad is not None:
                continue
            code, shape, stride, dtype, label = found
            block = self._block(code)
            if block not in storages:
                storages[block] = Storage.of(self.machine, block)
            if label == source:
                label = name
            parameter.grad = Tensor(storages[block], shape, stride, dtype, label)

    def _enter_modules(self, names: list[str]) -> None:
        modules = self.tape.modules
        for name in names:
            stack, layer = layer_of(name)
            every = [f"{stack}.{number}" for number in range(self.depths[stack])] if layer == 0 else [name]
            for one in every if layer <= 0 else ():
                modules.setdefault(one, len(modules))

    def _turns(self, template: Template) -> Iterator[tuple[Turn, int]]:
        for _, group in groupby(template.turns, key=lambda turn: turn.sweep):
            turns = list(group)
            stack = turns[0].stack
            if not stack:
                yield from ((turn, -1) for turn in turns)
                continue
            by_layer = {turn.layer: turn for turn in turns}
            depth = self.depths[stack]
            order = range(depth) if turns[0].layer == 0 else range(depth - 1, -1, -1)
            for layer in order:
                yield by_layer[template.source(stack, layer, depth)], layer

    def _write(self, piece: Piece, gathered: Callable[[], int]) -> None:
        tape, columns, operation = self.tape, columns_of(piece, self.sweep), self._operation
        block_base, call_base = self.bases[self.sweep, self.layer], len(tape.calls)
        modules = [self._module(code) for code in columns.modules]
        bases = [call_base, block_base, *(self._base(code) for code in columns.origins)]
        tape.sizes += [gathered(), *columns.sizes[1:]] if columns.is_gathered else columns.sizes
        tape.categories += columns.categories
        prefix = f"{self.stack}.{self.layer}"
        tape.labels += [prefix + label[0] if isinstance(label, tuple) else label for label in columns.labels]
        tape.block_modules += [modules[place] for place in columns.block_modules]
        tape.block_calls += [call_base + call if call >= 0 else -1 for call in columns.block_calls]
        tape.calls += [
            (operation(number), phase, modules[place], thread)
            for number, phase, place, thread in columns.calls
        ]
        tape.kinds += piece.kinds
        tape.arguments += [
            bases[origin] + place for origin, place in zip(columns.origin_of, columns.place_of, strict=True)
        ]
        for place in columns.left:
            tape.alive[block_base + place] = None
        for origin, place in columns.freed:
            del tape.alive[bases[origin] + place]
        if piece.arrives:
            _, tape.phase, tape.module, tape.thread = tape.calls[-1]
            self.machine.gradient_arrives(piece.arrives)

    def _base(self, code: Code) -> int:
        """The first block of another turn: of no layer, or of one named relative to this."""
        return self.bases[code[0], self._layer(code[1:])[0] if len(code) > 1 else -1]

    def _operation(self, number: int) -> int:
        found = self.operations.get(number)
        if found is None:
            tape, key = self.tape, self.keys[number]
            found = tape.operations.get(key)
            if found is None:
                found = tape.operations[key] = len(tape.operation_values)
                tape.operation_values.append(self.values[number])
            self.operations[number] = found
        return found

    def _module(self, code: Code) -> int:
        if len(code) == 1:
            name = self.names[code[0]]
        else:
            layer, stack = self._layer(code)
            name = f"{stack}.{layer}"
        return self.tape.modules[name]

    def _block(self, code: Code) -> int:
        sweep, place = code[:2]
        layer = self._layer(code[2:])[0] if len(code) > 2 else -1
        return self.bases[sweep, layer] + int(place)

    def _layer(self, code: Code) -> tuple[int, str]:
        match code:
            case ("near", away):
                return self.layer + away, self.stack
            case ("first", stack, layer):
                return layer, stack
            case ("last", stack, before_end):
                return self.depths[stack] - before_end, stack
        raise AssertionError(code)
