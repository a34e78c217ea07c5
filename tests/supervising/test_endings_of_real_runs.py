"""How runs end on this machine, and what their owner reads: once each, with what to do."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.supervising.benches import Bench

MIB = 2**20


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


def test_an_error_of_the_program_is_told_once_and_not_retried(bench: Bench) -> None:
    ran = bench.tonnage("run", str(bench.write("broken", BREAK_AT=3)))
    assert ran.returncode == 1
    death, lost, given_up, advice = bench.told("broken")
    assert death == "the program's own error: ValueError: broken"
    assert lost.startswith("lost   ")
    assert given_up == "given up: the program's own error is not retried  RUN-002"
    assert "`tonnage resume broken`" in advice


def test_a_deadline_is_kept_saved_for_and_not_retried_until_it_is_raised(bench: Bench) -> None:
    path = bench.write("late", "deadline: 6s", steps=200, PAUSE=0.05)
    ran = bench.tonnage("run", str(path))
    assert ran.returncode == 1
    view = bench.seen("late")
    assert [attempt["cause"] for attempt in view["attempts"]] == ["deadline"]
    assert view["safeStep"] == view["step"] > 0
    assert view["ranSeconds"] < 7
    path.write_text(path.read_text().replace("deadline: 6s", "deadline: 10m"))
    resumed = bench.tonnage("resume", "late")
    assert resumed.returncode == 0, resumed.stdout + resumed.stderr
    assert "deadline: 6s -> 10m, as its document says now" in resumed.stdout
    assert f"resumed from step {view['safeStep']}" in resumed.stdout


def test_the_deadline_counts_all_attempts_together(bench: Bench) -> None:
    path = bench.write("late", "deadline: 8s", steps=400, PAUSE=0.05)
    assert bench.tonnage("run", str(path)).returncode == 1
    bench.tonnage("resume", "late")
    view = bench.seen("late")
    assert [attempt["cause"] for attempt in view["attempts"]] == ["deadline", "deadline"]
    assert view["ranSeconds"] < 9.5


@pytest.mark.parametrize(
    ("policy", "sizes", "says"),
    [
        ("onOOM: {host: fail}", [64], "onOOM says fail"),
        ("retries: {hostOOM: 0}", [64], "not retried"),
        ("onOOM: {growBy: 4}", [64, 256], "4 x 64 MiB (onOOM.growBy)"),
        ("onOOM: {maxMemory: 70Mi}", [64], "onOOM.maxMemory allows 70 MiB"),
    ],
)
def test_out_of_memory_does_what_the_document_says(
    bench: Bench, policy: str, sizes: list[int], says: str
) -> None:
    ran = bench.tonnage("run", str(bench.write("hog", policy, memory="64Mi", HOG_AT=5, HOG_MIB=150)))
    assert ran.returncode == (0 if len(sizes) > 1 else 1)
    assert [attempt["memory"] // MIB for attempt in bench.seen("hog")["attempts"]] == sizes
    assert says in "\n".join(bench.told("hog"))


def test_a_stop_is_told_in_two_lines_and_resumed_from_what_was_saved(bench: Bench) -> None:
    assert bench.tonnage("run", str(bench.write("long", steps=400, PAUSE=0.05)), "--detach").returncode == 0
    again = bench.tonnage("run", str(bench.folder / "long.yaml"))
    assert (again.returncode, again.stdout, "RUN-101" in again.stderr) == (1, "", True)
    stopped = bench.tonnage("stop", "long")
    assert stopped.stdout.startswith("long: stopped, stopped by its owner: ")
    asked, over = bench.told("long")
    assert asked == "stopping: its owner asked"
    assert over.startswith("stopped by its owner: ")
    assert "`tonnage resume long`" in over
    assert bench.tonnage("watch", "long").returncode == 1


@pytest.mark.parametrize(
    ("line", "code"),
    [
        ("secrets: {NO_SUCH_SECRET_HERE: hub/token}", "RUN-112"),
        ("command: no-such-program train.py", "RUN-113"),
        ("code: nowhere", "CODE-001"),
        ("memory: 900Ti", "RUN-104"),
        ("memory: 8Mi", "RUN-114"),
        ("checkpoints: /proc/version/ckpt", "RUN-115"),
    ],
)
def test_what_could_not_start_is_refused_and_leaves_no_run(bench: Bench, line: str, code: str) -> None:
    path = bench.write("never")
    kept = [
        each
        for each in path.read_text().splitlines()
        if not each.strip().startswith(line.split(maxsplit=1)[0])
    ]
    path.write_text("\n".join([*kept, f"  {line}", ""]))
    refused = bench.tonnage("run", str(path))
    assert (refused.returncode, code in refused.stderr) == (1, True), refused.stdout + refused.stderr
    assert "no run is active" in bench.tonnage("ps", "--all").stdout


def test_everything_it_printed_is_followed_to_the_last_line(bench: Bench) -> None:
    assert bench.tonnage("run", str(bench.write("quick")), "--detach", "-o", "json").returncode == 0
    followed = bench.tonnage("logs", "quick", "-f")
    assert followed.stdout.splitlines()[-1] == "all steps made"
    wrong = bench.tonnage("logs", "quick", "--attempt", "7")
    assert (wrong.returncode, "RUN-107" in wrong.stderr) == (1, True)
    wrong = bench.tonnage("logs", "quick", "--node", "1")
    assert (wrong.returncode, "RUN-108" in wrong.stderr) == (1, True)


def test_a_home_that_cannot_be_written_is_said_first(bench: Bench) -> None:
    refused = bench.tonnage("run", str(bench.write("quick")), TONNAGE_HOME="/proc/nowhere")
    assert (refused.returncode, "STORE-005" in refused.stderr) == (1, True)
