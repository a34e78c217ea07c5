"""Every way a call can fail has one clear error with a remedy."""

from __future__ import annotations

import datetime as dt
import socket
import ssl
import subprocess
import threading
from pathlib import Path
from typing import Any

import httpx2
import pytest
from kube_faults import Script, client_of, failure, page

from tonnage.clock import ManualClock
from tonnage.cluster.objects import Pod
from tonnage.cluster.port import Permission
from tonnage.errors import ForbiddenError, RefusedError, TonnageError, UnauthorizedError, UnreachableError
from tonnage.kube.client import KubeClient
from tonnage.kube.decoding import Decoder
from tonnage.kube.failing import Asked, BusyError, NotFoundError, NotInstalledError, from_answer
from tonnage.kube.kinds import find_kind
from tonnage.kube.kubeconfig import Access

PODS = find_kind("pods")
assert PODS is not None


def list_pods(client: KubeClient, namespace: str = "") -> list[Pod]:
    return client.list(PODS, Decoder(Pod, "pods").page, namespace).items


def problem_of(answer: Any, namespace: str = "") -> TonnageError:
    with pytest.raises(TonnageError) as failed:
        list_pods(client_of(Script(answer)), namespace)
    return failed.value


def test_forbidden_names_verb_resource_namespace_and_the_way_out() -> None:
    error = problem_of(
        failure(403, "Forbidden", 'pods is forbidden: User "jane" cannot list resource "pods"'), "ml"
    )

    assert isinstance(error, ForbiddenError)
    for part in ("list pods in namespace ml", "kubectl auth can-i list pods -n ml", "--verb=list", "jane"):
        assert part in str(error)


def test_a_quota_refusal_is_not_a_missing_permission() -> None:
    message = 'pods "a" is forbidden: exceeded quota: gpus, requested: requests.nvidia.com/gpu=8'
    error = from_answer(403, failure(403, "Forbidden", message).content, Asked("create", "pods"))

    assert isinstance(error, RefusedError)
    assert not isinstance(error, ForbiddenError)
    assert "exceeded quota" in str(error)


def test_unauthorised_says_to_log_in_again() -> None:
    error = problem_of(failure(401, "Unauthorized", "Unauthorized"))

    assert isinstance(error, UnauthorizedError)
    assert error.exit_code == 3


def test_a_missing_kind_names_the_component_to_install() -> None:
    error = from_answer(404, b"404 page not found", Asked("list", "clusterqueues", "kueue.x-k8s.io"))

    assert isinstance(error, NotInstalledError)
    assert "install Kueue" in str(error)


def test_a_missing_object_is_not_a_missing_kind() -> None:
    body = failure(404, "NotFound", 'pods "a" not found', name="a", kind="pods").content

    assert isinstance(from_answer(404, body, Asked("get", "pods", name="a")), NotFoundError)


def test_a_busy_server_is_asked_again_after_the_time_it_named() -> None:
    clock = ManualClock(dt.datetime(2026, 1, 1, tzinfo=dt.UTC))
    slow = httpx2.Response(429, headers={"Retry-After": "7"}, content=b"Too many requests")

    found = list_pods(client_of(Script(slow, page(["a"])), clock))

    assert len(found) == 1
    assert clock.now().second == 7


def test_a_server_that_stays_busy_is_reported_as_such() -> None:
    error = problem_of(failure(503, "ServiceUnavailable", "etcd is gone"))

    assert isinstance(error, BusyError)
    assert "etcd is gone" in str(error)


def test_a_connection_that_breaks_is_tried_again() -> None:
    script = Script(httpx2.RemoteProtocolError("server disconnected"), page(["a"]))

    assert len(list_pods(client_of(script))) == 1


def test_plain_http_to_a_tls_server_is_an_address_to_mend() -> None:
    answer = httpx2.Response(400, text="Client sent an HTTP request to an HTTPS server.\n")

    error = problem_of(answer)

    assert (error.exit_code, error.problem.code) == (3, "KUBE-013")
    assert "https://" in str(error.problem.hint)


def test_a_web_server_without_a_version_is_not_a_cluster() -> None:
    with (
        pytest.raises(UnreachableError, match="not Kubernetes'"),
        client_of(Script(httpx2.Response(404, text="Not Found"))) as client,
    ):
        client.server_version()


def test_a_login_page_instead_of_an_api_is_recognised() -> None:
    error = problem_of(httpx2.Response(200, text="<html>please log in</html>"))

    assert error.problem.code == "KUBE-052"


