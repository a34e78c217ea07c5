"""How an archive of code gets into a cluster: a ConfigMap while it is small, else a bucket or a volume the run names.

Nothing is asked of the user that the document does not say already: a run that saves to a bucket can have its code
there, one that saves to a volume likewise.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from tonnage.errors import DocumentError, Problem
from tonnage.shipping.packing import Archive
from tonnage.spec.literals import Place
from tonnage.spec.run import Run
from tonnage.units import format_bytes

CONFIG_MAP_BYTES = 900 * 1024
"""A ConfigMap holds 1 MiB with all its keys."""
CLAIM_BYTES = 32 * 1024**2
"""Carried to a volume in pieces of a ConfigMap each: more of them than this is no way to treat a cluster."""
FOLDER = ".tonnage/code"


@dataclass(frozen=True)
class Way:
    """Where the archive goes."""

    kind: Literal["config map", "bucket", "claim"]
    place: Place | None = None

    def key_of(self, digest: str) -> str:
        """Its name there: the same code is stored once."""
        return f"{FOLDER}/{digest}.tar.gz"


def way_for(run: Run, archive: Archive) -> Way:
    """The simplest way that is large enough; raise DocumentError with the choices where there is none."""
    size = len(archive.content)
    if size <= CONFIG_MAP_BYTES:
        return Way("config map")
    places = [each.to for each in (run.spec.checkpoints, run.spec.output) if each is not None]
    bucket = next((place for place in places if place.scheme == "s3"), None)
    if bucket is not None:
        return Way("bucket", bucket)
    claim = next((place for place in places if place.scheme == "pvc"), None)
    if claim is not None and size <= CLAIM_BYTES:
        return Way("claim", claim)
    raise DocumentError(
        Problem(
            code="CODE-005",
            what=f"the code is {format_bytes(size)} packed, too much for a ConfigMap",
            where="spec.code",
            found=f"{archive.files} files, and neither checkpoints nor output name a bucket"
            + ("" if claim is None else f"; volumes take up to {format_bytes(CLAIM_BYTES)}"),
            expected=f"at most {format_bytes(CONFIG_MAP_BYTES)}, or a place to put it",
            hint="leave data out with .tonnageignore, save to s3://bucket/prefix or pvc/NAME, "
            "or build the code into the image",
        )
    )
