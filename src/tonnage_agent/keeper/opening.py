"""From the text of a place to the place: a folder's path, `file://` or `s3://bucket/prefix`."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from tonnage_agent.keeper.failing import PlaceError
from tonnage_agent.keeper.port import Place


def open_place(where: str | Path, environment: Mapping[str, str] | None = None) -> Place:
    """The place; nothing is contacted or made yet."""
    text = os.fspath(where)
    scheme, separator, rest = text.partition("://")
    if not separator or scheme == "file":
        from tonnage_agent.keeper.folder import FolderPlace

        return FolderPlace(Path(rest if separator else text).expanduser().absolute())
    if scheme == "s3":
        from tonnage_agent.keeper.bucket import open_bucket

        return open_bucket(rest, os.environ if environment is None else environment)
    raise PlaceError(
        f"checkpoints cannot be kept in {text}: found {scheme}://, expected a folder (a mounted volume is one) or "
        "s3://bucket/prefix"
    )
