"""What stops growth before the nodes do: quotas near their wall, and queues with what waits in them."""

from __future__ import annotations

from typing import Any

import msgspec

from tonnage.cluster.announcing import is_gpu
from tonnage.cluster.objects.loose import Loose
from tonnage.cluster.snapshot import Snapshot
from tonnage.units import Quantity, try_quantity

NEAR = 0.8
"""From this share of a quota on, its next user should know about it."""


class Wall(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """One resource of one quota that is nearly or wholly used."""

    namespace: str
    quota: str
    resource: str
    used: str
    hard: str
    share: float


class Queue(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A Kueue ClusterQueue: its GPUs and its line."""

    name: str
    cohort: str
    gpus_nominal: int
    gpus_used: int
    gpus_borrowed: int
    pending: int
    admitted: int
    is_active: bool
    why_inactive: str = ""


def near_walls(snapshot: Snapshot) -> tuple[Wall, ...]:
    """Quota lines used to four fifths or more, the fullest first."""
    walls: list[Wall] = []
    for quota in snapshot.quotas:
        for resource, hard in quota.status.hard.items():
            used = quota.status.used.get(resource, "0")
            share = _share(used, hard)
            if share >= NEAR:
                walls.append(
                    Wall(
                        namespace=quota.metadata.namespace,
                        quota=quota.metadata.name,
                        resource=resource,
                        used=used,
                        hard=hard,
                        share=round(share, 3),
                    )
                )
    return tuple(sorted(walls, key=lambda wall: (-wall.share, wall.namespace, wall.quota, wall.resource)))


def queues(snapshot: Snapshot) -> tuple[Queue, ...]:
    """Kueue's cluster queues by name."""
    return tuple(_queue(queue) for queue in sorted(snapshot.cluster_queues, key=lambda q: q.metadata.name))


def _queue(queue: Loose) -> Queue:
    status = queue.status
    active = next((c for c in _maps(status.get("conditions")) if c.get("type") == "Active"), {})
    is_active = active.get("status", "True") == "True"
    nominal = sum(
        _whole(resource.get("nominalQuota"))
        for group in _maps(queue.spec.get("resourceGroups"))
        for flavor in _maps(group.get("flavors"))
        for resource in _maps(flavor.get("resources"))
        if is_gpu(str(resource.get("name")))
    )
    used = [
        resource
        for flavor in _maps(status.get("flavorsReservation"))
        for resource in _maps(flavor.get("resources"))
        if is_gpu(str(resource.get("name")))
    ]
    return Queue(
        name=queue.metadata.name,
        # v1beta2 calls `cohortName` what v1beta1 called `cohort`.
        cohort=str(queue.spec.get("cohortName") or queue.spec.get("cohort") or ""),
        gpus_nominal=nominal,
        gpus_used=sum(_whole(resource.get("total")) for resource in used),
        gpus_borrowed=sum(_whole(resource.get("borrowed")) for resource in used),
        pending=int(status.get("pendingWorkloads") or 0),
        admitted=int(status.get("admittedWorkloads") or 0),
        is_active=is_active,
        why_inactive="" if is_active else str(active.get("message") or active.get("reason") or ""),
    )


def _maps(value: Any) -> list[dict[str, Any]]:
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def _whole(value: Any) -> int:
    return (try_quantity(str(value)) or Quantity(0)).value() if value is not None else 0


def _share(used: str, hard: str) -> float:
    has, most = try_quantity(used), try_quantity(hard)
    if has is None or most is None or not most.is_positive():
        return 0.0
    return has.nano / most.nano
