"""A snapshot at a glance: what there is, what is free, what waits and why, where the walls are.

One value feeds the terminal, JSON and (later) the web page, so that they cannot tell different stories.
"""

from __future__ import annotations

from collections import Counter

import msgspec

from tonnage.cluster.snapshot import NOT_DESCRIBED, NOT_INSTALLED, Snapshot
from tonnage.reporting.pools import Pool, Use, node_pools, together
from tonnage.reporting.waiting import Waiting, waiting_pods
from tonnage.reporting.walls import Queue, Wall, near_walls, queues


class Unknown(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Something the snapshot does not know, and why."""

    resource: str
    reason: str
    message: str


class SnapshotView(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """What `tonnage snapshot` shows."""

    source: str
    taken_at: str
    server_version: str
    namespace: str
    """Empty: all namespaces."""
    pools: tuple[Pool, ...]
    nodes: int
    gpus: Use
    """Whole GPUs."""
    gpu_parts: Use
    """MIG slices, and shares of shared GPUs."""
    pods_by_phase: dict[str, int]
    waiting: tuple[Waiting, ...]
    queues: tuple[Queue, ...]
    walls: tuple[Wall, ...]
    unknown: tuple[Unknown, ...]


def view_snapshot(snapshot: Snapshot) -> SnapshotView:
    """Look at a snapshot."""
    pools = node_pools(snapshot)
    phases = Counter(_phase(pod.status.phase, bool(pod.metadata.deletion_timestamp)) for pod in snapshot.pods)
    return SnapshotView(
        source=snapshot.source,
        taken_at=snapshot.taken_at.isoformat(),
        server_version=snapshot.server_version,
        namespace=snapshot.namespace,
        pools=pools,
        nodes=len(snapshot.nodes),
        gpus=together(pool.gpus for pool in pools),
        gpu_parts=together(pool.parts for pool in pools),
        pods_by_phase=dict(sorted(phases.items())),
        waiting=waiting_pods(snapshot),
        queues=queues(snapshot),
        walls=near_walls(snapshot),
        unknown=tuple(
            Unknown(resource=gap.resource, reason=gap.reason, message=gap.message)
            for gap in snapshot.gaps
            if gap.reason not in (NOT_INSTALLED, NOT_DESCRIBED)
        ),
    )


def _phase(phase: str, is_going: bool) -> str:
    return "Terminating" if is_going and phase in ("Running", "Pending") else phase or "Unknown"
