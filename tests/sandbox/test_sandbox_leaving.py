"""Whatever happens to the command, `down` leaves no process and no file, and disturbs no other sandbox."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from pathlib import Path

import pytest
from sandbox_command import Command

from tonnage.sandbox import Sandbox
from tonnage.sandbox.components import CONTROL_PLANE
from tonnage.sandbox.obtaining import obtain
from tonnage.sandbox.showing import QUIET

pytestmark = pytest.mark.sandbox


@pytest.fixture
def command(tmp_path: Path):
    made = Command(tmp_path / "state")
    yield made
    made.run("down", "--all")


def has_started(command: Command, part: str) -> bool:
    return any(f"/{part} " in words or f"/{part}-" in words for words in command.processes())


@pytest.mark.parametrize("part", ["etcd", "kwok"])
def test_down_leaves_nothing_after_a_start_killed_half_way(command: Command, part: str) -> None:
    starting = command.start("up", "--nodes", "cpu=1")
    deadline = time.monotonic() + 120
    while not has_started(command, part):
        assert time.monotonic() < deadline, "the part never started"
        assert starting.poll() is None, "it finished before we could kill it"
        time.sleep(0.01)
    starting.send_signal(signal.SIGKILL)
    starting.wait()

    done = command.run("down")

    assert done.returncode == 0, done.stderr
    assert command.processes() == []
    assert command.files() == []


def test_a_terminated_start_cleans_up_after_itself(command: Command) -> None:
    starting = command.start("up")
    deadline = time.monotonic() + 120
    while not has_started(command, "kube-apiserver"):
        assert time.monotonic() < deadline
        time.sleep(0.01)
    starting.terminate()
    starting.wait()

    assert starting.returncode == 143
    assert command.processes() == []
    assert command.files() == []


def test_a_second_sandbox_runs_beside_the_first_and_goes_alone(
    command: Command, sandbox: Sandbox, tmp_path: Path
) -> None:
    home_config = tmp_path / "kubeconfig-of-the-user"
    home_config.write_text("mine")
    command.env["KUBECONFIG"] = str(home_config)

    made = command.json("up", "--name", "beside", "--nodes", "4xl4=1")

    assert made["server"] != sandbox.server
    assert command.json("status")["sandboxes"][0]["nodes"] == {"simulated": 1, "real": 0, "ready": 1}
    said = command.run("up", "--name", "beside", "--nodes", "4xl4=1")
    assert said.stdout == f"export KUBECONFIG={made['kubeconfig']}\n"
    assert "runs already" in said.stderr
    assert command.json("kubeconfig", "--name", "beside")["kubeconfig"] == made["kubeconfig"]
    assert command.json("down", "--name", "beside") == {"removed": ["beside"]}
    assert command.json("down", "--name", "beside") == {"removed": []}
    assert (command.processes(), command.files()) == ([], [])
    assert home_config.read_text() == "mine"
    assert sandbox.api.is_ready()


def test_a_part_that_cannot_start_is_named_with_its_last_words_and_nothing_stays(
    command: Command, tmp_path: Path
) -> None:
    broken = tmp_path / "bin" / "etcd"
    broken.parent.mkdir()
    broken.write_text(
        '#!/bin/sh\n[ "$1" = --version ] && echo "etcd Version: 3.6.8" && exit\necho disk on fire\nexit 1\n'
    )
    broken.chmod(0o755)
    command.env["PATH"] = f"{broken.parent}:{command.env['PATH']}"

    failed = command.run("up")

    assert failed.returncode == 1
    assert "etcd ended before it was ready  BOX-020" in failed.stderr
    assert "disk on fire" in failed.stderr
    assert (command.processes(), command.files()) == ([], [])


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become somebody else")
def test_without_root_everything_but_real_nodes_works(tmp_path_factory: pytest.TempPathFactory) -> None:
    home = tmp_path_factory.mktemp("nobody")
    for folder in (home, *home.parents):
        if folder.owner() == "root" and str(folder).startswith("/tmp/"):
            folder.chmod(folder.stat().st_mode | 0o011)
    programs = home / "bin"
    programs.mkdir()
    for name, path in obtain(CONTROL_PLANE, QUIET).items():
        _link(path, programs / name)
    os.chown(home, 65534, 65534)
    # May read everything, so that this Python and these sources can be run from root's home; nothing else.
    reading = ("--inh-caps=+dac_read_search", "--ambient-caps=+dac_read_search")
    prefix = ("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", *reading)
    env = {"HOME": str(home), "XDG_CACHE_HOME": "", "PATH": f"{programs}:/usr/bin:/bin"}
    command = Command(home / "state", prefix, env)
    try:
        made = command.json("up", "--nodes", "8xh100=2")
        assert command.json("status")["sandboxes"][0]["nodes"]["ready"] == 2
        assert Path(made["kubeconfig"]).stat().st_uid == 65534
        refused = command.run("up", "--name", "real", "--real-nodes", "1")
        assert refused.returncode == 1
        assert "real nodes need root" in refused.stderr
        assert "BOX-006" in refused.stderr
    finally:
        command.run("down", "--all")
    assert (command.processes(), command.files()) == ([], [])


def _link(source: Path, target: Path) -> None:
    try:
        target.hardlink_to(source)
    except OSError:
        subprocess.run(["cp", str(source), str(target)], check=True)
