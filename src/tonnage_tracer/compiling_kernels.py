"""Compiled kernels that are never compiled: each launch says what it would have read and written.

Inductor hands over the source of a Triton kernel and later launches it with its tensors. Compiling it would take
seconds and a driver; all that is wanted of it stands in its source: which arguments it reads and writes, how many
bytes move, and between how many configurations it would choose. Where there is more than one, the first launch on a
real device times them all, and the memory that takes is part of the first step: a buffer as large as the second-level
cache, and a copy of every argument the kernel changes (unless that would raise the peak).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import Any, NamedTuple, Protocol

import torch

BYTES_MARK = "# bytes moved: "
"""Line that carries Inductor's own count of a kernel's traffic from its code generator to us."""

_KIND = re.compile(r"@triton_heuristics\.(\w+)\(")
_PREAMBLE = (
    "from torch._inductor.runtime import triton_heuristics\n"
    "from torch._inductor.runtime.hints import *\n"
    "from torch._inductor.runtime.triton_heuristics import *\n"
)


class Launches(Protocol):
    """Who wants to know of launches."""

    def launched(
        self,
        name: str,
        inputs: Sequence[torch.Tensor],
        outputs: Sequence[torch.Tensor],
        scalars: dict[str, object],
    ) -> None:
        """A kernel that torch's dispatcher does not see has run."""

    def compiling(self) -> AbstractContextManager[None]:
        """What is taken inside is taken only while kernels are chosen."""


class Choice(NamedTuple):
    """Configurations a kernel would be timed in, and the arguments it changes."""

    num_configurations: int
    changed: tuple[str, ...]


class Kernel:
    """Stands in for a compiled Triton kernel."""

    def __init__(self, launches: Launches, name: str, source: str) -> None:
        self._launches = launches
        self._arguments = argument_names(name, source)
        self._choice = _choice(source)
        found = _KIND.search(source)
        self._operation = f"inductor.{found.group(1) if found else 'kernel'}"
        self._scalars: dict[str, object] = {"kernel": name}
        moved = _bytes_moved(source)
        if moved is not None:
            self._scalars["bytes"] = moved
        self._is_chosen = self._choice.num_configurations < 2

    def run(self, *args: Any, stream: Any = None, **kwargs: Any) -> None:
        """Launch: note what it reads and writes."""
        del stream
        tensors = [
            (name, value)
            for name, value in [*zip(self._arguments, args, strict=False), *kwargs.items()]
            if isinstance(value, torch.Tensor)
        ]
        if not self._is_chosen:
            self._is_chosen = True
            with self._launches.compiling():
                _time_configurations(tensors, self._choice.changed)
        reads = [tensor for name, tensor in tensors if not name.startswith("out_ptr")]
        writes = [tensor for name, tensor in tensors if self._is_written(name)]
        self._launches.launched(self._operation, reads, writes, self._scalars)

    def _is_written(self, name: str) -> bool:
        return name.startswith(("out_ptr", "in_out_ptr")) or name in self._choice.changed


def host_kernel(*_args: Any, **_kwargs: Any) -> None:
    """Stands in for a kernel compiled for the CPU: its results are nobody's business here."""


def argument_names(name: str, source: str) -> tuple[str, ...]:
    """Arguments of a kernel in the order they are given at launch."""
    found = re.search(rf"^def {re.escape(name)}\((.*?)\):\s*$", source, re.MULTILINE | re.DOTALL)
    if found is None:
        found = re.search(r"^@triton\.jit\ndef \w+\((.*?)\):\s*$", source, re.MULTILINE | re.DOTALL)
    if found is None:
        return ()
    return tuple(part.partition(":")[0].strip() for part in found.group(1).split(","))


def _bytes_moved(source: str) -> int | None:
    found = re.search(rf"^{BYTES_MARK}(\d+)", source, re.MULTILINE)
    return int(found.group(1)) if found else None


def _choice(source: str) -> Choice:
    """Ask torch's own heuristics, by running the decorator of the source over an empty kernel."""
    begin = source.find("@triton_heuristics.")
    end = source.find("@triton.jit", begin)
    if begin < 0 or end < 0:
        return Choice(1, ())
    scope: dict[str, Any] = {"__file__": "kernel.py"}
    text = f"{_PREAMBLE}import torch\n{source[begin:end]}def kernel():\n    pass\n"
    try:
        exec(text, scope)
    except Exception:
        return Choice(1, ())
    made = scope["kernel"]
    return made if isinstance(made, Choice) else Choice(1, ())


def choice_instead_of_autotuner(
    size_hints: Any, configs: Sequence[Any], triton_meta: dict[str, Any], *_args: Any, **kwargs: Any
) -> Any:
    """Stands in for `triton_heuristics.cached_autotune`: keeps what it would have chosen from."""
    del size_hints
    meta = kwargs.get("inductor_meta") or {}
    distinct = {(tuple(sorted(each.kwargs.items())), each.num_warps, each.num_stages) for each in configs}
    changed = (*meta.get("mutated_arg_names", ()), *triton_meta.get("restore_value", ()))
    return lambda _kernel: Choice(len(distinct), changed)


def _time_configurations(tensors: Sequence[tuple[str, torch.Tensor]], changed: Sequence[str]) -> None:
    """Memory that comes and goes while a kernel's configurations are timed."""
    cache_bytes = torch.cuda.get_device_properties(0).L2_cache_size
    spare = torch.cuda.max_memory_allocated() - torch.cuda.memory_allocated()
    flush = torch.empty(cache_bytes // 4, dtype=torch.int, device="cuda")
    copies = []
    for name, tensor in tensors:
        if name not in changed or not tensor.is_cuda:
            continue
        extent = 1 + sum((size - 1) * step for size, step in zip(tensor.shape, tensor.stride(), strict=True))
        if tensor.numel() and extent * tensor.element_size() <= spare:
            spare -= extent * tensor.element_size()
            copies.append(torch.empty(extent, dtype=tensor.dtype, device="cuda"))
    del flush, copies
