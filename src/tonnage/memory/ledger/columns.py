"""A piece of a template as columns, so that writing it for one more layer is a few additions over whole lists.

What differs between layers is where numbers begin: calls, the blocks of the own turn, the blocks of others. So every
event is kept as (origin, place): which beginning it counts from, and how far behind it lies.
"""

from __future__ import annotations

import msgspec

from tonnage.memory.ledger.turns import GATHERED, Code, Piece

CALLS, OWN = 0, 1
"""The first two origins: calls of this piece, blocks of this turn."""


class Columns(msgspec.Struct):
    """What of a piece is the same for every layer it is written for."""

    modules: list[Code]
    origins: list[Code] = msgspec.field(default_factory=list)
    """Turns whose blocks are freed here, behind `CALLS` and `OWN`: the sweep, and the layer where it is one's."""
    origin_of: list[int] = msgspec.field(default_factory=list)
    place_of: list[int] = msgspec.field(default_factory=list)
    calls: list[tuple[int, int, int, int]] = msgspec.field(default_factory=list)
    """Operation as the shallow run numbers it, phase, place among the modules, thread."""
    sizes: list[int] = msgspec.field(default_factory=list)
    categories: list[int] = msgspec.field(default_factory=list)
    labels: list[str | Code] = msgspec.field(default_factory=list)
    """A tuple holds the end of a name that begins with the own layer's."""
    block_modules: list[int] = msgspec.field(default_factory=list)
    block_calls: list[int] = msgspec.field(default_factory=list)
    left: dict[int, None] = msgspec.field(default_factory=dict)
    """Blocks made here and not freed here."""
    freed: list[tuple[int, int]] = msgspec.field(default_factory=list)
    """Blocks freed here that were not made here."""
    is_gathered: bool = False
    """Whether its first block is the one whose size is a sum over all layers."""


def columns_of(piece: Piece, sweep: int) -> Columns:
    """The columns of a piece of this sweep: worked out once, for however many layers and models it is written."""
    if piece.columns is None:
        piece.columns = _columns_of(piece, sweep)
    found: Columns = piece.columns
    return found


def _columns_of(piece: Piece, sweep: int) -> Columns:
    columns = Columns(list(piece.modules))
    module_at = {code: place for place, code in enumerate(piece.modules)}
    columns.calls = [
        (number, phase, module_at[module], thread) for number, phase, module, thread in piece.calls
    ]
    for size, category, label, module, call in piece.blocks:
        columns.sizes.append(size)
        columns.categories.append(category)
        columns.labels.append(label)
        columns.block_modules.append(module_at[module])
        columns.block_calls.append(call)
    columns.is_gathered = columns.labels[:1] == [GATHERED]
    origin_at: dict[Code, int] = {(sweep, "near", 0): OWN}
    for kind, code in zip(piece.kinds, piece.events, strict=True):
        if kind == "f":
            origin = origin_at.setdefault((code[0], *code[2:]), len(origin_at) + 1)
            place = code[1]
            if origin == OWN and place in columns.left:
                del columns.left[place]
            else:
                columns.freed.append((origin, place))
        else:
            origin, place = (OWN if kind == "a" else CALLS), code
            if kind == "a":
                columns.left[place] = None
        columns.origin_of.append(origin)
        columns.place_of.append(place)
    columns.origins = list(origin_at)[1:]
    return columns
