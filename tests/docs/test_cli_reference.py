"""The command-line page is what the commands say of themselves."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

PROJECT = Path(__file__).parents[2]


def test_the_page_is_not_stale() -> None:
    finished = subprocess.run(
        [sys.executable, "dev/cli_reference.py", "--check"],
        cwd=PROJECT,
        capture_output=True,
        text=True,
        check=False,
    )

    assert finished.returncode == 0, finished.stderr
