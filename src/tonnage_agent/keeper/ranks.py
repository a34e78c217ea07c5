"""How the processes of one training agree: what each knows becomes what all know.

One process needs no agreement. Several do wherever all of them take part in a save (FSDP, DeepSpeed, the Hugging
Face Trainer): a save that only some begin is a deadlock. torch's own process group is used where the script has
made one; another framework can hand in anything with these four methods.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from typing import Any, Protocol


class Ranks(Protocol):
    """The processes of one training. Every call but the properties is made by all of them, in the same order."""

    @property
    def rank(self) -> int: ...

    @property
    def world(self) -> int: ...

    @property
    def can_agree(self) -> bool:
        """Whether the two calls below work between these processes."""

    def largest(self, values: Sequence[float]) -> list[float]:
        """The largest of each value over all processes."""

    def gather(self, value: Any) -> list[Any]:
        """What every process said, in order of rank: JSON values."""


class Alone:
    """One process; or one of several that cannot talk, of which only rank 0 saves."""

    def __init__(self, rank: int = 0, world: int = 1) -> None:
        self.rank = rank
        self.world = world

    @property
    def can_agree(self) -> bool:
        return self.world == 1

    def largest(self, values: Sequence[float]) -> list[float]:
        return list(values)

    def gather(self, value: Any) -> list[Any]:
        return [value]


class TorchRanks:
    """The default process group of torch.distributed, by a gloo group beside it: no GPU is ever waited for."""

    def __init__(self, distributed: Any) -> None:
        self._distributed = distributed
        self._group: Any = None
        self.rank = int(distributed.get_rank())
        self.world = int(distributed.get_world_size())

    can_agree = True

    def largest(self, values: Sequence[float]) -> list[float]:
        import torch

        told = torch.tensor(list(values), dtype=torch.float64)
        self._distributed.all_reduce(told, op=self._distributed.ReduceOp.MAX, group=self._gloo())
        return [float(value) for value in told.tolist()]

    def gather(self, value: Any) -> list[Any]:
        told: list[Any] = [None] * self.world
        self._distributed.all_gather_object(told, json.dumps(value), group=self._gloo())
        return [json.loads(each) for each in told]

    def _gloo(self) -> Any:
        """Made at the first agreement, which all ranks reach together."""
        if self._group is None:
            self._group = self._distributed.new_group(backend="gloo")
        return self._group


def find_ranks(rank: int, world: int) -> Ranks:
    """torch's process group if the script has made one; else what the launcher's variables say."""
    torch = sys.modules.get("torch.distributed")
    if torch is not None and torch.is_available() and torch.is_initialized():
        return TorchRanks(torch) if torch.get_world_size() > 1 else Alone()
    return Alone(rank, world)
