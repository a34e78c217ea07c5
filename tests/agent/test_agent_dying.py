"""Whoever dies, and even if all die in the same instant: the record tells how it stood."""

from __future__ import annotations

import json
import os
import signal
import time
from pathlib import Path

import pytest
from wrapped_commands import Agent, descendants, is_alive, python

V1 = Path("/sys/fs/cgroup/memory")
TRAINER = """
import json, os, socket, time
ear = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
def tell(**event): ear.sendto(json.dumps({"when": time.time(), **event}).encode(), os.environ["TONNAGE_SOCKET"])
tell(event="resumed", step=40, path="ckpt/40")
tell(event="phase", name="step", state="begin")
for step in range(41, 10**9):
    tell(event="step", step=step, total=1000, loss=1/step, seconds=0.02, data=0.001, collective=0.002, rank=0)
    if step == 50: tell(event="checkpoint", step=50, path="ckpt/50", seconds=0.1, bytes=123)
    print("working on", step, flush=True)
    time.sleep(0.02)
"""


def is_past(step: int):
    return lambda record: record.get("step", 0) >= step and record["checkpoint"]["step"] == 50


def test_the_command_killed_alone_is_told_with_all_that_led_there(tmp_path):
    agent = Agent(tmp_path, *python(TRAINER))
    agent.until(is_past(60))
    os.kill(descendants(agent.process.pid)[0], signal.SIGKILL)

    assert agent.end()[0] == 137
    record = agent.record
    assert (record["state"], record["signal"], record["exitCode"]) == ("ended", 9, 137)
    assert record["message"] == "the command was ended by signal 9"
    assert record["resumedFrom"] == 40
    assert {**record["checkpoint"], "when": 0} == {
        "step": 50,
        "path": "ckpt/50",
        "seconds": 0.1,
        "bytes": 123,
        "when": 0,
    }
    assert (record["total"], record["stepSeconds"], record["dataSeconds"]) == (1000, 0.02, 0.001)
    assert record["collectiveSeconds"] == 0.002
    assert record["log"][-1] == f"working on {record['step']}"
    assert record["memory"]["phases"]["step"] > 0


def test_agent_and_command_killed_in_the_same_instant_leave_the_last_second(tmp_path):
    agent = Agent(tmp_path, *python(TRAINER))
    agent.until(is_past(60))
    died = time.time()
    agent.kill_all()

    for found in (agent.record, agent.message):
        assert found["state"] == "running"
        assert found["step"] >= 60
        assert found["checkpoint"]["step"] == 50
        assert died - found["updatedAt"] < 2
        assert found["memory"]["usage"] > 0
        assert found["log"][-1].startswith("working on")
    assert agent.samples[-1]["step"] >= 60


def test_a_trainer_does_not_outlive_its_agent(tmp_path):
    agent = Agent(tmp_path, *python(TRAINER))
    agent.until(is_past(60))
    trainer = descendants(agent.process.pid)[0]
    agent.process.kill()
    agent.end()
    deadline = time.monotonic() + 10
    while is_alive(trainer) and time.monotonic() < deadline:
        time.sleep(0.02)

    assert not is_alive(trainer)
    assert agent.record["step"] >= 60


def test_read_while_written_and_killed_at_any_instant_the_record_is_always_whole(tmp_path):
    for number in range(12):
        folder = tmp_path / str(number)
        folder.mkdir()
        agent = Agent(folder, *python(TRAINER), sample_seconds="0.005")
        agent.until(lambda record: record.get("step", 0) > 41)
        until = time.monotonic() + 0.05 + 0.037 * (number % 5)
        while time.monotonic() < until:  # read while it is written, and at the instant of death
            assert agent.message["state"] == "running"
            assert agent.record["run"] == "a-run"
        agent.kill_all()

        assert agent.message["step"] >= 41
        assert agent.record["step"] >= 41


