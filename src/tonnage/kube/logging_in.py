"""Who we are, request by request: tokens, files that rotate, and programs that log us in.

A `Credential` is asked for headers before each request and told when the server answered 401; it then reads
the token file or runs the login program once more. Programs follow client.authentication.k8s.io v1 and
v1beta1: they are told about the call in `KUBERNETES_EXEC_INFO`, their answer is kept until it expires, and
it may carry a client certificate instead of a token. One lock per credential: ten parallel requests start
one login, not ten.
"""

from __future__ import annotations

import base64
import datetime as dt
import json
import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tonnage.clock import Clock, SystemClock
from tonnage.errors import EnvironmentProblem, Problem, UnauthorizedError
from tonnage.kube.kubeconfig import Access, ExecPlugin

PATIENCE_SECONDS = 120
"""A login program may open a browser; a hung one must not hang us for ever."""
EARLY = dt.timedelta(seconds=60)
"""Renew this long before the end, so that no request leaves with a token that dies on the way."""
FILE_TOKEN_LIFE = dt.timedelta(seconds=60)
"""Service-account tokens rotate under our feet; reading the file each minute is what client-go does."""


@dataclass(frozen=True)
class Held:
    """What we present now: a bearer token, a client certificate with key, or both."""

    token: str | None = None
    certificate: bytes | None = None
    key: bytes | None = None
    expires: dt.datetime | None = None


class Credential:
    """The login of one access, renewed when it must be."""

    def __init__(
        self, access: Access, *, environment: Mapping[str, str] | None = None, clock: Clock | None = None
    ) -> None:
        self._access = access
        self._environment = os.environ if environment is None else environment
        self._clock = clock or SystemClock()
        self._lock = threading.Lock()
        self._held: Held | None = None

    @property
    def can_renew(self) -> bool:
        """Whether asking again after a 401 could help."""
        return self._access.login.exec is not None or self._access.login.token_file is not None

    def held(self) -> Held:
        """What to present with the next request."""
        with self._lock:
            if self._held is None or self._is_stale(self._held):
                self._held = self._renew()
            return self._held

    def refuse(self, held: Held) -> None:
        """The server did not accept this; ask anew next time (unless somebody already has)."""
        with self._lock:
            if self._held is held:
                self._held = None

    def headers(self, held: Held) -> list[tuple[str, str]]:
        """The request headers that say who we are."""
        login = self._access.login
        headers: list[tuple[str, str]] = []
        if held.token:
            headers.append(("Authorization", f"Bearer {held.token}"))
        elif login.username is not None:
            pair = f"{login.username}:{login.password or ''}".encode()
            headers.append(("Authorization", "Basic " + base64.b64encode(pair).decode()))
        for name, value in login.impersonate.items():
            headers.extend((name, one) for one in ((value,) if isinstance(value, str) else value))
        return headers

    def _is_stale(self, held: Held) -> bool:
        return held.expires is not None and self._clock.now() >= held.expires - EARLY

    def _renew(self) -> Held:
        login = self._access.login
        if login.token_file is not None and login.token is None:
            return Held(_read_token(login.token_file), expires=self._clock.now() + FILE_TOKEN_LIFE + EARLY)
        if login.exec is not None and login.token is None:
            answer = run_login(login.exec, self._access, self._environment)
            return read_credential(answer, login.exec)
        return Held(login.token, login.certificate, login.key)


