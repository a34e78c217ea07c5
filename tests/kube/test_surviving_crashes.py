"""A real API server dies, forgets, and falls silent; the reflector goes on.

A polite stop is no test (the server keeps old watches alive); this one is killed with -9, its etcd
compacted, and started again.
"""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import aclosing
from pathlib import Path
from typing import Any

import pytest

from tonnage.cluster.port import ChangeKind
from tonnage.errors import TonnageError
from tonnage.kube.client import KubeClient
from tonnage.kube.failing import Asked
from tonnage.kube.kinds import find_kind
from tonnage.kube.kubeconfig import Access, Login
from tonnage.kube.port import KubeCluster
from tonnage.kube.watching import Reflector
from tonnage.sandbox.components import ETCD, KUBE_APISERVER
from tonnage.sandbox.obtaining import obtain
from tonnage.sandbox.showing import QUIET

pytestmark = pytest.mark.sandbox
NAMESPACES = find_kind("namespaces")
assert NAMESPACES is not None


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


class Server:
    """An etcd and an API server of our own, to be treated badly."""

    def __init__(self, folder: Path, etcd: str, apiserver: str) -> None:
        self.folder, self._etcd, self._apiserver = folder, etcd, apiserver
        self.ports = {name: free_port() for name in ("client", "peer", "api")}
        subprocess.run(
            ["openssl", "genrsa", "-out", str(folder / "sa.key"), "2048"], check=True, capture_output=True
        )
        (folder / "tokens").write_text('admin,admin,1,"system:masters"\n')
        self.etcd = self._start_etcd()
        self.api = self._start_api()

    @property
    def access(self) -> Access:
        login = Login(token="admin")
        return Access(
            context="c", server=f"https://127.0.0.1:{self.ports['api']}", insecure=True, login=login
        )

    def kill_and_forget(self, client: KubeClient) -> None:
        """kill -9, drop all history in etcd, start again."""
        self.api.kill()
        self.api.wait()
        self._compact()
        self.api = self._start_api()
        self.wait_ready(client)

    def wait_ready(self, client: KubeClient) -> None:
        deadline = time.monotonic() + 120
        while time.monotonic() < deadline:
            assert self.api.poll() is None, (self.folder / "api.log").read_text()[-2000:]
            try:
                client.get("/readyz", Asked("get", "/readyz"))
                return
            except TonnageError:
                time.sleep(0.2)
        raise AssertionError("the API server did not become ready")

    def stop(self) -> None:
        for process in (self.api, self.etcd):
            process.send_signal(signal.SIGCONT)
            process.kill()
            process.wait()

    def _start_etcd(self) -> subprocess.Popen[bytes]:
        client, peer = (f"http://127.0.0.1:{self.ports[name]}" for name in ("client", "peer"))
        return self._start(
            "etcd",
            self._etcd,
            *("--data-dir", str(self.folder / "etcd"), "--unsafe-no-fsync"),
            *("--listen-client-urls", client, "--advertise-client-urls", client, "--listen-peer-urls", peer),
            *("--initial-advertise-peer-urls", peer, "--initial-cluster", f"default={peer}"),
        )

    def _start_api(self) -> subprocess.Popen[bytes]:
        key = str(self.folder / "sa.key")
        return self._start(
            "api",
            self._apiserver,
            *("--etcd-servers", f"http://127.0.0.1:{self.ports['client']}"),
            *("--secure-port", str(self.ports["api"]), "--bind-address", "127.0.0.1"),
            *("--cert-dir", str(self.folder / "certs"), "--token-auth-file", str(self.folder / "tokens")),
            *("--authorization-mode", "RBAC", "--service-account-issuer", "https://x"),
            *("--service-account-key-file", key, "--service-account-signing-key-file", key),
            *("--service-cluster-ip-range", "10.0.0.0/24", "--watch-cache=false"),
        )

    def _start(self, name: str, *command: str) -> subprocess.Popen[bytes]:
        with (self.folder / f"{name}.log").open("ab") as log:
            return subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log)

    def _compact(self) -> None:
        import httpx2

        root = f"http://127.0.0.1:{self.ports['client']}/v3"
        status = httpx2.post(f"{root}/maintenance/status", json={}).json()
        revision = status["header"]["revision"]
        httpx2.post(f"{root}/kv/compaction", json={"revision": revision, "physical": True}, timeout=30)


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    programs = obtain((ETCD, KUBE_APISERVER), QUIET)
    running = Server(tmp_path, str(programs["etcd"]), str(programs["kube-apiserver"]))
    try:
        yield running
    finally:
        running.stop()


def make_namespace(cluster: KubeCluster, name: str) -> None:
    cluster.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})


async def until_seen(changes: Any, name: str, seen: list[tuple[str, str]]) -> None:
    async with asyncio.timeout(90):
        async for change in changes:
            if change.kind is not ChangeKind.SYNCED:
                seen.append((change.kind.value, change.object.metadata.name))
                if change.object.metadata.name == name:
                    return


@pytest.mark.timeout(300)
async def test_a_reflector_survives_a_killed_server_and_a_compacted_history(server: Server) -> None:
    with KubeClient(server.access) as client:
        server.wait_ready(client)
        cluster = KubeCluster(client)
        reflector: Reflector[Any] = Reflector(client, NAMESPACES, longest_wait=1.0)
        seen: list[tuple[str, str]] = []
        async with aclosing(reflector.changes()) as changes:
            await until_seen(changes, "kube-system", seen)
            await asyncio.to_thread(make_namespace, cluster, "before")
            await until_seen(changes, "before", seen)
            # Unrelated writes move the history on, so that our place in it is really gone.
            for number in range(20):
                await asyncio.to_thread(
                    cluster.apply,
                    {
                        "apiVersion": "v1",
                        "kind": "ConfigMap",
                        "metadata": {"name": f"noise-{number}", "namespace": "default"},
                    },
                )
            await asyncio.to_thread(server.kill_and_forget, client)
            await asyncio.to_thread(make_namespace, cluster, "after")
            await until_seen(changes, "after", seen)
            await asyncio.to_thread(make_namespace, cluster, "later")
            await until_seen(changes, "later", seen)

    assert reflector.num_lists >= 2, "the history was compacted, so it must have listed again"
    assert reflector.trouble is None


@pytest.mark.timeout(300)
async def test_a_silent_server_is_noticed_by_the_idle_limit(server: Server) -> None:
    with KubeClient(server.access) as client:
        server.wait_ready(client)
        cluster = KubeCluster(client)
        reflector: Reflector[Any] = Reflector(client, NAMESPACES, idle_seconds=3.0, longest_wait=0.5)
        seen: list[tuple[str, str]] = []
        async with aclosing(reflector.changes()) as changes:
            await until_seen(changes, "kube-system", seen)
            watching = asyncio.create_task(until_seen(changes, "awake", seen))
            await asyncio.sleep(0.5)
            os.kill(server.api.pid, signal.SIGSTOP)
            await asyncio.sleep(5)
            assert reflector.trouble is not None, "five silent seconds with a limit of three must be noticed"
            os.kill(server.api.pid, signal.SIGCONT)
            await asyncio.to_thread(server.wait_ready, client)
            await asyncio.to_thread(make_namespace, cluster, "awake")
            await watching

    assert ("added", "awake") in seen