def test_a_full_disk_ends_neither_the_command_nor_the_record(tmp_path, small_disk):
    filler = small_disk / "checkpoint"
    script = (
        f"import time\nf = open({str(filler)!r}, 'wb', 0)\n"
        "try:\n    while True: f.write(bytes(65536))\n"
        "except OSError as error: print(error, flush=True)\n"
        "time.sleep(1); print('still here', flush=True)"
    )
    agent = Agent(tmp_path, *python(script), record=str(small_disk))
    code, out, _ = agent.end()

    record = json.loads((small_disk / "attempt-1/node-0/record.json").read_bytes())
    assert (code, out) == (0, b"[Errno 28] No space left on device\nstill here\n")
    assert record["log"] == ["[Errno 28] No space left on device", "still here"]
    assert record["exitCode"] == 0


def test_a_record_that_cannot_be_kept_there_is_kept_here_and_said(tmp_path):
    (tmp_path / "file").write_text("")
    agent = Agent(tmp_path, "true", record=str(tmp_path / "file"))

    code, _, err = agent.end()
    said = err.decode()
    assert code == 0
    assert said.startswith("tonnage: the record is kept in ")
    assert "of this container only" in said
    kept = Path(said.split(" is kept in ")[1].split()[0])
    assert json.loads((kept / "record.json").read_bytes())["state"] == "ended"
    for name in kept.iterdir():
        name.unlink()
    kept.rmdir()


@pytest.fixture
def small_disk(tmp_path):
    if os.geteuid() != 0:
        pytest.skip("mounting a small disk needs root")
    place = tmp_path / "disk"
    place.mkdir()
    if os.system(f"mount -t tmpfs -o size=2m none {place} 2>/dev/null") != 0:
        pytest.skip("a small disk cannot be mounted here")
    yield place
    os.system(f"umount -l {place}")


@pytest.fixture
def memory_cgroup(tmp_path):
    """A cgroup of version 1 with a limit of 64 MiB."""
    folder = V1 / f"tonnage-agent-{os.getpid()}-{tmp_path.name[-20:]}"
    try:
        folder.mkdir()
        (folder / "memory.limit_in_bytes").write_text(str(64 << 20))
    except OSError as error:
        pytest.skip(f"no memory cgroup of version 1 can be made here: {error}")
    yield folder
    for _ in range(100):
        try:
            folder.rmdir()
            break
        except OSError:
            for pid in (folder / "cgroup.procs").read_text().split():
                os.kill(int(pid), signal.SIGKILL)
            time.sleep(0.05)


LEAK = "import os, time\nheld = []\nfor _ in range(200): held.append(os.urandom(1 << 20)); time.sleep(0.02)\n"


def test_the_kernels_oom_kill_is_told(tmp_path, memory_cgroup):
    agent = Agent(tmp_path, *python(LEAK), inside=memory_cgroup)
    code, _, _ = agent.end(60)

    record = agent.record
    assert code == 137
    assert record["memory"]["oomKills"] == 1
    assert record["memory"]["limit"] == 64 << 20
    assert record["memory"]["peak"] > 60 << 20
    assert record["message"] == "the command was OOM-killed by the kernel (1 so far)"
    assert record["processes"][0]["bytes"] > 20 << 20


def test_a_child_that_was_oom_killed_is_told_even_if_the_command_ends_well(tmp_path, memory_cgroup):
    script = f"import subprocess, sys\nsubprocess.run([sys.executable, '-c', {LEAK!r}])\nprint('done')"
    agent = Agent(tmp_path, *python(script), inside=memory_cgroup)
    code, out, _ = agent.end(60)

    assert (code, out) == (0, b"done\n")
    assert agent.record["message"] == "one of its processes was OOM-killed by the kernel (1 so far)"
    assert agent.message["memory"]["oomKills"] == 1


def test_a_watched_limit_ends_the_largest_process(tmp_path):
    agent = Agent(
        tmp_path, *python(LEAK + "time.sleep(60)"), memory_limit=str(96 << 20), sample_seconds="0.05"
    )
    code, _, _ = agent.end(60)

    record = agent.record
    assert code == 137
    assert (record["cause"], record["memory"]["oomKills"]) == ("memory", 1)
    assert record["memory"]["source"] == "processes"
    assert 96 << 20 < record["memory"]["peak"] < 192 << 20
    assert "killed: all processes hold" in record["message"]