def run_login(plugin: ExecPlugin, access: Access, environment: Mapping[str, str]) -> str:
    """Run the login program and give back what it printed."""
    program = _find_program(plugin, environment)
    interactive = _may_interact(plugin, sys.stdin.isatty() if sys.stdin else False)
    env = {**environment, **plugin.env, "KUBERNETES_EXEC_INFO": exec_info(plugin, access, interactive)}
    try:
        done = subprocess.run(
            [program, *plugin.args],
            env=env,
            stdin=None if interactive else subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=None if interactive else subprocess.PIPE,
            timeout=PATIENCE_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise _login_failed(plugin, f"no answer within {PATIENCE_SECONDS} s") from None
    except OSError as error:
        raise _login_failed(plugin, error.strerror or str(error)) from error
    if done.returncode != 0:
        said = (done.stderr or b"").decode(errors="replace").strip().splitlines()
        raise _login_failed(plugin, f"exit code {done.returncode}" + (f": {said[-1][:300]}" if said else ""))
    return done.stdout.decode(errors="replace")


def exec_info(plugin: ExecPlugin, access: Access, interactive: bool) -> str:
    """`KUBERNETES_EXEC_INFO`: the call as the login program is told about it."""
    spec: dict[str, Any] = {"interactive": interactive}
    if plugin.provide_cluster_info:
        cluster: dict[str, Any] = {"server": access.server}
        if access.tls_server_name:
            cluster["tls-server-name"] = access.tls_server_name
        if access.insecure:
            cluster["insecure-skip-tls-verify"] = True
        if access.authority:
            cluster["certificate-authority-data"] = base64.b64encode(access.authority).decode()
        if access.proxy_url:
            cluster["proxy-url"] = access.proxy_url
        if access.cluster_extension is not None:
            cluster["config"] = access.cluster_extension
        spec["cluster"] = cluster
    return json.dumps({"apiVersion": plugin.api_version, "kind": "ExecCredential", "spec": spec})


def read_credential(answer: str, plugin: ExecPlugin) -> Held:
    """Read an ExecCredential as a login program printed it."""
    try:
        document = json.loads(answer)
    except ValueError:
        raise _login_failed(plugin, "its output is not JSON") from None
    if not isinstance(document, Mapping) or document.get("kind") != "ExecCredential":
        raise _login_failed(plugin, "its output is not an ExecCredential")
    if document.get("apiVersion") != plugin.api_version:
        found = document.get("apiVersion")
        raise _login_failed(plugin, f"it answered with {found}, the kubeconfig expects {plugin.api_version}")
    status = document.get("status") or {}
    token, certificate = status.get("token"), status.get("clientCertificateData")
    key, expires = status.get("clientKeyData"), status.get("expirationTimestamp")
    if not token and not (certificate and key):
        raise _login_failed(plugin, "its answer holds neither a token nor a certificate with its key")
    return Held(
        token or None,
        certificate.encode() if certificate else None,
        key.encode() if key else None,
        _timestamp(expires, plugin) if expires else None,
    )


def _timestamp(text: str, plugin: ExecPlugin) -> dt.datetime:
    try:
        moment = dt.datetime.fromisoformat(text)
    except (ValueError, TypeError):
        raise _login_failed(plugin, f"its expirationTimestamp {text!r} is not a time") from None
    return moment if moment.tzinfo else moment.replace(tzinfo=dt.UTC)


def _may_interact(plugin: ExecPlugin, terminal: bool) -> bool:
    if plugin.interactive_mode == "Never":
        return False
    if plugin.interactive_mode == "Always" and not terminal:
        raise _login_failed(plugin, "it must talk to you, and there is no terminal")
    return terminal


def _find_program(plugin: ExecPlugin, environment: Mapping[str, str]) -> str:
    command = plugin.command
    if "/" in command and plugin.folder is not None:
        command = str(plugin.folder / Path(command).expanduser())
    path = {**environment, **plugin.env}.get("PATH")
    program = shutil.which(command, path=path)
    if program is None:
        raise EnvironmentProblem(
            Problem(
                code="KUBE-021",
                what=f"the kubeconfig logs in with `{plugin.command}`, which is not installed here",
                hint=plugin.install_hint.strip() or f"install {plugin.command} or put it on your PATH",
            )
        )
    return program


def _login_failed(plugin: ExecPlugin, why: str) -> UnauthorizedError:
    call = " ".join([plugin.command, *plugin.args])
    return UnauthorizedError(
        Problem(
            code="KUBE-022",
            what=f"logging in failed: {why}",
            where=f"`{call[:160]}`, named in the kubeconfig",
            hint="run that command yourself to see why; logging in to your provider again often helps",
        )
    )


def _read_token(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise UnauthorizedError(
            Problem(code="KUBE-004", what=f"cannot read the token file: {error}", where=str(file))
        ) from error
