"""One rank of many, alone: process groups that exist, and collectives that take part in nothing.

A script written for `torchrun` is run unchanged. Its process group is torch's own "fake" one under the name the script
asked for, so meshes, DDP, FSDP and tensor parallelism set themselves up as they would among all ranks. A collective
returns at once; what it would have moved, and among which ranks, is noted.

Where a script lets ranks exchange objects or numbers on the CPU, every other rank is taken to say the same as this one.
"""

from __future__ import annotations

import contextlib
import os
import pickle
import sys
from collections.abc import Callable, Iterator
from typing import Any

import torch
import torch.distributed as dist

from .collectives import Collectives
from .disguises.patching import replaced
from .launches import Launches
from .ownership import GRADIENT, Ownership
from .recorder import Recorder

_core: Any = getattr(dist, "distributed_c10d", None)


@contextlib.contextmanager
def one_rank(recorder: Recorder, world_size: int, rank: int) -> Iterator[None]:
    """Process groups work, as rank `rank` of `world_size`."""
    if _core is None:
        yield
        return
    collectives = Collectives(recorder, Launches(recorder))
    names: dict[Any, str] = {}
    with contextlib.ExitStack() as stack:
        for namespace in ("c10d", "_c10d_functional", "_c10d_functional_autograd", "_dtensor"):
            recorder.elsewhere[namespace] = collectives.run
        stack.callback(recorder.elsewhere.clear)
        _everywhere(stack, "init_process_group", _initializing(recorder, names, world_size, rank))
        _everywhere(stack, "get_backend", _naming(names))
        stack.enter_context(replaced(_core, _new_process_group_helper=_making_groups(names)))
        if hasattr(_core, "_get_object_coll_device"):
            stack.enter_context(replaced(_core, _get_object_coll_device=lambda _group=None: "cpu"))
        if hasattr(_core, "_object_to_tensor"):
            stack.enter_context(replaced(_core, _object_to_tensor=_pickled))
        stack.enter_context(_ddp(recorder.ownership))
        yield


def _everywhere(stack: contextlib.ExitStack, name: str, instead: Callable[..., Any]) -> None:
    """Replace a function of `torch.distributed` wherever it was imported by name."""
    original = getattr(_core, name)
    for module in list(sys.modules.values()):
        owned = getattr(module, "__dict__", {}).get(name)
        if owned is original:
            stack.enter_context(replaced(module, **{name: instead}))


def _initializing(
    recorder: Recorder, names: dict[Any, str], world_size: int, rank: int
) -> Callable[..., None]:
    initialize = _core.init_process_group

    def init_process_group(backend: Any = None, *args: Any, **kwargs: Any) -> None:
        from torch.testing._internal.distributed.fake_pg import FakeStore

        positional = dict(zip(("init_method", "timeout", "world_size", "rank", "store"), args, strict=False))
        given = {**positional, **kwargs}
        ranks = world_size if world_size > 1 else max(1, _said(given.get("world_size"), "WORLD_SIZE"))
        mine = rank if world_size > 1 else max(0, _said(given.get("rank"), "RANK"))
        if ranks == 1:
            recorder.notes.add(
                "one-rank",
                "the process group was taken to have one rank; --world-size N traces one rank of N",
            )
        names[None] = str(backend or "nccl")
        initialize("fake", store=FakeStore(), rank=mine, world_size=ranks)
        if given.get("device_id") is not None and ranks > 1:  # NCCL connects now, not at the first collective
            recorder.groups.setdefault(tuple(range(ranks)))

    return init_process_group


def _said(value: Any, variable: str) -> int:
    """What the script passes, else what the launcher said."""
    if isinstance(value, int) and value >= 0:
        return value
    return int(os.environ.get(variable) or -1)


def _naming(names: dict[Any, str]) -> Callable[..., str]:
    """The backend a script asked for is the one it has."""

    def get_backend(group: Any = None) -> str:
        asked = names.get(group if group is None or group is not dist.group.WORLD else None)
        return str(dist.Backend(_of_gpu(asked or names.get(None) or "nccl")))

    return get_backend


def _of_gpu(asked: str) -> str:
    """`cpu:gloo,cuda:nccl` as the GPU's part of it."""
    parts = dict(part.split(":", 1) for part in asked.split(",") if ":" in part)
    return parts.get("cuda") or next(iter(parts.values()), asked)


def _making_groups(names: dict[Any, str]) -> Callable[..., Any]:
    make = _core._new_process_group_helper

    def make_group(size: int, rank: int, ranks: Any, backend: Any, *args: Any, **kwargs: Any) -> Any:
        kwargs.pop("backend_options", None)
        kwargs.pop("pg_options", None)
        kwargs.pop("device_id", None)
        made = make(size, rank, ranks, dist.Backend("fake"), *args, **kwargs)
        if str(backend) not in ("fake", "undefined"):
            names[made[0]] = str(backend)
        return made

    return make_group


def _pickled(thing: Any, _device: Any = None, *_group: Any) -> tuple[Any, Any]:
    """An object as bytes on the CPU, and their number: torch's own way goes through a storage, which would be fake."""
    data = pickle.dumps(thing)
    with torch._C._DisableTorchDispatch():
        return torch.frombuffer(bytearray(data), dtype=torch.uint8), torch.tensor(
            [len(data)], dtype=torch.long
        )


@contextlib.contextmanager
def _ddp(ownership: Ownership) -> Iterator[None]:
    """DDP compares its parameters' shapes among ranks, by reading them back: there is nobody to differ.

    Its reducer, written in C++, makes the buckets that gradients are sent in: with itself, and once more in the order
    in which gradients came, at the beginning of a forward pass.
    """
    from torch.nn.parallel import distributed

    reducer = dist.Reducer
    makers = {
        name: ownership.claiming(getattr(reducer, name), GRADIENT)
        for name in ("__init__", "_rebuild_buckets")
    }
    with (
        replaced(distributed, _verify_param_shape_across_processes=lambda *_args, **_kwargs: None),
        replaced(reducer, **makers),
    ):
        yield
