"""The scale benchmark, small enough for every run: nothing is missed."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

from benchmarks.scale.__main__ import run


def test_a_small_cluster_is_followed_without_missing_a_change() -> None:
    found = run(nodes=20, pods=1500, rate=300, seconds=2)

    # The follower only ends when its checksum of pods and versions equals the server's, also after a relist.
    assert found["is_complete"]
    assert found["pods"] == 1500
    assert found["changes"] >= 600
