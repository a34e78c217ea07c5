"""For a plain torch loop: everything that makes its next step what it would have been.

    batches = sdk.Batches(loader, seed=7)
    state = sdk.TorchState(model=model, optimizer=optimizer, batches=batches)
    run.resume(state.load)
    for step in run.steps(1000, save=state.write):
        inputs, targets = next(batches)

Weights, optimizer, schedule, scaler, the place in the data, and all random generators. With several ranks give
`sharded=True` to `steps`: rank 0 writes what is the same everywhere, every rank its own generators and place.
FSDP and other sharded models are saved by `torch.distributed.checkpoint` instead (docs/sdk.md shows how).
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

from tonnage_agent.keeper.ranks import find_ranks
from tonnage_agent.sdk.randomness import random_state, set_random_state

_SHARED = "state.pt"
_OWN = ("batches", "loader", "sampler")
"""Parts that differ between ranks, by the names people give them."""


class TorchState:
    """Named parts, each with `state_dict` and `load_state_dict`; given to `resume` and `steps`."""

    def __init__(self, **parts: Any) -> None:
        for name, part in parts.items():
            if not (hasattr(part, "state_dict") and hasattr(part, "load_state_dict")):
                raise TypeError(f"{name} ({type(part).__name__}) has no state_dict and load_state_dict")
        self._parts = {name: _unwrapped(part) for name, part in parts.items()}

    def write(self, folder: Path) -> None:
        """Write all of it into the folder."""
        import torch

        rank = find_ranks(0, 1).rank
        if rank == 0:
            shared = {name: part.state_dict() for name, part in self._parts.items() if name not in _OWN}
            torch.save(shared, folder / _SHARED)
        own = {name: part.state_dict() for name, part in self._parts.items() if name in _OWN}
        torch.save({"random": random_state(), **own}, folder / _of_rank(rank))

    def load(self, folder: Path) -> None:
        """Put everything back in place; the generators last, for loading itself may draw from them."""
        import torch

        shared = torch.load(folder / _SHARED, map_location="cpu", weights_only=False)
        missing = sorted(name for name in self._parts if name not in _OWN and name not in shared)
        if missing:
            raise KeyError(
                f"the checkpoint holds no {', '.join(missing)}; it holds {', '.join(sorted(shared))}"
            )
        own_file = folder / _of_rank(find_ranks(0, 1).rank)
        own = torch.load(own_file, map_location="cpu", weights_only=False) if own_file.exists() else {}
        for name, part in self._parts.items():
            if name in shared or name in own:
                part.load_state_dict(shared[name] if name in shared else own[name])
        set_random_state(own.get("random", {}))


class Batches:
    """Batches without end from a DataLoader, in an order that depends on seed and epoch alone, so that it can be
    taken up in the middle of an epoch: batches already seen are drawn again and passed over.
    """

    def __init__(self, loader: Any, seed: int = 0) -> None:
        self._loader = loader
        self._seed = seed
        self._epoch = 0
        self._index = 0
        self._iterator: Iterator[Any] | None = None
        self._generator = _own_generator(loader)

    def __len__(self) -> int:
        """Batches of one epoch; who knows the length (Lightning) does not fetch ahead, and the place stays exact."""
        return len(self._loader)

    def __iter__(self) -> Batches:
        return self

    def __next__(self) -> Any:
        if self._iterator is None:
            self._iterator = self._begun()
        try:
            batch = next(self._iterator)
        except StopIteration:
            if self._index == 0:
                raise RuntimeError("the loader has no batches") from None
            self._epoch, self._index = self._epoch + 1, 0
            self._iterator = self._begun()
            batch = next(self._iterator)
        self._index += 1
        return batch

    @property
    def epoch(self) -> int:
        return self._epoch

    def state_dict(self) -> dict[str, int]:
        return {"epoch": self._epoch, "index": self._index, "seed": self._seed}

    def load_state_dict(self, state: dict[str, int]) -> None:
        self._epoch, self._index, self._seed = state["epoch"], state["index"], state["seed"]
        self._iterator = None

    def _begun(self) -> Iterator[Any]:
        """The epoch's batches from where we stand."""
        self._generator.manual_seed(self._seed + self._epoch)
        sampler = getattr(self._loader, "sampler", object())
        if hasattr(sampler, "set_epoch"):
            sampler.set_epoch(self._epoch)
        return islice(iter(self._loader), self._index, None)


def _own_generator(loader: Any) -> Any:
    """A generator that only this loader draws from."""
    import torch

    generator = torch.Generator()
    loader.generator = generator
    sampler = getattr(loader, "sampler", object())
    if hasattr(sampler, "generator"):
        sampler.generator = generator
    return generator


def _unwrapped(part: Any) -> Any:
    """The model inside DistributedDataParallel: its checkpoint then fits one GPU as well as many."""
    return part.module if type(part).__name__ == "DistributedDataParallel" else part


def _of_rank(rank: int) -> str:
    return f"rank-{rank}.pt"
