"""The agent as one file: a zipapp with the same bytes for the same sources, small enough for a ConfigMap.

Runs as `python tonnage-agent.pyz run -- COMMAND` and, put on `PYTHONPATH`, gives training scripts the SDK. Only Python
sources go in, in order of their names, all of the same age; so two people who pack the same version ship the same
bytes, and a content hash names them.
"""

from __future__ import annotations

import io
import zipfile
from pathlib import Path

LIMIT_BYTES = 700 * 1024
"""A ConfigMap holds 1 MiB of text, and bytes travel in it as base64."""
_LAUNCH = """import sys

from tonnage_agent.__main__ import main

sys.exit(main())
"""
_AGE = (1980, 1, 1, 0, 0, 0)  # the oldest a zip file knows


def packed(sources: Path | None = None) -> bytes:
    """The zipapp's bytes, of the sources we run from."""
    folder = sources if sources is not None else Path(__file__).parent
    archive = io.BytesIO()
    archive.write(b"#!/usr/bin/env python3\n")
    with zipfile.ZipFile(archive, "a", zipfile.ZIP_DEFLATED, compresslevel=9) as file:
        _add(file, "__main__.py", _LAUNCH.encode())
        for source in sorted(folder.rglob("*.py"), key=lambda path: path.relative_to(folder).as_posix()):
            _add(file, f"tonnage_agent/{source.relative_to(folder).as_posix()}", source.read_bytes())
    return archive.getvalue()


def _add(file: zipfile.ZipFile, name: str, content: bytes) -> None:
    entry = zipfile.ZipInfo(name, _AGE)
    entry.compress_type = zipfile.ZIP_DEFLATED
    entry.create_system = 3
    entry.external_attr = 0o644 << 16
    file.writestr(entry, content)
