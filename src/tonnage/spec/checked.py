"""What checking a file gave: plain values, so that a file which cannot be read is refused without loading
the models (most of the time a command takes).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

import msgspec

from tonnage.spec.mistakes import Mistake
from tonnage.spec.reading import RawDocument

if TYPE_CHECKING:
    from tonnage.spec.cluster import Cluster
    from tonnage.spec.run import Run
    from tonnage.spec.team import Team

Document: TypeAlias = "Run | Team | Cluster"


class Found(msgspec.Struct, frozen=True):
    """A document of a file: as it was written, and as a value where it has no mistake."""

    raw: RawDocument
    value: Document | None


class Checked(msgspec.Struct, frozen=True):
    """Everything that checking one file gave."""

    file: str
    documents: list[Found]
    mistakes: list[Mistake]
    """What must be mended, in the order of the file."""
    remarks: list[Mistake]
    """What is legal and worth a look."""

    @property
    def values(self) -> list[Document]:
        return [found.value for found in self.documents if found.value is not None]
