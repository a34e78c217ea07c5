"""Lists of slim values, wherever they came from, put together as one snapshot."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from tonnage.cluster.snapshot import Gap, Snapshot


def assemble(
    found: Mapping[str, Sequence[Any]],
    *,
    taken_at: dt.datetime,
    source: str,
    server_version: str = "",
    namespace: str = "",
    gaps: Iterable[Gap] = (),
) -> Snapshot:
    """A snapshot from values by snapshot field."""
    return Snapshot(
        taken_at=taken_at,
        source=source,
        server_version=server_version,
        namespace=namespace,
        gaps=tuple(gaps),
        **{field: tuple(values) for field, values in found.items()},
    )
