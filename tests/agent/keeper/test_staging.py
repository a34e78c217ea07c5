"""Staging folders go with their owners, wherever the owner was killed; those of the living stay."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tonnage_agent.keeper.staging import Staging

SOURCES = Path(__file__).parents[3] / "src"
OWNER = """
import os, sys
sys.path.insert(0, {sources!r})
from tonnage_agent.keeper import staging

def killed(*_):
    os.kill(os.getpid(), 9)

if {moment!r} == "before the lock":
    real, staging._open_locked = staging._open_locked, lambda path, *how: (
        killed() if path.name == ".lock" else real(path, *how)
    )
folder = staging.Staging("s3://bucket/run", staging.Path({root!r})).make()
(folder / "weights").write_text("half of them")
killed()
"""


@pytest.mark.parametrize("moment", ["before the lock", "while it writes"])
def test_what_a_killed_process_staged_is_removed_by_the_next_one(tmp_path: Path, moment: str) -> None:
    script = OWNER.format(sources=str(SOURCES), moment=moment, root=str(tmp_path))
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == -9
    assert list(tmp_path.rglob("save-*"))

    Staging("s3://bucket/run", tmp_path).sweep()

    assert not list(tmp_path.rglob("save-*"))


def test_what_another_process_is_still_writing_stays(tmp_path: Path) -> None:
    owner, other = Staging("s3://bucket/run", tmp_path), Staging("s3://bucket/run", tmp_path)
    folder = owner.make()
    (folder / "weights").write_text("half of them")

    other.sweep()

    assert (folder / "weights").read_text() == "half of them"
    owner.drop(folder)
    assert not list(tmp_path.rglob("save-*"))
