"""Metrics are what Prometheus reads, and the port answers nothing else, however it is asked."""

from __future__ import annotations

import re
import shutil
import socket
import subprocess
import time
import urllib.error
import urllib.request
from pathlib import Path

import pytest
from wrapped_commands import Agent, python

from tonnage_agent.metrics import NAMES, exposition
from tonnage_agent.record import Record
from tonnage_agent.serving import MOST_AT_ONCE, Server

FULL = Record(
    run='a "run"\nof\\mine', attempt=2, node=1, state="running", started_at=1.0, step=7, total=9, loss=0.5, step_at=2.0,
    step_seconds=0.1, data_seconds=0.01, collective_seconds=0.02, phase="step",
    checkpoint={"step": 5, "when": 1.5, "seconds": 0.2, "bytes": 10},
    memory={"usage": 1, "peak": 2, "limit": 3, "workingSet": 1, "needed": 1, "oomKills": 0, "growthPerSecond": -4,
            "stalledMicros": 5, "phases": {"load": 2, "step": 1}},
    gpus=[{"index": 0, "uuid": "GPU-1", "used": 1, "total": 2, "activity": 50, "watts": 300.5},
          {"index": 1, "lost": True}],
    shm={"path": "/dev/shm", "totalBytes": 2, "freeBytes": 1},
    disk={"work": {"path": "/w", "totalBytes": 2, "freeBytes": 1}},
    processes=[{"pid": 5, "name": "python", "kind": "main", "bytes": 7}],
)  # fmt: skip
COUNTERS = {
    "cpu": {"usedMicros": 1, "throttledMicros": 2, "limitCores": 3.5},
    "io": {"readBytes": 1, "writtenBytes": 2},
    "net": {"receivedBytes": 1, "sentBytes": 2, "segmentsAgain": 3,
            "rdma": [{"name": "mlx5_0/1", "receivedBytes": 4, "sentBytes": 5, "troubles": {"out_of_sequence": 6}}]},
}  # fmt: skip
SAMPLE = re.compile(
    r'^(?P<name>[a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{(?P<labels>(?:[a-zA-Z_][a-zA-Z0-9_]*="(?:[^"\\\n]|\\["\\n])*",?)*)\})?'
    r" (?P<value>[-+]?(?:[0-9.]+(?:e[-+]?[0-9]+)?|Inf|NaN))$"
)


def parse(text: str) -> dict[str, dict[str, float]]:
    """The text format as its document says: HELP and TYPE once and before their samples, no series twice."""
    assert text.endswith("\n")
    types: dict[str, str] = {}
    series: dict[str, dict[str, float]] = {}
    current = ""
    for line in text.splitlines():
        if line.startswith("# HELP "):
            current = line.split(" ", 3)[2]
            assert current not in types
        elif line.startswith("# TYPE "):
            _, _, name, kind = line.split(" ")
            assert name == current
            assert kind in ("gauge", "counter")
            assert (kind == "counter") == name.endswith("_total")
            types[name] = kind
        else:
            match = SAMPLE.match(line)
            assert match, line
            assert match["name"] == current
            found = series.setdefault(current, {})
            assert match["labels"] not in found
            found[match["labels"]] = float(match["value"])
    return series


def test_a_full_record_has_every_documented_series_and_parses():
    series = parse(exposition(FULL, COUNTERS, cost=1_500_000, wall=99.0))

    assert set(series) == set(NAMES)
    common = 'run="a \\"run\\"\\nof\\\\mine",attempt="2",node="1"'
    assert series["tonnage_cost_dollars"] == {common: 1.5}
    assert series["tonnage_memory_phase_peak_bytes"][f'{common},phase="load"'] == 2
    assert series["tonnage_gpu_activity_ratio"] == {f'{common},gpu="0",uuid="GPU-1"': 0.5}


def test_what_is_unknown_is_left_out():
    series = parse(exposition(Record(), {}))

    assert set(series) == {"tonnage_up", "tonnage_state"}


def test_promtool_agrees():
    promtool = shutil.which("promtool")
    if promtool is None:
        pytest.skip("promtool (package prometheus) is not installed")
    checked = subprocess.run(
        [promtool, "check", "metrics"], input=exposition(FULL, COUNTERS, cost=1, wall=1.0).encode(),
        capture_output=True,
        check=False,
    )  # fmt: skip

    assert (checked.returncode, checked.stderr.decode()) == (0, "")


def test_the_docs_name_every_metric():
    page = (Path(__file__).parents[2] / "docs" / "agent.md").read_text()

    assert [name for name in NAMES if f"`{name}`" not in page] == []


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def get(port: int, path: str) -> tuple[int, str]:
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=10) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.read().decode()


def test_a_running_agent_is_scraped(tmp_path):
    port = free_port()
    script = (
        "import time\n"
        "for step in range(1, 2000): print(f'step {step}/2000 loss 0.5', flush=True); time.sleep(0.02)"
    )
    agent = Agent(
        tmp_path, *python(script), metrics_port=str(port), price_per_hour="3600000000", spent="1000000"
    )
    agent.until(lambda record: record["step"] > 3)

    status, text = get(port, "/metrics?x=1")
    series = parse(text)
    labels = 'run="a-run",attempt="1",node="0"'
    assert status == 200
    assert series["tonnage_step"][labels] > 3
    assert series["tonnage_steps"][labels] == 2000
    assert series["tonnage_cost_dollars"][labels] > 1
    assert series["tonnage_state"][f'{labels},state="running"'] == 1
    assert get(port, "/healthz") == (200, "ok\n")
    assert get(port, "/etc/passwd")[0] == 404
    agent.process.terminate()
    agent.end()


class TestServer:
    @pytest.fixture
    def server(self):
        server = Server(0, lambda: "tonnage_up 1\n")
        yield server
        server.close()

    def ask(self, server: Server, request: bytes) -> bytes:
        with socket.create_connection(("127.0.0.1", server.port), timeout=10) as connection:
            connection.sendall(request)
            answer = b""
            while True:
                part = connection.recv(4096)
                if not part:
                    return answer
                answer += part

    @pytest.mark.parametrize(
        ("request_", "status"),
        [
            (b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n", b"200"),
            (b"HEAD /metrics HTTP/1.1\r\n\r\n", b"200"),
            (b"POST /metrics HTTP/1.1\r\n\r\n", b"405"),
            (b"GET / HTTP/1.1\r\n\r\n", b"404"),
            (b"nonsense\r\n\r\n", b"400"),
            (b"\x16\x03\x01\x00\xff\n\n", b"400"),
            (b"GET /" + b"x" * 9000 + b" HTTP/1.1\r\n\r\n", b"400"),
        ],
    )
    def test_anything_may_be_asked(self, server, request_, status):
        assert self.ask(server, request_).split()[1] == status

    def test_clients_that_never_finish_do_not_lock_others_out(self, server):
        lazy = [socket.create_connection(("127.0.0.1", server.port)) for _ in range(MOST_AT_ONCE + 2)]
        began = time.monotonic()
        answer = self.ask(server, b"GET /healthz HTTP/1.1\r\n\r\n")
        for connection in lazy:
            connection.close()

        assert answer.endswith(b"ok\n")
        assert time.monotonic() - began < 8

    def test_a_port_in_use_does_not_stop_the_command(self, tmp_path, server):
        agent = Agent(tmp_path, "true", metrics_port=str(server.port))

        code, _, err = agent.end()
        assert (code, err.decode()) == (
            0,
            f"tonnage: no metrics on port {server.port}: Address already in use\n",
        )
