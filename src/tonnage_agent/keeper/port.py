"""What the keeper needs of a place, whichever it is: a folder (a volume is one) or a bucket.

A checkpoint is first a draft that only its writer knows, then, in one step, a name that everybody sees. Names are
created, never replaced. One contract suite (tests/agent/keeper) runs against every implementation.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

from tonnage_agent.keeper.manifest import FileEntry, Manifest
from tonnage_agent.keeper.naming import Name


class Draft(Protocol):
    """A checkpoint being written. Several ranks may hold the same draft, each with a folder of its own."""

    @property
    def folder(self) -> Path:
        """Where this rank's files go."""

    @property
    def data(self) -> str:
        """What the manifest must say about where the files lie; empty where they lie beside it."""

    def seal(self) -> list[FileEntry]:
        """Make this rank's files lasting where they belong, and say what they are."""

    def prove(self, files: Sequence[FileEntry]) -> None:
        """Read back what all ranks have sealed; TornCheckpoint where it is not what was sealed."""

    def commit(self, name: Name, manifest: Manifest) -> bool:
        """Give it its name; False where the name is taken, and nothing has happened."""

    def discard(self) -> None:
        """It failed: remove all of it (rank 0, or the only writer) or this machine's part of it; never raises."""

    def forget(self) -> None:
        """Another rank has committed it: remove what only this machine needed; never raises."""


class Place(Protocol):
    """Where the checkpoints of one run lie."""

    @property
    def url(self) -> str:
        """For people."""

    def names(self) -> list[Name]:
        """All that are committed, whole or not, oldest lineage first."""

    def draft(self, label: str, rank: int | None = None) -> Draft:
        """Begin one; `rank` where several write it together."""

    def manifest(self, name: Name) -> Manifest:
        """TornCheckpoint where there is none that can be read."""

    def fetch(self, name: Name, manifest: Manifest, *, check: bool = True) -> Path:
        """A local folder with its files; TornCheckpoint where one is not right.

        Without `check` somebody has read them all a moment ago: sizes are enough where nothing has to travel.
        """

    def local(self, name: Name) -> Path | None:
        """Its folder, where that is on this machine without fetching."""

    def path(self, name: Name) -> str:
        """Where it lies, for people and for the record."""

    def remove(self, name: Name) -> None:
        """Take the name away first, then the files."""

    def sweep(self, attempt: int) -> list[str]:
        """Remove drafts whose writers are gone: those of earlier attempts, and those nobody has touched for long."""
