"""What the agent costs: its share of one core and its memory, around commands that sleep and that work hard.

    python benchmarks/agent_cost.py [--seconds 60] [--python INTERPRETER]

Prints one line of JSON and fails above 1 % of a core or 30 MB. The agent runs as it is delivered: packed, with the
settings a cluster gives it (record, termination message, metrics scraped every 15 s), around a command with 64
processes. CPU time is the kernel's count of the agent's own process, start-up excluded and told apart.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path

from tonnage_agent.packing import packed

PROCESSES = 64
MOST_CORE_SHARE = 0.01
MOST_BYTES = 30_000_000
SETTLE_SECONDS = 3.0
SCRAPE_SECONDS = 15.0
SLEEPING = "import os, time\nfor _ in range(63):\n    if os.fork() == 0: break\ntime.sleep(3600)"
BUSY = """
import json, os, socket, time
rank = 0
for rank in range(1, 64):
    if os.fork() == 0: break
else: rank = 0
ear = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
held, step = bytearray(1 << 22), 0
while True:
    until = time.monotonic() + 0.02
    while time.monotonic() < until: held[step % len(held)] = 1
    step += 1
    if rank < 8 and step % 10 == 0:
        event = {"event": "step", "when": time.time(), "step": step, "loss": 1 / step, "rank": rank}
        try: ear.sendto(json.dumps(event).encode(), socket.MSG_DONTWAIT, os.environ["TONNAGE_SOCKET"])
        except OSError: pass
        if rank == 0: print("step", step, "loss", 1 / step, flush=True)
    time.sleep(0.2)
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--python", default=sys.executable)
    options = parser.parse_args()
    told: dict[str, object] = {"seconds": options.seconds, "processes": PROCESSES}
    fine = True
    with tempfile.TemporaryDirectory() as folder:
        archive = Path(folder) / "tonnage-agent.pyz"
        archive.write_bytes(packed())
        told["archive_bytes"] = archive.stat().st_size
        for name, script in (("sleeping", SLEEPING), ("busy", BUSY)):
            figures = measure(options.python, archive, script, options.seconds)
            told[name] = figures
            fine &= figures["core_share"] < MOST_CORE_SHARE and figures["most_resident_bytes"] < MOST_BYTES
    print(json.dumps(told))
    sys.exit(0 if fine else 1)


def measure(python: str, archive: Path, script: str, seconds: float) -> dict[str, float]:
    """One command under an agent for a while."""
    folder, port = archive.parent, 29471
    environment = {
        **os.environ, "TONNAGE_RUN": "cost", "TONNAGE_RECORD": str(folder / "record"),
        "TONNAGE_TERMINATION_MESSAGE": str(folder / "message"), "TONNAGE_METRICS_PORT": str(port),
        "TONNAGE_GRACE_SECONDS": "2", "TONNAGE_CHECKPOINTS": str(folder),
    }  # fmt: skip
    agent = subprocess.Popen(
        [python, str(archive), "run", "--", python, "-c", script], env=environment, stdout=subprocess.DEVNULL
    )
    try:
        await_metrics(port)
        time.sleep(SETTLE_SECONDS)
        start_up, began = cpu_seconds(agent.pid), time.monotonic()
        scraped, most = 0, 0
        while time.monotonic() - began < seconds:
            time.sleep(0.25)
            most = max(most, resident_bytes(agent.pid))
            if time.monotonic() - began > scraped * SCRAPE_SECONDS:
                urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=5).read()
                scraped += 1
        used, took = cpu_seconds(agent.pid) - start_up, time.monotonic() - began
    finally:
        agent.send_signal(signal.SIGTERM)
        agent.wait()
    return {
        "core_share": round(used / took, 5), "most_resident_bytes": most, "start_up_cpu_seconds": round(start_up, 3)
    }  # fmt: skip


def await_metrics(port: int) -> None:
    """Wait until the agent answers: starting is told apart, however busy the machine is."""
    give_up = time.monotonic() + 120
    while time.monotonic() < give_up:
        try:
            urllib.request.urlopen(f"http://127.0.0.1:{port}/healthz", timeout=5).read()
        except OSError:
            time.sleep(0.1)
        else:
            return


def cpu_seconds(pid: int) -> float:
    """CPU time of all threads of a process, those that have ended too, without its children."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def resident_bytes(pid: int) -> int:
    """The most it held so far, as the kernel counts."""
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmHWM"):
            return int(line.split()[1]) * 1024
    return 0


if __name__ == "__main__":
    main()
