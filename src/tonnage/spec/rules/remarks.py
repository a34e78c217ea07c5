"""What a rule gives back."""

from __future__ import annotations

import msgspec

from tonnage.spec.mistakes import Path


class Remark(msgspec.Struct, frozen=True, kw_only=True):
    """A contradiction (it must be mended) or, when mild, something worth a look."""

    code: str
    path: Path
    what: str
    found: str | None = None
    expected: str | None = None
    hint: str | None = None
    is_mild: bool = False
    absent: tuple[Path, ...] = ()
    """Fields it says are not there. One that is there but wrong is not absent: no remark is made then."""
