"""Starting a process that is nobody's child: it outlives us, and leaves us no zombie to bury."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

_IN_BACKGROUND = '"$@" </dev/null >>"$0" 2>&1 &'


def start_detached(words: Sequence[str], log: Path, env: Mapping[str, str] | None = None) -> None:
    """Start a program in a session of its own, its output added to a file; a shell is its parent and ends at once."""
    subprocess.run(
        ["/bin/sh", "-c", _IN_BACKGROUND, str(log), *words],
        env=None if env is None else dict(env),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
        check=True,
    )
