"""The manifest of a checkpoint: every file with its size and SHA-256, and where the checkpoint comes from.

Written last, so its presence says that everything before it was written; its own hash inside says that it is itself
whole. A checkpoint without a manifest that can be read does not exist.
"""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import dataclass, field
from typing import Any

from tonnage_agent.keeper.failing import TornCheckpoint

MANIFEST = "tonnage-manifest.json"
FORMAT = 1
_SHA256 = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True)
class FileEntry:
    """One file of a checkpoint."""

    path: str
    """Relative, with forward slashes."""
    size: int
    sha256: str


@dataclass(frozen=True)
class Manifest:
    """What a checkpoint holds and who wrote it."""

    step: int
    attempt: int
    when: float
    """Seconds since 1970."""
    files: tuple[FileEntry, ...]
    run: str = ""
    is_proven: bool = False
    """Whether every file was read back and found right before the checkpoint got its name."""
    writer: dict[str, Any] = field(default_factory=dict)
    """`host`, `pid`, `world` and the like: for people."""
    meta: dict[str, Any] = field(default_factory=dict)
    """What the training script wants to know again: a JSON object."""
    data: str = ""
    """In a bucket: the prefix under which the files lie."""

    @property
    def size(self) -> int:
        """Bytes of all files."""
        return sum(file.size for file in self.files)

    def as_bytes(self) -> bytes:
        """The file's content, with the hash of itself."""
        values = {
            "format": FORMAT,
            "step": self.step,
            "attempt": self.attempt,
            "when": self.when,
            "run": self.run,
            "proven": self.is_proven,
            "writer": self.writer,
            "meta": self.meta,
            "data": self.data,
            "files": [{"path": f.path, "size": f.size, "sha256": f.sha256} for f in self.files],
        }
        return json.dumps({**values, "sha256": _own_hash(values)}, indent=1).encode()


def read_manifest(content: bytes) -> Manifest:
    """The manifest from its file; anything that is not exactly one is a torn checkpoint."""
    try:
        values = json.loads(content)
        own = values.pop("sha256")
        written = values["format"]
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise TornCheckpoint(f"its manifest is torn ({len(content)} bytes)") from error
    if written != FORMAT:
        raise TornCheckpoint(f"its manifest has format {written!r}; this version reads {FORMAT}")
    if own != _own_hash(values):
        raise TornCheckpoint("its manifest was changed: its own hash is wrong")
    try:
        return _from(values)
    except (KeyError, TypeError, ValueError) as error:
        raise TornCheckpoint(f"its manifest lacks something: {error!r}") from error


def is_safe_path(path: str) -> bool:
    """Whether a manifest's path stays inside its checkpoint.

    >>> is_safe_path("model/0.bin"), is_safe_path("../other"), is_safe_path("/etc/passwd")
    (True, False, False)
    """
    parts = path.split("/")
    return bool(path) and "\0" not in path and not any(part in ("", ".", "..") for part in parts)


def _from(values: dict[str, Any]) -> Manifest:
    files = tuple(FileEntry(f["path"], int(f["size"]), f["sha256"]) for f in values["files"])
    for file in files:
        if not is_safe_path(file.path) or not _SHA256.fullmatch(file.sha256):
            raise ValueError(f"file {file.path!r}")
    return Manifest(
        step=int(values["step"]),
        attempt=int(values["attempt"]),
        when=float(values["when"]),
        files=files,
        run=str(values.get("run", "")),
        is_proven=bool(values.get("proven")),
        writer=dict(values.get("writer") or {}),
        meta=dict(values.get("meta") or {}),
        data=str(values.get("data", "")),
    )


def _own_hash(values: dict[str, Any]) -> str:
    return hashlib.sha256(json.dumps(values, sort_keys=True, separators=(",", ":")).encode()).hexdigest()
