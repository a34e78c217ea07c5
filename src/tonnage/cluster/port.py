"""What any cluster can be asked and told: the one door between our decisions and a cluster.

The protocol lives here, with those who use it; `tonnage.kube` implements it for a live cluster and for a
saved snapshot, and one contract suite (tests/contracts) keeps the implementations honest. Reading is whole
(`observe`) or by following changes; writing is server-side apply under our field manager, which a dry run
really evaluates. A cluster that cannot do something says so with `RefusedError`; it never pretends.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from enum import Enum
from typing import IO, Any, Protocol

import msgspec

from tonnage.cluster.snapshot import Snapshot

FIELD_MANAGER = "tonnage"


class Target(msgspec.Struct, frozen=True):
    """What is being looked at, in the words of the first line on stderr."""

    kind: str
    """`context`, `snapshot`, `cluster file`, `sandbox` or `in-cluster`."""
    name: str
    detail: str = ""
    """The server's address, or how old a snapshot is."""

    def __str__(self) -> str:
        if not self.detail:
            return f"{self.kind} {self.name}"
        is_address = "://" in self.detail
        return f"{self.kind} {self.name}" + (f" ({self.detail})" if is_address else f", {self.detail}")


class Permission(msgspec.Struct, frozen=True):
    """One thing somebody may or may not do."""

    verb: str
    resource: str
    group: str = ""
    namespace: str = ""
    """Empty asks about all namespaces (or a cluster-wide resource)."""
    subresource: str = ""

    def __str__(self) -> str:
        resource = f"{self.resource}.{self.group}" if self.group else self.resource
        return f"{self.verb} {resource}{'/' + self.subresource if self.subresource else ''}"


class Answer(msgspec.Struct, frozen=True):
    """Whether something is allowed; `None` when this cluster cannot say."""

    allowed: bool | None
    reason: str = ""


class ChangeKind(Enum):
    ADDED = "added"
    MODIFIED = "modified"
    DELETED = "deleted"
    SYNCED = "synced"
    """Everything that existed has been reported; what follows is news. Carries no object."""


class Change(msgspec.Struct, frozen=True):
    """One step in a resource's life; after DELETED the object is its last known state."""

    kind: ChangeKind
    resource: str
    object: Any = None


class ClusterPort(Protocol):
    """A cluster: live, saved, written by hand, or (later) simulated."""

    @property
    def target(self) -> Target:
        """What this is, for people."""

    def observe(self, namespace: str = "") -> Snapshot:
        """Everything known now, in one namespace or in all."""

    def save(self, file: IO[bytes], namespace: str = "") -> None:
        """Write all that a saved snapshot keeps, without secrets, to an open file."""

    def follow(self, resources: Sequence[str], namespace: str = "") -> AsyncIterator[Change]:
        """What exists, then SYNCED for each resource, then changes; ends when nothing can change."""

    def fetch(self, resource: str, name: str, namespace: str = "") -> Mapping[str, Any] | None:
        """One object as the API gives it, or nothing; `resource` is a plural like `pods` or `jobs.batch`."""

    def apply(
        self, manifest: Mapping[str, Any], *, dry_run: bool = False, force: bool = False
    ) -> Mapping[str, Any]:
        """Server-side apply as `tonnage`; gives back what the cluster made of it."""

    def may(self, permissions: Sequence[Permission]) -> Sequence[Answer]:
        """Whether we are allowed each of these, in order."""
