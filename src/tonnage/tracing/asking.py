"""What a caller wants traced."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from tonnage.cluster.gpus import GpuType
from tonnage.errors import Problem, UsageError
from tonnage.tracing.failures import CannotTrace

GPUS_PER_NODE = 8
"""Ranks on one node, unless said otherwise: the machines people rent for several GPUs have eight."""


@dataclass(frozen=True, kw_only=True)
class TraceRequest:
    """One step of a user's file, on one rank of a GPU type."""

    file: Path
    function: str
    gpu: GpuType
    python: str | None = None
    """The training environment's interpreter; None looks for one that has torch."""
    world_size: int = 1
    rank: int = 0
    ranks_per_node: int | None = None
    knobs: Mapping[str, object] = field(default_factory=dict)
    steps: int = 2
    """Optimizer state appears in the first step; the second is the steady one."""
    seconds: float = 600.0
    """After so long it is given up."""
    memory: int | None = None
    """Host RAM in bytes it may take; None is what the machine has to spare."""

    @property
    def gpus_on_node(self) -> int:
        """Devices the process sees, as many as ranks share its node."""
        return min(self.ranks_per_node or GPUS_PER_NODE, self.world_size)


def parse_step(text: str) -> tuple[Path, str]:
    """`FILE.py:function` as the two of them; without a function it is `build`."""
    file, colon, function = text.rpartition(":")
    if not colon:
        file, function = text, "build"
    if not file or not function.isidentifier():
        raise UsageError(
            Problem(
                code="TRACE-001",
                what="--step must name a file and a function in it",
                found=repr(text),
                expected="FILE.py:function, such as train.py:build",
            )
        )
    return Path(file), function


def check(request: TraceRequest) -> None:
    """Refuse what cannot be meant, before anything is started."""
    if not request.file.is_file():
        raise CannotTrace(
            Problem(
                code="TRACE-002",
                what="there is no such file",
                where=str(request.file),
                hint="Give the path of the Python file that holds the build function.",
            )
        )
    if not 0 <= request.rank < request.world_size:
        raise CannotTrace(
            Problem(
                code="TRACE-003",
                what="the rank must be one of the world's",
                found=f"rank {request.rank} of {request.world_size}",
                expected=f"0 to {max(request.world_size - 1, 0)}",
            )
        )
