"""What tests do to a running node: enter it, crash it, cut its cable, boot it again, change its kubelet.

Each is what it says on a real machine. `crash` kills the node's one process and the kernel ends the rest in
the same instant: no goodbye, no status. `partition` pulls the cable: containers run on and nobody hears of
it.
"""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from tonnage.errors import EnvironmentProblem, Problem
from tonnage.sandbox import processes
from tonnage.sandbox.realnode import network
from tonnage.sandbox.realnode.booting import boot, node_called, wait_until_ready, write_kubelet_config
from tonnage.sandbox.realnode.layout import RealNode
from tonnage.sandbox.state import Sandbox

_RESTART_SECONDS = 120.0


def crash(node: RealNode) -> None:
    """The machine loses its power: every process of the node is gone when this returns."""
    pid, inside = node.pid, node.init_pid
    os.kill(pid, signal.SIGKILL)
    _wait_for(lambda: processes.started_at(inside) is None, f"{node.name} did not end")
    with suppress(ChildProcessError):
        os.waitpid(pid, 0)


def reboot(sandbox: Sandbox, node: RealNode) -> None:
    """Switch a crashed node on again, with the disk it had; returns when it is Ready."""
    since = time.time()
    boot(sandbox, node)
    wait_until_ready(sandbox, [node], since=since)


def partition(node: RealNode) -> None:
    """Cut the node off: its containers run on, and no word goes in or out."""
    network.set_cable(node, up=False)


def heal(node: RealNode) -> None:
    """Plug the cable in again."""
    network.set_cable(node, up=True)


def reconfigure(sandbox: Sandbox, name: str, overrides: Mapping[str, Any]) -> None:
    """Restart only the kubelet, with `overrides` over the sandbox's own settings; containers run on.

    Returns when the new kubelet has reported Ready. An empty mapping restores what the node started with.
    """
    node = node_called(sandbox, name)
    write_kubelet_config(sandbox, node, {**sandbox.request.kubelet_overrides, **overrides})
    restart_kubelet(sandbox, node)


def restart_kubelet(sandbox: Sandbox, node: RealNode) -> None:
    """Restart the node's kubelet; returns when the new one has reported Ready."""
    number = node.root / "run/kubelet.pid"
    before, since = number.read_text(), time.time()
    enter(node, ["kill", before.strip()])
    _wait_for(lambda: number.read_text() not in ("", before), f"the kubelet of {node.name} did not restart")
    wait_until_ready(sandbox, [node], since=since + 1)


def enter(node: RealNode, argv: Sequence[str], *, stdin: Path | None = None) -> str:
    """Run a command inside the node, in all its namespaces, and return what it printed."""
    command = ["nsenter", f"--target={node.init_pid}", "--mount", "--net", "--pid", "--uts", "--ipc", *argv]
    with (stdin or Path(os.devnull)).open("rb") as source:
        done = subprocess.run(command, stdin=source, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise EnvironmentProblem(
            Problem(
                code="BOX-206",
                what=f"a command inside the real node {node.name} failed",
                where=" ".join(argv),
                found=(done.stderr or done.stdout).strip()[-600:] or f"exit code {done.returncode}",
            )
        )
    return done.stdout


def _wait_for(condition: Callable[[], bool], what: str) -> None:
    deadline = time.monotonic() + _RESTART_SECONDS
    while not condition():
        if time.monotonic() > deadline:
            raise EnvironmentProblem(
                Problem(code="BOX-207", what=what, found=f"waited {_RESTART_SECONDS:.0f} s")
            )
        time.sleep(0.02)
