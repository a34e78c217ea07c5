"""Before a command starts, every node reaches every other, or the missing or slow one is named on all of them."""

from __future__ import annotations

import socket
import threading
import time
from typing import ClassVar

import pytest
from wrapped_commands import Agent, python

from tonnage_agent.peers.checking import Asked, Verdict, check_peers
from tonnage_agent.peers.judging import judge
from tonnage_agent.peers.listening import Identity

GB = 1e9


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


class Gang:
    """Agents' checks on one machine, each at a loopback address of its own."""

    def __init__(self, nodes: int, seconds: float = 20.0, **more) -> None:
        self.port = free_port()
        self.peers = [f"127.0.0.{10 + node}:{self.port}" for node in range(nodes)]
        self._seconds, self._more = seconds, more

    def check(
        self, nodes: list[int], rates: dict[int, float] | None = None, attempts: dict[int, int] | None = None
    ):
        """The verdicts of these nodes, checking at the same time."""
        found: dict[int, Verdict] = {}

        def one(node: int) -> None:
            me = Identity("run", (attempts or {}).get(node, 1), node)
            asked = Asked(
                tuple(self.peers), me, self._seconds, send_rate=(rates or {}).get(node), **self._more
            )
            found[node] = check_peers(asked)

        threads = [threading.Thread(target=one, args=(node,)) for node in nodes]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return found


@pytest.mark.parametrize("nodes", [2, 3])
def test_a_whole_gang_is_measured_and_all_say_the_same(nodes):
    gang = Gang(nodes)
    found = gang.check(list(range(nodes)))

    assert len({verdict.line for verdict in found.values()}) == 1
    assert all(verdict.is_complete for verdict in found.values())
    assert found[0].line.startswith(f"all {nodes} nodes reach each other; ")
    assert "round trip" in found[0].line or "slow" in found[0].line


def test_the_ports_are_free_again_at_once():
    gang = Gang(2)
    gang.check([0, 1])

    for node in (0, 1):
        with (
            socket.socket() as probe
        ):  # no SO_REUSEADDR: nothing of the check is left, not even a closing connection
            probe.bind((f"127.0.0.{10 + node}", gang.port))


def test_a_missing_node_is_named_by_all_others():
    found = Gang(3, seconds=1.5).check([0, 2])

    for verdict in found.values():
        assert not verdict.is_complete
        assert "node 1 (127.0.0.11:" in verdict.line
        assert "connection refused" in verdict.line


def test_a_name_that_does_not_resolve_is_said():
    gang = Gang(2, seconds=1.5)
    gang.peers[1] = f"trainer-1.no-such-service.invalid:{gang.port}"
    (verdict,) = gang.check([0]).values()

    assert not verdict.is_complete
    assert "trainer-1.no-such-service.invalid does not resolve" in verdict.line


def test_a_late_node_is_waited_for():
    gang = Gang(2)
    late: dict = {}
    timer = threading.Timer(1.0, lambda: late.update(gang.check([1])))
    timer.start()
    found = gang.check([0])
    timer.join()

    assert found[0].is_complete
    assert late[1].is_complete


def test_one_that_gives_up_tells_the_others_why():
    gang = Gang(3, seconds=2.0)
    patient = Gang(3, seconds=60.0)
    patient.port, patient.peers = gang.port, gang.peers
    began = time.monotonic()
    other: dict = {}
    thread = threading.Thread(target=lambda: other.update(patient.check([1])))
    thread.start()
    found = gang.check([0])
    thread.join()

    assert time.monotonic() - began < 10
    assert other[1].line == found[0].line
    assert "node 2" in found[0].line


def test_pods_of_an_attempt_that_is_ending_are_not_our_peers():
    found = Gang(2, seconds=1.5).check([0, 1], attempts={0: 2, 1: 1})

    assert "answered by attempt 1" in found[0].line


def test_something_else_on_the_port_is_told_apart():
    gang = Gang(2, seconds=1.5)

    def greet(listening: socket.socket) -> None:
        while True:
            try:
                with listening.accept()[0] as connection:
                    connection.sendall(b"SSH-2.0-OpenSSH\r\n")
            except OSError:
                return

    with socket.create_server(("127.0.0.11", gang.port)) as other:
        thread = threading.Thread(target=greet, args=(other,))
        thread.start()
        (verdict,) = gang.check([0]).values()
        other.shutdown(socket.SHUT_RDWR)
        thread.join()

    assert not verdict.is_complete
    assert f"127.0.0.11 port {gang.port} is served by something else" in verdict.line


