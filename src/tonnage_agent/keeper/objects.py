"""What a bucket's client must do for the keeper: the common core of object stores.

Our own client (`s3`) implements it. Another one could: it would have to find and give up uploads that a killed writer
left half-way, which obstore does not (docs/dependencies.md).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Callable, Protocol


@dataclass(frozen=True)
class Listed:
    """One object, or one folder (its key ends with a slash)."""

    key: str
    size: int
    modified: str
    """ISO 8601, empty for folders."""


class Objects(Protocol):
    """One prefix of one bucket; keys are relative to it."""

    @property
    def url(self) -> str: ...

    def put_new(self, key: str, content: bytes) -> bool:
        """Create a small object; False where there is one already."""

    def put_file(self, key: str, path: Path) -> tuple[int, str]:
        """Upload a file; its size and SHA-256 as they were sent."""

    def get(self, key: str) -> bytes | None:
        """A small object; None where there is none."""

    def get_file(self, key: str, path: Path, size: int) -> None:
        """Download an object; FileNotFoundError where there is none."""

    def size(self, key: str) -> int | None:
        """Bytes; None where there is none."""

    def find(self, prefix: str = "", *, deep: bool = True) -> list[Listed]:
        """Objects below a prefix; not deep: folders instead of what is in them."""

    def delete(self, keys: Iterable[str]) -> None:
        """Remove objects; those that are not there do not matter."""

    def abort_uploads(self, is_left: Callable[[str], bool]) -> None:
        """Give up unfinished uploads in parts whose key says so."""
