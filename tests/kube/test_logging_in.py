"""Logging in: tokens from files and programs, when they expire, and what goes wrong."""

from __future__ import annotations

import datetime as dt
import json
import stat
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx2
import pytest

from tonnage.clock import ManualClock
from tonnage.errors import EnvironmentProblem, UnauthorizedError
from tonnage.kube.connecting import LoggedIn, LoggedInAsync, proxy_for
from tonnage.kube.kubeconfig import EXEC_VERSIONS, Access, ExecPlugin, Login
from tonnage.kube.logging_in import Credential, Held, exec_info, read_credential

NOW = dt.datetime(2026, 1, 1, 12, tzinfo=dt.UTC)


def program(folder: Path, body: str) -> str:
    path = folder / "login"
    path.write_text(f"#!/bin/sh\n{body}\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return str(path)


def answering(folder: Path, version: str = EXEC_VERSIONS[0], **status: Any) -> str:
    credential = json.dumps({"apiVersion": version, "kind": "ExecCredential", "status": status})
    return program(
        folder, f"echo x >> {folder}/runs\nprintenv KUBERNETES_EXEC_INFO > {folder}/info\necho '{credential}'"
    )


def access(plugin: ExecPlugin | None = None, **login: Any) -> Access:
    return Access(context="t", server="https://cluster.test", login=Login(exec=plugin, **login))


def runs(folder: Path) -> int:
    return len((folder / "runs").read_text().split())


@pytest.mark.parametrize("version", EXEC_VERSIONS)
def test_a_program_is_told_about_the_call_and_its_token_is_used(tmp_path: Path, version: str) -> None:
    plugin = ExecPlugin(command=answering(tmp_path, version, token="abc"), api_version=version)
    credential = Credential(access(plugin))

    assert credential.headers(credential.held()) == [("Authorization", "Bearer abc")]
    info = json.loads((tmp_path / "info").read_text())
    assert (info["kind"], info["apiVersion"], "cluster" in info["spec"]) == ("ExecCredential", version, False)


def test_a_token_is_kept_until_shortly_before_it_expires(tmp_path: Path) -> None:
    clock = ManualClock(NOW)
    command = answering(tmp_path, token="abc", expirationTimestamp="2026-01-01T12:10:00Z")
    credential = Credential(access(ExecPlugin(command=command)), clock=clock)

    credential.held()
    clock.sleep(8 * 60)
    credential.held()
    assert runs(tmp_path) == 1
    clock.sleep(61)
    credential.held()
    assert runs(tmp_path) == 2


def test_a_refused_token_is_asked_for_again_once(tmp_path: Path) -> None:
    plugin = ExecPlugin(command=answering(tmp_path, token="abc"))
    answers = iter([401, 200])
    wire = httpx2.MockTransport(lambda _: httpx2.Response(next(answers)))
    reached = access(plugin)

    with httpx2.Client(transport=LoggedIn(reached, Credential(reached), wire)) as http:
        assert http.get("https://cluster.test").status_code == 200
    assert runs(tmp_path) == 2


async def test_watches_log_in_the_same_way(tmp_path: Path) -> None:
    plugin = ExecPlugin(command=answering(tmp_path, token="abc"))
    seen: list[str] = []

    def answer(request: httpx2.Request) -> httpx2.Response:
        seen.append(request.headers["Authorization"])
        return httpx2.Response(401 if len(seen) == 1 else 200)

    reached = access(plugin)
    async with httpx2.AsyncClient(
        transport=LoggedInAsync(reached, Credential(reached), httpx2.MockTransport(answer))
    ) as http:
        assert (await http.get("https://cluster.test")).status_code == 200
    assert seen == ["Bearer abc", "Bearer abc"]


def test_a_static_token_is_not_asked_for_twice() -> None:
    calls: list[int] = []
    wire = httpx2.MockTransport(lambda _: calls.append(1) or httpx2.Response(401))
    reached = access(token="t")

    with httpx2.Client(transport=LoggedIn(reached, Credential(reached), wire)) as http:
        assert http.get("https://cluster.test").status_code == 401
    assert len(calls) == 1


def test_a_program_may_answer_with_a_certificate(tmp_path: Path) -> None:
    plugin = ExecPlugin(command=answering(tmp_path, clientCertificateData="CERT", clientKeyData="KEY"))

    held = Credential(access(plugin)).held()

    assert (held.certificate, held.key, held.token) == (b"CERT", b"KEY", None)


def test_a_missing_program_shows_its_install_hint() -> None:
    plugin = ExecPlugin(command="no-such-login", install_hint="install it with: brew install no-such-login")

    with pytest.raises(EnvironmentProblem, match="brew install"):
        Credential(access(plugin)).held()


@pytest.mark.parametrize(
    ("body", "says"),
    [
        ("echo 'token expired, run sso login' >&2; exit 1", "run sso login"),
        ("echo not json", "not JSON"),
        ("echo '{}'", "not an ExecCredential"),
        ('echo \'{"kind":"ExecCredential","apiVersion":"other/v1"}\'', "other/v1"),
        (
            f'echo \'{{"kind":"ExecCredential","apiVersion":"{EXEC_VERSIONS[0]}","status":{{}}}}\'',
            "neither a token",
        ),
    ],
)
def test_a_failing_program_says_what_it_said(tmp_path: Path, body: str, says: str) -> None:
    plugin = ExecPlugin(command=program(tmp_path, body))

    with pytest.raises(UnauthorizedError, match=says):
        Credential(access(plugin)).held()


def test_a_program_that_must_talk_needs_a_terminal(tmp_path: Path) -> None:
    plugin = ExecPlugin(command=answering(tmp_path, token="t"), interactive_mode="Always")

    with pytest.raises(UnauthorizedError, match="no terminal"):
        Credential(access(plugin)).held()


def test_cluster_details_are_given_only_when_asked_for() -> None:
    plugin = ExecPlugin(command="x", provide_cluster_info=True)
    told = json.loads(exec_info(plugin, Access(context="c", server="https://s", authority=b"ca"), False))

    assert told["spec"]["cluster"] == {"server": "https://s", "certificate-authority-data": "Y2E="}


def test_a_token_file_that_rotates_is_read_again(tmp_path: Path) -> None:
    file, clock = tmp_path / "token", ManualClock(NOW)
    file.write_text("one\n")
    credential = Credential(access(token_file=file), clock=clock)

    assert credential.held().token == "one"
    file.write_text("two\n")
    clock.sleep(61)
    assert credential.held().token == "two"


def test_basic_auth_and_impersonation_are_headers() -> None:
    credential = Credential(access(username="u", password="p", impersonate={"Impersonate-Group": ("a", "b")}))

    headers = credential.headers(credential.held())

    assert headers[0] == ("Authorization", "Basic dTpw")
    assert headers[1:] == [("Impersonate-Group", "a"), ("Impersonate-Group", "b")]


def test_a_timestamp_without_a_zone_is_utc() -> None:
    plugin = ExecPlugin(command="x")
    status = {"token": "t", "expirationTimestamp": "2026-01-01T00:00:00"}
    answer = json.dumps({"apiVersion": plugin.api_version, "kind": "ExecCredential", "status": status})

    assert read_credential(answer, plugin).expires == dt.datetime(2026, 1, 1, tzinfo=dt.UTC)


@pytest.mark.parametrize(
    ("server", "environment", "expected"),
    [
        ("https://api.example", {"HTTPS_PROXY": "http://p:1"}, "http://p:1"),
        ("https://api.example", {"HTTPS_PROXY": "http://p:1", "NO_PROXY": ".example"}, None),
        ("https://127.0.0.1:6443", {"HTTPS_PROXY": "http://p:1"}, None),
        ("https://api.example", {}, None),
    ],
)
def test_the_proxy_is_the_one_kubectl_would_use(
    server: str, environment: dict[str, str], expected: str | None
) -> None:
    assert proxy_for(Access(context="c", server=server), environment) == expected


def test_parallel_calls_share_one_wire() -> None:
    """Making one takes a while (it reads the system's authorities): eight threads must not make eight."""
    access = Access(context="c", server="https://cluster.test")
    wire, together = LoggedIn(access, Credential(access)), threading.Barrier(8)

    def first_call(_: int) -> int:
        together.wait()
        return id(wire._transport(Held()))

    with ThreadPoolExecutor(8) as pool:
        assert len(set(pool.map(first_call, range(8)))) == 1