def test_a_slow_node_is_named_not_its_neighbours():
    found = Gang(3, link_bytes_per_second=100e6).check([0, 1, 2], rates={1: 8e6})

    for verdict in found.values():
        assert verdict.is_complete
        assert not verdict.is_fast
        assert "node 1 is slow" in verdict.line
        assert "node 0 is slow" not in verdict.line
        assert "plan 100 MB/s" in verdict.line


def test_a_port_that_is_taken_is_said():
    gang = Gang(2, seconds=1.0)
    with socket.create_server(("127.0.0.10", gang.port)):
        (verdict,) = gang.check([0]).values()

    assert verdict.line == f"node 0 cannot open port {gang.port}: Address already in use"


class TestJudging:
    RING: ClassVar = {(0, 1): 1.2 * GB, (1, 2): 1.1 * GB, (2, 3): 1.2 * GB, (3, 0): 1.2 * GB,
            (1, 0): 1.2 * GB, (2, 1): 1.2 * GB, (3, 2): 1.1 * GB, (0, 3): 1.2 * GB}  # fmt: skip

    def test_all_is_well(self):
        assert judge(self.RING, [0.0002], assumed=1.25 * GB) == (
            True, "links 1.1 GB/s to 1.2 GB/s, round trip 0.2 ms, plan 1.25 GB/s",
        )  # fmt: skip

    def test_a_node_that_receives_slowly_is_named(self):
        links = {**self.RING, (1, 2): 0.1 * GB, (3, 2): 0.12 * GB}

        assert judge(links, [])[1] == "node 2 is slow: 100 MB/s (others 1.2 GB/s)"

    def test_a_slow_cable_is_a_link_not_a_node(self):
        links = {**self.RING, (1, 2): 0.1 * GB, (2, 1): 0.12 * GB}

        assert (
            judge(links, [])[1]
            == "slow link, node 1 to node 2: 100 MB/s; node 2 to node 1: 120 MB/s (others 1.2 GB/s)"
        )

    def test_all_slower_than_planned_blames_nobody(self):
        is_fast, line = judge(self.RING, [0.001], assumed=12.5 * GB)

        assert not is_fast
        assert line == "all links are slow: 1.1 GB/s to 1.2 GB/s, plan 12.5 GB/s, round trip 1 ms"

    def test_a_fabric_faster_than_this_check_is_not_called_slow(self):
        is_fast, line = judge(self.RING, [], assumed=50 * GB, ceiling=2 * GB)

        assert is_fast
        assert "as fast as this check can tell, plan 50 GB/s" in line

    def test_two_nodes_have_one_link(self):
        assert judge({(0, 1): 1e6, (1, 0): 1e9}, [], assumed=1e9) == (
            False, "slow link, node 0 to node 1: 1 MB/s (others 1 GB/s, plan 1 GB/s)",
        )  # fmt: skip


class TestWithAgents:
    def start(self, tmp_path, port: int, node: int, count: int, script: str, **settings: str) -> Agent:
        folder = tmp_path / str(node)
        folder.mkdir()
        peers = ",".join(f"127.0.0.{20 + each}:{port}" for each in range(count))
        return Agent(folder, *python(script), peers=peers, node=str(node), nodes=str(count), **settings)

    def test_the_commands_start_when_all_are_there_and_the_port_is_theirs(self, tmp_path):
        port = free_port()
        script = f"import os, socket; s = socket.socket(); s.bind(('127.0.0.2' + os.environ['TONNAGE_NODE'], {port}))"
        agents = [self.start(tmp_path, port, node, 2, script) for node in (0, 1)]

        for agent in agents:
            code, _, err = agent.end()
            assert (code, err.decode().startswith("tonnage: peers: all 2 nodes reach each other; ")) == (
                0,
                True,
            ), err

    def test_a_gang_that_is_not_whole_does_not_start(self, tmp_path):
        script = f"open({str(tmp_path / 'started')!r}, 'w')"
        agent = self.start(tmp_path, free_port(), 0, 2, script, peers_seconds="1")

        code, _, err = agent.end()
        record = agent.record
        assert code == 80
        assert (record["cause"], record["exitCode"], record["state"]) == ("preflight", 80, "ended")
        assert "node 1 (127.0.0.21:" in record["message"]
        assert record["peers"] in err.decode()
        assert not (tmp_path / "started").exists()

    def test_sigterm_ends_the_wait(self, tmp_path):
        agent = self.start(tmp_path, free_port(), 0, 2, "", peers_seconds="60")
        agent.until(lambda record: record["state"] == "starting")
        time.sleep(0.3)
        agent.process.terminate()

        assert agent.end(10)[0] == 143
        assert agent.record["cause"] == "terminated"
