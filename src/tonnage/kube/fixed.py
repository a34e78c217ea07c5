"""A cluster that is only a snapshot in memory: a Cluster document's nodes, for planning without a cluster."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any

import msgspec

from tonnage.cluster.port import Answer, Change, ChangeKind, Permission, Target
from tonnage.cluster.snapshot import Snapshot
from tonnage.errors import Problem, RefusedError
from tonnage.kube.kinds import find_kind


class FixedCluster:
    """A snapshot behind the cluster port; it can be looked at and never changes."""

    def __init__(self, snapshot: Snapshot, target: Target) -> None:
        self._snapshot, self._target = snapshot, target

    @property
    def target(self) -> Target:
        return self._target

    def observe(self, namespace: str = "") -> Snapshot:
        if not namespace:
            return self._snapshot
        kept = {
            kind: self._values(kind, namespace) for kind in ("pods", "events", "jobs", "quotas", "claims")
        }
        return msgspec.structs.replace(self._snapshot, namespace=namespace, **kept)

    async def follow(self, resources: Sequence[str], namespace: str = "") -> AsyncIterator[Change]:
        for resource in resources:
            kind = find_kind(resource)
            name = kind.full_name if kind else resource
            for value in self._values(kind.field, namespace) if kind else ():
                yield Change(ChangeKind.ADDED, name, value)
            yield Change(ChangeKind.SYNCED, name)

    def fetch(self, resource: str, name: str, namespace: str = "") -> Mapping[str, Any] | None:
        kind = find_kind(resource)
        for value in self._values(kind.field, namespace) if kind else ():
            if value.metadata.name == name and value.metadata.namespace == namespace:
                document: dict[str, Any] = msgspec.to_builtins(value)
                return {
                    "apiVersion": kind.api_version() if kind else "",
                    "kind": kind.kind if kind else "",
                    **document,
                }
        return None

    def apply(
        self,
        manifest: Mapping[str, Any],
        *,
        dry_run: bool = False,  # noqa: ARG002 - the port's signature; there is nothing to evaluate it against
        force: bool = False,  # noqa: ARG002
    ) -> Mapping[str, Any]:
        what = f"{manifest.get('kind', 'an object')} was not applied: {self._target.kind}s cannot be changed"
        hint = "use a cluster, or `tonnage sandbox up`"
        raise RefusedError(Problem(code="SNAP-006", what=what, where=self._target.name, hint=hint))

    def may(self, permissions: Sequence[Permission]) -> Sequence[Answer]:
        return [Answer(None, f"a {self._target.kind} knows no users") for _ in permissions]

    def _values(self, field: str, namespace: str) -> tuple[Any, ...]:
        values = getattr(self._snapshot, field)
        return tuple(v for v in values if not namespace or v.metadata.namespace in ("", namespace))
