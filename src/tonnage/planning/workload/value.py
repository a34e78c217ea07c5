"""A training run as planning sees it, whoever wrote it: the same value for a Run and for a manifest of any kind.

A Run says what it means (model, steps, checkpoints); a Job or PyTorchJob says only which pods it makes. Both
become roles of pods, how they are launched and what can be lost, and everything a manifest does not say is
listed under `unknown` with the reason: planning leaves such lines out or says so, it never guesses them.

The pods are slim cluster values, as the API server would be sent them: scheduling, admission and quota rules
can be asked about them directly.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import msgspec
from msgspec.structs import replace

from tonnage.cluster.objects import Pod
from tonnage.planning.workload.durability import Durability
from tonnage.spec.run import Run

if TYPE_CHECKING:
    from tonnage.planning.workload.beside import Beside

GpuKind = Literal["none", "whole", "mig", "shared"]
SpotUse = Literal["never", "allowed", "only", "unknown"]
UNBOUNDED = 2**60
"""Bytes of a memory volume that nothing but the node limits."""


class GpuWish(msgspec.Struct, frozen=True):
    """The GPUs one pod asks for."""

    milli: int = 0
    """Thousandths of a device: 8000 is eight, 500 half of one (which Kubernetes cannot give as such)."""
    kind: GpuKind = "none"
    resource: str = ""
    """The extended resource the pod asks for, such as `nvidia.com/gpu` or `nvidia.com/mig-1g.10gb`."""
    types: tuple[str, ...] = ()
    """GPU types that will do (`h100`), where the workload names any; empty means whichever a node has."""
    profile: str = ""
    """MIG profile, such as `1g.10gb`."""

    @property
    def count(self) -> int:
        """Whole devices asked of Kubernetes."""
        return -(-self.milli // 1000)

    @property
    def is_fraction(self) -> bool:
        return self.milli % 1000 != 0


class Mount(msgspec.Struct, frozen=True):
    """Where a volume appears in the training container, and how long what is written there lasts."""

    path: str
    volume: str
    durability: Durability
    read_only: bool = False


class Role(msgspec.Struct, frozen=True, kw_only=True):
    """Pods that are alike: all nodes of a Run, the workers of a PyTorchJob, one replicated job of a JobSet."""

    name: str
    count: int
    pod: Pod
    gpus: GpuWish = GpuWish()
    ranks_per_pod: int | None = None
    """Training processes in each pod; 0 where it trains nothing (a launcher), None where it is not said."""
    command: tuple[str, ...] = ()
    env: tuple[tuple[str, str], ...] = ()
    """Plain variables only; values that come from Secrets are never read."""
    mounts: tuple[Mount, ...] = ()
    shm_bytes: int | None = None
    """Size of what is mounted at /dev/shm (UNBOUNDED where only the node limits it); None where nothing is, and
    the runtime's 64 MiB hold."""
    container: str = ""
    """Name of the container that trains."""


class CheckpointTarget(msgspec.Struct, frozen=True, kw_only=True):
    """Where progress is kept and how often."""

    durability: Durability
    mount: str = ""
    every_seconds: int | None = None
    """None where it is left to us, or not said."""
    keep: int | None = None
    grace_seconds: int | None = None
    evidence: str = ""
    """What says that checkpoints go there: the document's field, or the flag of a command."""


class Unknown(msgspec.Struct, frozen=True):
    """Something planning would like to know and this workload does not say."""

    what: str
    why: str


class Workload(msgspec.Struct, frozen=True, kw_only=True):
    """One training run to plan for."""

    kind: str
    """Kind of the document it was read from: `Run`, `Job`, `PyTorchJob`, ..."""
    name: str
    namespace: str
    roles: tuple[Role, ...]
    checkpoints: CheckpointTarget | None = None
    steps: int | None = None
    """Optimizer steps to the end."""
    deadline_seconds: int | None = None
    max_wait_seconds: int | None = None
    retries: int | None = None
    """Failures forgiven before it is given up; None where each cause has its own count (a Run)."""
    queue: str = ""
    team: str = ""
    priority_class: str = ""
    spot: SpotUse = "unknown"
    is_suspended: bool = False
    accepts_losing_work: bool = False
    framework: str = ""
    unknown: tuple[Unknown, ...] = ()
    remarks: tuple[str, ...] = ()
    """What Kubernetes refuses in it, or does differently from what it seems to say."""
    file: str = ""
    line: int | None = None
    run: Run | None = None
    """The document, where it is one of ours."""
    beside: Beside | None = None
    """Claims, quotas and the like from the same file."""

    @property
    def pods(self) -> int:
        return sum(role.count for role in self.roles)

    @property
    def gpus(self) -> int:
        """Whole devices of all pods together."""
        return sum(role.count * role.gpus.count for role in self.roles)

    @property
    def ranks(self) -> int | None:
        """Training processes of all pods together; None where one role does not say."""
        counts = [role.ranks_per_pod for role in self.roles]
        if any(count is None for count in counts):
            return None
        return sum(role.count * (role.ranks_per_pod or 0) for role in self.roles)

    @property
    def trainer(self) -> Role:
        """The role that does the training: the one with most GPUs, else with most pods."""
        return max(self.roles, key=lambda role: (role.gpus.milli * role.count, role.count))

    def why_unknown(self, what: str) -> str | None:
        """Why something is not known; None where it is."""
        return next((item.why for item in self.unknown if item.what == what), None)

    def with_roles(self, *roles: Role) -> Workload:
        """The same workload with other pods."""
        return replace(self, roles=roles)
