"""A snapshot that stays fresh: the first by listing, the next ones from changes.

Asking a cluster for everything every few seconds is the load its owners complain about; following changes
costs the cluster next to nothing. Kinds that are not there, or may not be read, are left out and stay gaps.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from typing import Any

from tonnage.clock import Clock, SystemClock
from tonnage.cluster.port import Change, ChangeKind, ClusterPort
from tonnage.cluster.snapshot import UNREADABLE, Snapshot
from tonnage.kube.assembling import assemble
from tonnage.kube.kinds import KINDS, find_kind
from tonnage.kube.watching import key_of


class Follower:
    """Keeps all that is known about a cluster, and gives snapshots of it."""

    def __init__(self, cluster: ClusterPort, namespace: str = "", clock: Clock | None = None) -> None:
        self._cluster, self._namespace = cluster, namespace
        self._clock = clock or SystemClock()
        self._stores: dict[str, dict[str, Any]] = {}
        self._waiting: set[str] = set()
        self._is_changed = asyncio.Event()

    async def snapshots(self, every: float) -> AsyncGenerator[Snapshot, None]:
        """A snapshot now, then one after each change, at most one per `every` seconds."""
        first = await asyncio.to_thread(self._cluster.observe, self._namespace)
        yield first
        # A kind with one object that could not be read is followed all the same.
        missing = {gap.resource for gap in first.gaps if gap.reason != UNREADABLE}
        resources = [kind.full_name for kind in KINDS if kind.full_name not in missing]
        self._waiting = set(resources)
        pump = asyncio.create_task(self._pump(resources))
        try:
            while not pump.done():
                changed = asyncio.create_task(self._is_changed.wait())
                await asyncio.wait({pump, changed}, return_when=asyncio.FIRST_COMPLETED)
                changed.cancel()
                self._is_changed.clear()
                if not self._waiting:
                    yield self._snapshot(first)
                    await asyncio.sleep(every)
            await pump
        finally:
            pump.cancel()
            await asyncio.gather(pump, return_exceptions=True)

    async def _pump(self, resources: list[str]) -> None:
        async for change in self._cluster.follow(resources, self._namespace):
            self._take(change)
            self._is_changed.set()

    def _take(self, change: Change) -> None:
        if change.kind is ChangeKind.SYNCED:
            self._waiting.discard(change.resource)
            return
        store = self._stores.setdefault(change.resource, {})
        if change.kind is ChangeKind.DELETED:
            store.pop(key_of(change.object), None)
        else:
            store[key_of(change.object)] = change.object

    def _snapshot(self, first: Snapshot) -> Snapshot:
        found: dict[str, list[Any]] = {}
        for resource, store in self._stores.items():
            kind = find_kind(resource)
            if kind is not None:
                found.setdefault(kind.field, []).extend(store.values())
        return assemble(
            found,
            taken_at=self._clock.now(),
            source=first.source,
            server_version=first.server_version,
            namespace=first.namespace,
            gaps=first.gaps,
        )
