"""Keepers, buckets and clocks for tests, with defaults that say nothing."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from tonnage_agent.keeper import Keeper
from tonnage_agent.keeper.bucket import BucketPlace
from tonnage_agent.keeper.folder import FolderPlace
from tonnage_agent.keeper.port import Place
from tonnage_agent.keeper.s3 import S3Client, open_client
from tonnage_agent.keeper.staging import Staging


@dataclass
class ManualClock:
    """Time that passes when told to."""

    wall: float = 1_700_000_000.0
    passed: float = 0.0

    def now(self) -> float:
        return self.wall + self.passed

    def elapsed(self) -> float:
        return self.passed


@dataclass(frozen=True)
class Bucket:
    """One bucket of the test server."""

    name: str
    environment: dict[str, str]
    folder: Path
    """Where the server keeps its objects, for tests that damage them."""

    def create(self) -> None:
        self.client("").put("", b"")

    def client(self, prefix: str = "ckpt", **changes: str) -> S3Client:
        return open_client(f"{self.name}/{prefix}", {**self.environment, **changes}, pause=lambda _: None)

    def place(self, staging: Path, prefix: str = "ckpt") -> BucketPlace:
        client = self.client(prefix)
        return BucketPlace(client, Staging(client.url, staging))


@dataclass
class Told:
    """Checkpoints that were passed over, with why."""

    skipped: list[tuple[str, str]] = field(default_factory=list)

    def __call__(self, path: str, why: str) -> None:
        self.skipped.append((path, why))

    @property
    def reasons(self) -> list[str]:
        return [why for _, why in self.skipped]


def a_keeper(place: Place | Path, *, attempt: int | None = 1, keep: int = 3, **options: object) -> Keeper:
    """A keeper of a place; a path means a folder."""
    where = FolderPlace(place) if isinstance(place, Path) else place
    return Keeper(where, attempt=attempt, keep=keep, **options)  # type: ignore[arg-type]


def content_of(keeper: Keeper) -> bytes | None:
    """What the newest whole checkpoint's only file holds."""
    found = keeper.newest()
    return None if found is None else found.load(lambda path: path.read_bytes())


def writer(**files: bytes) -> Callable[[Path], None]:
    """A state function that writes these files; double underscores are slashes."""

    def write(folder: Path) -> None:
        for name, content in files.items():
            path = folder / name.replace("__", "/")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)

    return write
