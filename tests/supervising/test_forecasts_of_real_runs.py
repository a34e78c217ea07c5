"""A real leak on this machine: what its owner asked for happens while it still runs."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.supervising.benches import Bench

LEAK = {"PAUSE": "0.1", "LEAK_KIB": "512", "TONNAGE_SAMPLE_SECONDS": "0.2"}
"""Five MiB a second, seen within ten: a busy machine still measures a dozen points before it dies."""


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


def ran(bench: Bench, name: str, action: str, **env: str) -> list[str]:
    """What was told of a leak that nothing but the forecast saves: its own checkpoints are an hour apart."""
    path = bench.write(name, f"onForecast: {action}", steps=260, every="1h", **LEAK)
    bench.tonnage("run", str(path), "--yes", **env)
    return bench.told(name)


def test_its_work_is_saved_while_it_runs(bench: Bench) -> None:
    told = ran(bench, "saved", "checkpoint")
    assert any("a checkpoint is asked for" in text for text in told), told
    assert any(text.startswith("resumed from step ") for text in told), told
    assert bench.seen("saved")["state"] == "finished"
    assert "tonnage: asked for a checkpoint" in bench.tonnage("logs", "saved", "--attempt", "1").stdout


def test_its_memory_is_raised_without_a_restart_where_no_kernel_holds_it(bench: Bench) -> None:
    told = ran(bench, "raised", "raise", TONNAGE_NO_CGROUP="1")
    seen = bench.seen("raised")
    assert any("raised in place to" in text for text in told), told
    assert any("a checkpoint is asked for" in text for text in told), told
    assert (seen["state"], seen["attempt"]) == ("finished", 1), told


def test_it_is_stopped_with_its_work_saved(bench: Bench) -> None:
    told = "\n".join(ran(bench, "stopped", "stop"))
    assert "it is saved and stopped (onForecast)" in told
    assert "is saved, nothing is lost" in told
    assert "RUN-002" in told
    assert bench.seen("stopped")["state"] == "failed"
