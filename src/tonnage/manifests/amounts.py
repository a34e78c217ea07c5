"""How much one pod asks for and may use: the plan's figures, what a remedy raised, and the class they must give.

/dev/shm is memory: what is written there counts against the container's limit, so it is always smaller than the
limit, and where it is made larger the limit grows by as much. A run that must be Guaranteed asks for its limits.
"""

from __future__ import annotations

from dataclasses import dataclass

from tonnage.manifests.request import Planned
from tonnage.planning.workload.template import GUARANTEED_PRIORITIES
from tonnage.running.attempts import Size
from tonnage.units import format_bytes

_STEPS = ((2**30, "Gi"), (2**20, "Mi"))
SMALL_CPU = 1000
SMALL_MEMORY = 512 * 2**20
SMALL_DISK = 2**30
"""Most that a container which only prepares something (unpacks code, launches ranks elsewhere) asks for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Amounts:
    """Of the training container; bytes and thousandths of a core."""

    memory: int
    memory_request: int
    cpu: int
    cpu_request: int
    shm: int
    disk: int | None
    disk_request: int | None
    notes: tuple[str, ...] = ()

    def resources(self) -> dict[str, dict[str, str]]:
        """Requests and limits as Kubernetes writes them."""
        limits = {"cpu": cores(self.cpu), "memory": quantity(self.memory)}
        requests = {"cpu": cores(self.cpu_request), "memory": quantity(self.memory_request)}
        if self.disk is not None:
            limits["ephemeral-storage"] = quantity(self.disk)
            requests["ephemeral-storage"] = quantity(self.disk_request or self.disk)
        return {"requests": requests, "limits": limits}

    def small(self) -> dict[str, dict[str, str]]:
        """For a container beside the trainer: never above it, so that the pod asks for no more than it would."""
        asked = {
            "cpu": cores(min(SMALL_CPU, self.cpu_request)),
            "memory": quantity(min(SMALL_MEMORY, self.memory_request)),
        }
        if self.disk is not None:
            asked["ephemeral-storage"] = quantity(min(SMALL_DISK, self.disk_request or self.disk))
        return {"requests": dict(asked), "limits": dict(asked)}


def amounts_of(planned: Planned, size: Size, priority: str) -> Amounts:
    """The plan's amounts with what a remedy changed."""
    shm = planned.shm if size.shm is None else size.shm
    memory, request = planned.memory, planned.memory_request
    if size.memory is not None:
        memory, request = size.memory, size.memory_request or size.memory
    elif shm > planned.shm:
        memory, request = memory + shm - planned.shm, request + shm - planned.shm
    notes: tuple[str, ...] = ()
    if shm >= memory:
        notes = (f"memory is raised by /dev/shm ({format_bytes(shm)}), which counts as memory",)
        memory, request = memory + shm, request + shm
    disk = planned.disk if size.disk is None else size.disk
    disk_request = planned.disk_request if size.disk is None else size.disk
    is_guaranteed = priority in GUARANTEED_PRIORITIES
    return Amounts(
        memory=memory,
        memory_request=memory if is_guaranteed else min(request, memory),
        cpu=planned.cpu,
        cpu_request=planned.cpu if is_guaranteed else min(planned.cpu_request, planned.cpu),
        shm=shm,
        disk=disk,
        disk_request=disk if is_guaranteed or disk_request is None else disk_request,
        notes=notes,
    )


def quantity(count: int) -> str:
    """Bytes as Kubernetes reads them, in the largest unit that is exact.

    >>> quantity(260 * 2**30), quantity(1536 * 2**20), quantity(1_000_001)
    ('260Gi', '1536Mi', '1000001')
    """
    return next(
        (f"{count // step}{unit}" for step, unit in _STEPS if count and count % step == 0), str(count)
    )


def cores(milli: int) -> str:
    """Thousandths of a core as Kubernetes reads them.

    >>> cores(8000), cores(500)
    ('8', '500m')
    """
    return f"{milli}m" if milli % 1000 else str(milli // 1000)