def test_a_question_answered_by_a_login_page_is_recognised_too() -> None:
    script = Script(httpx2.Response(200, text="<html>please log in</html>"))
    with pytest.raises(UnreachableError, match="not Kubernetes'"), client_of(script) as client:
        client.may(Permission("list", "pods"))


@pytest.mark.parametrize("scheme", ["socks5", "socks5h"])
def test_a_socks_proxy_is_refused_with_a_way_round_it(scheme: str) -> None:
    error = real("https://cluster.test", proxy_url=f"{scheme}://127.0.0.1:1080")

    assert (error.problem.code, error.exit_code) == ("KUBE-016", 3)
    assert "ssh -L" in str(error.problem.hint)


def test_truncated_json_is_not_an_empty_list() -> None:
    assert problem_of(httpx2.Response(200, content=b'{"items":[{"metadata":')).problem.code == "KUBE-052"


def real(server: str, **access: Any) -> TonnageError:
    with (
        pytest.raises(TonnageError) as failed,
        KubeClient(Access(context="c", server=server, **access)) as client,
    ):
        client.server_version()
    return failed.value


def test_nothing_listening_is_said_to_be_so() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]

    error = real(f"https://127.0.0.1:{port}")

    assert isinstance(error, UnreachableError)
    assert error.problem.code == "KUBE-011"


def test_a_name_dns_does_not_know_is_said_to_be_so() -> None:
    assert real("https://no-such-cluster.invalid").problem.code == "KUBE-010"


def certificate(folder: Path, *arguments: str) -> tuple[Path, Path]:
    cert, key = folder / "cert.pem", folder / "key.pem"
    command = [
        "openssl",
        "req",
        "-x509",
        "-newkey",
        "rsa:2048",
        "-nodes",
        "-subj",
        "/CN=x",
        "-keyout",
        str(key),
    ]
    subprocess.run([*command, "-out", str(cert), *arguments], check=True, capture_output=True)
    return cert, key


class TlsServer:
    """A TLS listener that answers one request, if the handshake gets that far."""

    def __init__(self, cert: Path, key: Path) -> None:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(cert, key)
        self._context = context
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def _serve(self) -> None:
        try:
            with self._listener.accept()[0] as raw, self._context.wrap_socket(raw, server_side=True) as tls:
                tls.recv(4096)
                tls.sendall(b'HTTP/1.1 200 OK\r\nContent-Length: 24\r\n\r\n{"gitVersion":"v1.36.4"}')
        except OSError:
            pass

    def close(self) -> None:
        self._listener.close()
        self._thread.join(5)


@pytest.mark.parametrize(
    ("arguments", "trusted", "code", "says"),
    [
        (("-addext", "subjectAltName=IP:127.0.0.1"), False, "KUBE-013", "not trusted"),
        (("-addext", "subjectAltName=DNS:other"), True, "KUBE-013", "another name"),
    ],
)
def test_a_certificate_problem_is_told_apart(
    tmp_path: Path, arguments: tuple[str, ...], trusted: bool, code: str, says: str
) -> None:
    cert, key = certificate(tmp_path, *arguments)
    server = TlsServer(cert, key)
    try:
        error = real(f"https://127.0.0.1:{server.port}", authority=cert.read_bytes() if trusted else None)
    finally:
        server.close()

    assert (error.problem.code, says in str(error)) == (code, True)


def test_the_name_in_the_certificate_can_be_given(tmp_path: Path) -> None:
    cert, key = certificate(tmp_path, "-addext", "subjectAltName=DNS:api.internal")
    server = TlsServer(cert, key)
    address = f"https://127.0.0.1:{server.port}"
    access = Access(context="c", server=address, authority=cert.read_bytes(), tls_server_name="api.internal")
    try:
        with KubeClient(access) as client:
            assert client.server_version() == "v1.36.4"
    finally:
        server.close()


def test_a_plain_server_behind_https_is_recognised() -> None:
    listener = socket.create_server(("127.0.0.1", 0))

    def talk() -> None:
        with listener.accept()[0] as raw:
            raw.recv(1024)
            raw.sendall(b"HTTP/1.0 400 Bad Request\r\n\r\n")

    thread = threading.Thread(target=talk, daemon=True)
    thread.start()
    error = real(f"https://127.0.0.1:{listener.getsockname()[1]}")
    thread.join(5)
    listener.close()

    assert "does not speak TLS" in str(error)


def test_an_authority_that_is_not_a_certificate_is_said_to_be_so() -> None:
    assert real("https://127.0.0.1:1", authority=b"nonsense").problem.code == "KUBE-004"
