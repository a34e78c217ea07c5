"""What every place that runs attempts must do: one suite, on this machine and on a real node of a real cluster."""

from __future__ import annotations

import os
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.contracts.run_benches import MIB, Bench, KubeBench, LocalBench, wait
from tests.local.scripts import counting, leaking

from tonnage.running.attempts import Attempt, Size
from tonnage.running.endings import ending_of
from tonnage.running.observing import Observation
from tonnage.running.port import RunPlace, TailedPlace
from tonnage.sandbox import Sandbox, SandboxRequest, down, up


@pytest.fixture(scope="module")
def real_node() -> Iterator[Sandbox]:
    """A sandbox with one real node, for all tests of this file."""
    if os.geteuid() != 0:
        pytest.skip("real nodes need root")
    name = f"rp-{os.environ.get('PYTEST_XDIST_WORKER', 'main')}"
    down(name)
    try:
        yield up(SandboxRequest(name=name, nodes="cpu=1", real_nodes=1))
    finally:
        down(name)


@pytest.fixture(params=["machine", pytest.param("cluster", marks=pytest.mark.realnode)])
def bench(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Bench]:
    made: Bench
    if request.param == "machine":
        made = LocalBench(tmp_path)
    else:
        sandbox: Sandbox = request.getfixturevalue("real_node")
        made = KubeBench(tmp_path, sandbox.kubeconfig, f"place-{uuid.uuid4().hex[:8]}")
    yield made
    made.close()


def ended(bench: Bench, place: RunPlace, number: int = 1) -> Observation:
    return wait(place, number, lambda seen: seen.state == "ended", bench.seconds)


def stepping(bench: Bench, place: RunPlace, step: int = 1, number: int = 1) -> Observation:
    return wait(
        place, number, lambda seen: seen.progress is not None and seen.progress.step >= step, bench.seconds
    )


def end_of(place: RunPlace, number: int = 1) -> tuple[int | None, str]:
    containers = [each for each in place.evidence(number).pods[0].containers if not each.is_init]
    return containers[0].exit_code, containers[0].reason


def test_what_was_not_launched_is_absent(bench: Bench) -> None:
    assert bench.run(counting()).observe(1).state == "absent"


def test_a_command_runs_to_its_end_says_how_far_it_came_and_is_launched_once(bench: Bench) -> None:
    place = bench.run(counting(total=20, pause=0.1))
    place.launch(1, Size(memory=256 * MIB), resume=False)
    stepping(bench, place)
    bench.again().launch(1, Size(memory=256 * MIB), resume=False)  # what a second supervisor would do
    seen = ended(bench, place)
    assert seen.progress is not None
    assert (seen.progress.step, seen.progress.total) == (19, 20)
    assert seen.saved is not None
    assert seen.saved.step == 19
    assert end_of(place) == (0, "Completed")
    assert place.logs(1).count("counted") == 1


def test_over_its_limit_it_is_killed_and_called_so(bench: Bench) -> None:
    place = bench.run(leaking())
    place.launch(1, Size(memory=64 * MIB), resume=False)
    seen = ended(bench, place)
    assert end_of(place) == (137, "OOMKilled")
    evidence = place.evidence(1)
    assert evidence.pods[0].memory_limit == 64 * MIB
    attempt = Attempt(number=1, size=Size(memory=64 * MIB), created=seen.since, started=seen.since)  # type: ignore[arg-type]
    ending = ending_of(attempt, seen, evidence, seen.since)  # type: ignore[arg-type]
    assert ending is not None
    assert (ending.cause, ending.code) == ("host_oom", "MEM-01")
    assert ending.peak is not None
    assert ending.peak > 48 * MIB


def test_memory_and_steps_are_seen_while_it_runs(bench: Bench) -> None:
    place = bench.run(counting(total=10_000, pause=0.05))
    place.launch(1, Size(memory=128 * MIB), resume=False)
    seen = stepping(bench, place, step=3)
    assert seen.state == "running"
    assert seen.memory is not None
    assert seen.memory.limit == 128 * MIB
    assert 0 < seen.memory.usage < 128 * MIB
    samples = place.samples(1, {})
    assert samples
    assert all(node == 0 for node, _ in samples)
    newest = max(sample.when for _, sample in samples)
    assert all(sample.when > newest for _, sample in place.samples(1, {0: newest}))


