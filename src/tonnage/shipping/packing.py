"""Files as one archive whose bytes depend on nothing but names, contents and whether a file may be run."""

from __future__ import annotations

import gzip
import hashlib
import io
import tarfile
from collections.abc import Sequence
from dataclasses import dataclass

from tonnage.errors import DocumentError, Problem
from tonnage.shipping.choosing import ShippedFile
from tonnage.units import format_bytes

MOST_BYTES = 2 * 1024**3
"""Above this it is not code any more."""


@dataclass(frozen=True, slots=True)
class Archive:
    """A gzipped tar and the hash of what is in it."""

    content: bytes
    digest: str
    files: int
    unpacked: int


def pack(files: Sequence[ShippedFile]) -> Archive:
    """One archive of all files."""
    total = sum(file.size for file in files)
    if not files:
        raise DocumentError(
            Problem(
                code="CODE-003",
                what="there is nothing to ship: every file is ignored",
                where="spec.code",
                hint="look at .gitignore and .tonnageignore; `!name` takes a file back",
            )
        )
    if total > MOST_BYTES:
        raise _too_large(files, total)
    plain = io.BytesIO()
    with tarfile.open(fileobj=plain, mode="w", format=tarfile.PAX_FORMAT) as tar:
        for file in files:
            content = file.path.read_bytes()
            entry = tarfile.TarInfo(file.name)
            entry.size = len(content)
            entry.mode = 0o755 if file.is_executable else 0o644
            tar.addfile(entry, io.BytesIO(content))
    bare = plain.getvalue()
    # The same bytes whenever it is made: no time stamp and no name in the header.
    return Archive(gzip.compress(bare, mtime=0), hashlib.sha256(bare).hexdigest(), len(files), total)


def _too_large(files: Sequence[ShippedFile], total: int) -> DocumentError:
    largest = sorted(files, key=lambda file: -file.size)[:3]
    named = ", ".join(f"{file.name} ({format_bytes(file.size)})" for file in largest)
    return DocumentError(
        Problem(
            code="CODE-004",
            what=f"the folder holds {format_bytes(total)}, too much to ship as code",
            where="spec.code",
            found=f"most of it: {named}",
            expected=f"at most {format_bytes(MOST_BYTES)}",
            hint="name data and checkpoints in .tonnageignore, and mount them as volumes",
        )
    )
