"""This machine as a place: attempts start behind their limit, outlive whoever started them, and leave nothing."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from tests.local.conftest import MIB, Bench
from tests.local.scripts import FORKING, STUBBORN, counting, leaking

from tonnage.errors import RefusedError
from tonnage.local import cgroups
from tonnage.local.place import LocalPlace
from tonnage.local.processes import Identity
from tonnage.running.attempts import Size


def shim_of(bench: Bench, number: int = 1, node: int = 0) -> dict[str, dict[str, int]]:
    folder = bench.home / "runs/1" / f"attempt-{number}" / f"node-{node}"
    found: dict[str, dict[str, int]] = json.loads((folder / "shim.json").read_text())
    return found


def end_of(place: LocalPlace, number: int = 1, node: int = 0) -> tuple[int | None, str]:
    container = place.evidence(number).pods[node].containers[0]
    return container.exit_code, container.reason


def test_a_command_runs_to_its_end_and_says_how_far_it_came(bench: Bench) -> None:
    place = bench.run(counting(total=5))
    place.launch(1, Size(memory=256 * MIB), resume=False)
    seen = bench.ended()
    assert seen.progress is not None
    assert (seen.progress.step, seen.progress.total) == (4, 5)
    assert seen.saved is not None
    assert seen.saved.step == 4
    assert end_of(place) == (0, "Completed")
    assert place.logs(1)[-1] == "counted"


def test_a_second_attempt_goes_on_where_the_first_has_saved(bench: Bench) -> None:
    place = bench.run(counting(total=200, pause=0.05))
    place.launch(1, Size(), resume=False)
    saved = bench.wait(1, lambda seen: seen.saved is not None).saved
    place.stop(1, 5.0)
    bench.ended()
    place.launch(2, Size(), resume=True)
    seen = bench.wait(2, lambda seen: seen.resumed_from is not None)
    assert saved is not None
    assert seen.resumed_from is not None
    assert seen.resumed_from >= saved.step


def test_over_its_limit_it_is_killed_and_the_kernel_s_count_is_kept(bench: Bench) -> None:
    place = bench.run(leaking())
    place.launch(1, Size(memory=64 * MIB), resume=False)
    bench.ended()
    assert end_of(place) == (137, "OOMKilled")
    assert place.evidence(1).pods[0].memory_limit == 64 * MIB


def test_without_a_cgroup_the_limit_is_watched(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    place = bench.run(leaking())
    monkeypatch.setenv("TONNAGE_NO_CGROUP", "1")
    place.launch(1, Size(memory=96 * MIB), resume=False)
    bench.ended()
    record = place.evidence(1).records[0]
    assert record["memory"]["oomKills"] >= 1
    assert record["exitCode"] == 137


def test_an_attempt_outlives_the_process_that_launched_it(bench: Bench) -> None:
    place = bench.run(counting(total=40, pause=0.05))
    place.launch(1, Size(), resume=False)
    other = LocalPlace(place._setting)  # what the next supervisor makes of the same files
    bench.place = other
    bench.stepping()
    other.launch(1, Size(), resume=False)  # launching it again does nothing
    bench.ended()
    assert end_of(other) == (0, "Completed")
    assert other.logs(1).count("counted") == 1


@pytest.mark.parametrize("victim", ["shim", "main"])
def test_whoever_is_killed_the_attempt_is_seen_to_end(bench: Bench, victim: str) -> None:
    place = bench.run(counting(total=400, pause=0.05))
    place.launch(1, Size(memory=256 * MIB), resume=False)
    bench.stepping()
    who = shim_of(bench)
    os.kill(who[victim]["pid"], signal.SIGKILL)
    if victim == "shim":
        bench.wait(1, lambda seen: seen.state == "running")
        place.stop(1, 5.0)
    seen = bench.ended()
    assert seen.progress is not None
    assert place.evidence(1).records[0]["step"] >= 1


def test_a_stop_gives_time_to_save(bench: Bench) -> None:
    place = bench.run(counting(total=10_000, pause=0.05), grace=10.0)
    place.launch(1, Size(), resume=False)
    bench.stepping(step=3)
    place.stop(1, 10.0)
    seen = bench.ended()
    assert seen.saved is not None
    assert seen.progress is not None
    assert seen.saved.step == seen.progress.step


def test_who_does_not_listen_is_killed_after_the_grace_period(bench: Bench) -> None:
    place = bench.run(STUBBORN, grace=1.0)
    place.launch(1, Size(), resume=False)
    bench.wait(1, lambda _: "deaf" in place.logs(1))
    place.stop(1, 1.0)
    bench.ended()
    assert end_of(place)[0] == 137


def test_what_daemonises_is_ended_with_the_attempt(bench: Bench) -> None:
    place = bench.run(FORKING)
    place.launch(1, Size(), resume=False)
    bench.ended()
    assert end_of(place) == (3, "Error")
    assert Identity.of(int((bench.folder / "daemon").read_text())) is None


def test_a_gang_dies_together(bench: Bench) -> None:
    script = (
        "import os, time\nif os.environ['TONNAGE_NODE'] == '1':\n    raise SystemExit(7)\ntime.sleep(60)\n"
    )
    place = bench.run(script, nodes=2, grace=2.0)
    place.launch(1, Size(), resume=False)
    bench.ended()
    assert end_of(place, node=1) == (7, "Error")
    assert end_of(place, node=0)[0] in (137, 143)


def test_a_limit_can_be_raised_while_it_runs(bench: Bench) -> None:
    place = bench.run(leaking(total=60, bytes_=2 * MIB, pause=0.05))
    place.launch(1, Size(memory=80 * MIB), resume=False)
    bench.stepping()
    assert place.resize(1, 512 * MIB)
    bench.ended()
    assert end_of(place) == (0, "Completed")


def test_the_command_gets_its_micro_batch_and_the_document_s_variables(bench: Bench) -> None:
    script = "import os, sys\nprint(sys.argv[1:], os.environ['MODE'], os.environ['TONNAGE_ACCUMULATION'])\n"
    place = bench.run(script, extra="  env: {MODE: fast}\n  train: {microBatch: 8, accumulation: 2}\n")
    spec = place._setting.run.spec
    words = (*(spec.command or ()), "--batch={microBatch}")
    object.__setattr__(spec, "command", words)
    place.launch(1, Size(micro_batch=4, accumulation=4), resume=False)
    bench.ended()
    assert place.logs(1)[-1] == "['--batch=4'] fast 4"


def test_a_command_that_does_not_exist_is_told_apart_from_one_that_failed(bench: Bench) -> None:
    place = bench.run("")
    object.__setattr__(place._setting.run.spec, "command", ("no-such-program",))
    place.launch(1, Size(), resume=False)
    bench.ended()
    assert end_of(place)[0] == 127


def test_secrets_come_from_the_environment_and_are_asked_for(bench: Bench) -> None:
    place = bench.run("", extra="  secrets: {HF_TOKEN: hub/token}\n")
    with pytest.raises(RefusedError, match="RUN-112"):
        place.launch(1, Size(), resume=False)


def test_nothing_is_left_behind(bench: Bench) -> None:
    place = bench.run(leaking())
    place.launch(1, Size(memory=64 * MIB), resume=False)
    bench.ended()
    who = shim_of(bench)
    bench.wait(1, lambda _: Identity.of(who["shim"]["pid"]) is None)
    kept_in = who["cgroup"]
    assert (kept_in is not None) == cgroups.is_permitted()
    assert kept_in is None or not Path(str(kept_in)).exists()


def test_a_command_whose_limit_could_not_be_set_up_is_not_started(tmp_path: Path) -> None:
    """Whatever fails between making the process and letting it go (here: writing who it is) lets nothing through."""
    told = {"argv": ["touch", str(tmp_path / "ran")], "env": dict(os.environ), "cwd": str(tmp_path)}
    (tmp_path / "start.json").write_text(json.dumps({**told, "cgroup": "none", "graceSeconds": 1}))
    (tmp_path / "shim.json").mkdir()
    subprocess.run([sys.executable, "-m", "tonnage.local.shim", str(tmp_path)], check=True)
    assert json.loads((tmp_path / "exit.json").read_text())["reason"] == "StartError"
    assert not (tmp_path / "ran").exists()