def test_a_limit_can_be_raised_while_it_runs(bench: Bench) -> None:
    place = bench.run(leaking(total=60, bytes_=2 * MIB, pause=0.15))
    place.launch(1, Size(memory=80 * MIB), resume=False)
    stepping(bench, place)
    assert place.resize(1, 512 * MIB)
    ended(bench, place)
    assert end_of(place) == (0, "Completed")


def test_a_checkpoint_can_be_asked_for_while_it_runs(bench: Bench) -> None:
    place = bench.run(counting(total=10_000, pause=0.05))
    place.launch(1, Size(memory=128 * MIB), resume=False)
    stepping(bench, place)
    assert place.save(1)
    wait(place, 1, lambda _: "tonnage: asked for a checkpoint" in place.logs(1), bench.seconds)
    place.stop(1, 5.0)
    ended(bench, place)


def test_a_stop_gives_time_to_save_and_the_next_attempt_goes_on_there(bench: Bench) -> None:
    place = bench.run(counting(total=10_000, pause=0.05))
    place.launch(1, Size(memory=256 * MIB), resume=False)
    stepping(bench, place, step=3)
    place.stop(1, 5.0)
    seen = ended(bench, place)
    assert seen.saved is not None
    assert seen.progress is not None
    assert seen.saved.step == seen.progress.step
    place = bench.again()
    wait_for_launch(bench, place, 2)
    resumed = wait(place, 2, lambda seen: seen.resumed_from is not None, bench.seconds)
    assert resumed.resumed_from == seen.saved.step


def test_suspended_it_holds_nothing_and_can_be_launched_again(bench: Bench) -> None:
    place = bench.run(counting(total=10_000, pause=0.05))
    place.launch(1, Size(memory=256 * MIB), resume=False)
    stepping(bench, place)
    place.suspend(1)
    wait(place, 1, lambda seen: seen.state in ("ended", "suspended"), bench.seconds)
    wait_for_launch(bench, place, 2)
    stepping(bench, place, number=2)


def test_what_is_taken_away_without_a_word_leaves_evidence(bench: Bench) -> None:
    place = bench.run(counting(total=10_000, pause=0.05))
    place.launch(1, Size(memory=256 * MIB), resume=False)
    before = stepping(bench, place, step=5)
    bench.lose()
    seen = wait(place, 1, lambda seen: seen.state in ("ended", "absent"), bench.seconds)
    evidence = bench.again().evidence(1)  # a supervisor that was not there finds it too
    assert before.progress is not None
    assert evidence.records[0]["step"] >= before.progress.step
    assert evidence.pods[0].name
    attempt = Attempt(number=1, size=Size(), created=before.since, started=before.since)  # type: ignore[arg-type]
    import datetime as dt

    ending = ending_of(attempt, seen, evidence, dt.datetime.now(dt.UTC) + dt.timedelta(minutes=1))
    assert ending is not None
    assert ending.cause not in (None, "code")
    assert ending.step is not None


def test_logs_are_read_on_from_where_one_stopped(bench: Bench) -> None:
    script = "import time\nfor n in range(6):\n    print('line', n, flush=True)\n    time.sleep(0.5)\n"
    place = bench.run(script)
    assert isinstance(place, TailedPlace)
    place.launch(1, Size(memory=128 * MIB), resume=False)
    wait(place, 1, lambda _: len(place.logs(1)) >= 2, bench.seconds)
    found: list[str] = []
    seen: dict[int, int] = {}
    while place.observe(1).state != "ended":
        lines, seen = place.new_logs(1, seen)
        found += lines
    for _ in range(3):
        lines, seen = place.new_logs(1, seen, to_the_end=True)
        found += lines
    assert [line for line in found if line.startswith("line")] == [f"line {n}" for n in range(6)]
    assert [line for line in place.logs(1, tail=2) if line.startswith("line")][-1] == "line 5"


def test_bounds_say_whose_wall_it_is(bench: Bench) -> None:
    bounds = bench.run(counting()).bounds(Size(memory=64 * MIB))
    assert bounds.memory is not None
    assert bounds.memory > 256 * MIB
    assert bounds.memory_wall


def wait_for_launch(bench: Bench, place: RunPlace, number: int) -> None:
    """Launch, as often as it takes: what came before must have let go."""
    import time

    give_up = time.monotonic() + bench.seconds
    while place.observe(number).state == "absent":
        assert time.monotonic() < give_up
        place.launch(number, Size(memory=256 * MIB), resume=True)
        time.sleep(0.3)
