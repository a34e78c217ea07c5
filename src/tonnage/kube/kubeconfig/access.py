"""What is needed to reach a cluster as somebody: an address, a login, how to trust it. Values only."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

EXEC_VERSIONS = ("client.authentication.k8s.io/v1", "client.authentication.k8s.io/v1beta1")


@dataclass(frozen=True, kw_only=True)
class ExecPlugin:
    """A program that logs us in (`aws eks get-token`, `gke-gcloud-auth-plugin`, ...)."""

    command: str
    args: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict)
    api_version: str = EXEC_VERSIONS[0]
    install_hint: str = ""
    provide_cluster_info: bool = False
    interactive_mode: str = "IfAvailable"
    folder: Path | None = None
    """Where a relative `command` is looked up: next to its kubeconfig."""


@dataclass(frozen=True, kw_only=True)
class Login:
    """How we say who we are; empty means anonymous."""

    token: str | None = None
    token_file: Path | None = None
    username: str | None = None
    password: str | None = None
    certificate: bytes | None = None
    key: bytes | None = None
    exec: ExecPlugin | None = None
    impersonate: Mapping[str, str | tuple[str, ...]] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Access:
    """Everything needed to reach one cluster as one user."""

    context: str
    server: str
    namespace: str = ""
    authority: bytes | None = None
    """The certificate authority in PEM; none means the system's."""
    insecure: bool = False
    tls_server_name: str | None = None
    proxy_url: str | None = None
    login: Login = Login()
    cluster_extension: Any = None
