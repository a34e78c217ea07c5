"""What the SDK costs a training step, with an agent listening, and what it does to saving.

Prints one line of JSON: CPU microseconds per step of a loop that does nothing but `run.steps`, telling a loss and the
wait for data, and asking whether a save is due (the promise is below 20); and the speed of a checkpoint in a folder
that is hashed, synced and read back. The agent's end is another process; the median of several rounds.
"""

from __future__ import annotations

import json
import multiprocessing
import os
import socket
import statistics
import sys
import tempfile
import time
from pathlib import Path

from tonnage_agent import sdk
from tonnage_agent.keeper import Keeper
from tonnage_agent.keeper.folder import FolderPlace

LIMIT_MICROSECONDS = 20.0
STEPS = 20_000
ROUNDS = 9
MIB = 256


def step_microseconds(home: Path) -> float:
    """CPU time of one step that does nothing but tell."""
    listening = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    listening.bind(str(home / "socket"))
    agent = multiprocessing.get_context("fork").Process(target=_swallow, args=(listening,), daemon=True)
    agent.start()
    environment = {"TONNAGE_SOCKET": str(home / "socket"), "TONNAGE_CONTROL": str(home / "control")}
    (home / "control").write_text('{"save": 0}')
    run = sdk.attach(checkpoints=home / "c", every=1e9, environment=environment)
    batches = run.loading(iter(range(STEPS)))
    began = time.process_time()
    for step in run.steps(STEPS):
        next(batches)
        run.note(loss=0.5)
        run.save_if_due(step, b"x")
    with_sdk = time.process_time() - began
    agent.terminate()
    agent.join()
    listening.close()
    return with_sdk / STEPS * 1e6


def save_figures(home: Path) -> tuple[float, float]:
    """MiB per second of a proven save, and of a bare write and sync of the same bytes."""
    content = os.urandom(1 << 20) * MIB
    began = time.perf_counter()
    with (home / "bare").open("wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    bare = time.perf_counter() - began
    made = Keeper(FolderPlace(home / "kept"), attempt=1).save(1, content)
    return MIB / made.seconds, MIB / bare


def main() -> int:
    rounds = []
    for _ in range(ROUNDS):
        with tempfile.TemporaryDirectory() as home:
            rounds.append(step_microseconds(Path(home)))
    with tempfile.TemporaryDirectory() as home:
        proven, bare = save_figures(Path(home))
    figures = {
        "benchmark": "sdk_cost",
        "microseconds_per_step": round(statistics.median(rounds), 1),
        "best_round": round(min(rounds), 1),
        "limit": LIMIT_MICROSECONDS,
        "proven_save_mib_per_second": round(proven),
        "bare_write_and_sync_mib_per_second": round(bare),
    }
    print(json.dumps(figures))
    return 0 if statistics.median(rounds) <= LIMIT_MICROSECONDS else 1


def _swallow(listening: socket.socket) -> None:
    while True:
        try:
            listening.recv(8192)
        except OSError:
            return


if __name__ == "__main__":
    sys.exit(main())
