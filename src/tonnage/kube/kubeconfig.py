"""Which cluster, and who we are: kubeconfig files as kubectl reads them.

Several files named in `$KUBECONFIG` are merged, the first mention of a name winning; a file's relative
paths are relative to that file; data beats files. Client libraries for Python each miss a part of this
(merging, `proxy-url`, `tls-server-name`), so it is read here and handed to the transport. Without any
kubeconfig, a pod's own service account is used. Nothing here talks to a network, and nothing here ever
writes a kubeconfig.
"""

from __future__ import annotations

import base64
import binascii
import urllib.parse
from collections.abc import Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import yaml

from tonnage.errors import DocumentError, Problem, UnreachableError, UsageError

SERVICE_ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount")
PROXY_SCHEMES = ("http", "https", "socks5", "socks5h")
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


@dataclass(frozen=True)
class _Entry:
    """A named entry with the file it came from, for relative paths and for messages."""

    body: Mapping[str, Any]
    file: Path


@dataclass(frozen=True)
class Kubeconfig:
    """The merge of one or more kubeconfig files."""

    files: tuple[Path, ...]
    contexts: Mapping[str, _Entry]
    clusters: Mapping[str, _Entry]
    users: Mapping[str, _Entry]
    current: str = ""

    def access(self, context: str | None = None) -> Access:
        """What is needed to reach a context's cluster (the current one unless named)."""
        name = context or self.current
        if not name:
            raise UnreachableError(
                Problem(
                    code="KUBE-002",
                    what="no cluster is chosen: the kubeconfig has no current-context",
                    where=self._where(),
                    hint=f"name one with --context ({_listed(self.contexts)}), "
                    "or `kubectl config use-context NAME`",
                )
            )
        if name not in self.contexts:
            raise UsageError(_unknown_context(name, self))
        entry = self.contexts[name]
        cluster = self._reference(entry, name, "cluster", self.clusters)
        user = self._reference(entry, name, "user", self.users) if entry.body.get("user") else None
        return _access(name, entry, cluster, user)

    def _reference(self, context: _Entry, name: str, kind: str, table: Mapping[str, _Entry]) -> _Entry:
        wanted = _text(context, f"contexts[{name}].context", kind)
        if wanted not in table:
            raise DocumentError(
                Problem(
                    code="KUBE-001",
                    what=f"context {name!r} names the {kind} {wanted!r}, which is not defined",
                    where=f"{context.file}: contexts[{name}].context.{kind}",
                    expected=f"one of {_listed(table)}",
                    hint=f"add it, or check that $KUBECONFIG lists its file (read: {self._where()})",
                )
            )
        return table[wanted]

    def _where(self) -> str:
        return ", ".join(map(str, self.files)) or "no kubeconfig file"


def load_kubeconfig(environment: Mapping[str, str], *, explicit: Path | None = None) -> Kubeconfig:
    """Read and merge the files kubectl would read; like kubectl, pass over missing ones among several."""
    if explicit is not None:
        paths = [explicit]
    elif environment.get("KUBECONFIG"):
        paths = [Path(part).expanduser() for part in environment["KUBECONFIG"].split(":") if part]
    else:
        paths = [Path(environment.get("HOME", "~")).expanduser() / ".kube" / "config"]
    return merge_kubeconfigs(
        [(path, _read(path)) for path in paths if explicit is not None or path.is_file()]
    )


def merge_kubeconfigs(texts: list[tuple[Path, str]]) -> Kubeconfig:
    """Merge kubeconfig texts; the first to set a value wins."""
    tables: dict[str, dict[str, _Entry]] = {"contexts": {}, "clusters": {}, "users": {}}
    current = ""
    for file, text in texts:
        document = _parse(file, text)
        current = current or _optional_text(document.get("current-context"), file, "current-context")
        for plural, table in tables.items():
            for name, body in _named(document, plural, file):
                table.setdefault(name, _Entry(body, file))
    return Kubeconfig(tuple(file for file, _ in texts), current=current, **tables)


def in_cluster_access(environment: Mapping[str, str], folder: Path = SERVICE_ACCOUNT) -> Access | None:
    """The service account of the pod we run in, or nothing outside one."""
    host, port = environment.get("KUBERNETES_SERVICE_HOST"), environment.get("KUBERNETES_SERVICE_PORT")
    if not host or not port or not (folder / "token").is_file():
        return None
    authority, namespace = folder / "ca.crt", folder / "namespace"
    return Access(
        context="in-cluster",
        server=f"https://[{host}]:{port}" if ":" in host else f"https://{host}:{port}",
        namespace=namespace.read_text().strip() if namespace.is_file() else "",
        authority=authority.read_bytes() if authority.is_file() else None,
        login=Login(token_file=folder / "token"),
    )


def find_access(
    environment: Mapping[str, str],
    context: str | None = None,
    *,
    kubeconfig: Path | None = None,
    service_account: Path = SERVICE_ACCOUNT,
) -> Access:
    """The cluster kubectl would talk to: the named or current context, else the pod's own service account."""
    config = load_kubeconfig(environment, explicit=kubeconfig)
    if context is None and not config.current:
        inside = in_cluster_access(environment, service_account)
        if inside is not None:
            return inside
    if not config.files:
        raise UnreachableError(
            Problem(
                code="KUBE-002",
                what="no kubeconfig was found, so there is no cluster to look at",
                found=f"KUBECONFIG={environment.get('KUBECONFIG', '(not set)')}, and no ~/.kube/config",
                hint="set KUBECONFIG, or start a cluster here with `tonnage sandbox up` and use --on sandbox",
            )
        )
    return config.access(context)


def _access(name: str, context: _Entry, cluster: _Entry, user: _Entry | None) -> Access:
    body = cluster.body
    authority = _data_or_file(cluster, "clusters", "certificate-authority")
    return Access(
        context=name,
        server=_address(cluster, f"cluster of context {name}", "server", ("http", "https")).rstrip("/"),
        namespace=_optional_text(context.body.get("namespace"), context.file, "namespace"),
        authority=authority,
        insecure=body.get("insecure-skip-tls-verify") is True,
        tls_server_name=body.get("tls-server-name") or None,
        proxy_url=_address(cluster, f"cluster of context {name}", "proxy-url", PROXY_SCHEMES)
        if body.get("proxy-url")
        else None,
        login=_login(user) if user else Login(),
        cluster_extension=_exec_extension(body),
    )


def _login(user: _Entry) -> Login:
    body = user.body
    if body.get("auth-provider"):
        raise UsageError(
            Problem(
                code="KUBE-005",
                what="this kubeconfig logs in through `auth-provider`, which Kubernetes removed in 1.26",
                where=str(user.file),
                hint="let your provider write it again, e.g. `gcloud container clusters get-credentials`",
            )
        )
    token_file = body.get("tokenFile")
    return Login(
        token=body.get("token") or None,
        token_file=_beside(user.file, token_file) if token_file else None,
        username=body.get("username") or None,
        password=body.get("password") or None,
        certificate=_data_or_file(user, "users", "client-certificate"),
        key=_data_or_file(user, "users", "client-key"),
        exec=_exec_plugin(user),
        impersonate=_impersonation(user),
    )


def _impersonation(user: _Entry) -> dict[str, str | tuple[str, ...]]:
    body = user.body
    asked: dict[str, str | tuple[str, ...]] = {}
    if body.get("as"):
        asked["Impersonate-User"] = str(body["as"])
    if body.get("as-uid"):
        asked["Impersonate-Uid"] = str(body["as-uid"])
    if body.get("as-groups"):
        groups = _list(user, "users[].user.as-groups", body["as-groups"])
        asked["Impersonate-Group"] = tuple(map(str, groups))
    return asked


def _exec_plugin(user: _Entry) -> ExecPlugin | None:
    asked = user.body.get("exec")
    if not asked:
        return None
    if not isinstance(asked, Mapping) or not isinstance(asked.get("command"), str):
        raise _malformed(user.file, "users[].user.exec", repr(asked), "a map with a `command`")
    version = asked.get("apiVersion", "")
    if version not in EXEC_VERSIONS:
        raise _malformed(user.file, "users[].user.exec.apiVersion", repr(version), " or ".join(EXEC_VERSIONS))
    return ExecPlugin(
        command=asked["command"],
        args=tuple(map(str, _list(user, "users[].user.exec.args", asked.get("args")))),
        env=_exec_environment(user, asked.get("env")),
        api_version=version,
        install_hint=str(asked.get("installHint") or ""),
        provide_cluster_info=asked.get("provideClusterInfo") is True,
        interactive_mode=str(asked.get("interactiveMode") or "IfAvailable"),
        folder=user.file.parent,
    )


def _exec_environment(user: _Entry, asked: object) -> dict[str, str]:
    where = "users[].user.exec.env"
    environment: dict[str, str] = {}
    for pair in _list(user, where, asked):
        if not isinstance(pair, Mapping) or not isinstance(pair.get("name"), str):
            raise _malformed(user.file, where, type(pair).__name__, "maps with `name` and `value`")
        environment[pair["name"]] = str(pair.get("value") or "")
    return environment


def _exec_extension(body: Mapping[str, Any]) -> Any:
    """What a provider wants its login plugin to be told about the cluster."""
    extensions = body.get("extensions")
    for extension in extensions if isinstance(extensions, list) else ():
        if isinstance(extension, Mapping) and extension.get("name") == "client.authentication.k8s.io/exec":
            return extension.get("extension")
    return None


def _data_or_file(entry: _Entry, table: str, field_name: str) -> bytes | None:
    data = entry.body.get(f"{field_name}-data")
    if data:
        try:
            return base64.b64decode("".join(str(data).split()), validate=True)
        except binascii.Error as error:
            where = f"{table}[].{field_name}-data"
            raise _malformed(entry.file, where, f"text that is not base64 ({error})", "base64") from None
    path = entry.body.get(field_name)
    if not path:
        return None
    file = _beside(entry.file, path)
    try:
        return file.read_bytes()
    except OSError as error:
        raise UnreachableError(
            Problem(
                code="KUBE-004",
                what=f"cannot read the {field_name} file named in the kubeconfig",
                where=f"{entry.file}: {table}[].{field_name}",
                found=f"{file}: {error.strerror}",
                hint="log in again, or correct the path (it is relative to the kubeconfig file)",
            )
        ) from error


def _beside(file: Path, path: object) -> Path:
    return file.parent / Path(str(path)).expanduser()


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "not UTF-8 text"
        raise UnreachableError(
            Problem(code="KUBE-004", what=f"cannot read the kubeconfig: {why}", where=str(path))
        ) from error


def _parse(file: Path, text: str) -> Mapping[str, Any]:
    try:
        document = yaml.load(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        where = f"{file}:{mark.line + 1}" if mark else str(file)
        raise DocumentError(
            Problem(
                code="KUBE-001",
                what=f"the kubeconfig is not valid YAML: {getattr(error, 'problem', None) or error}",
                where=where,
                hint="compare with `kubectl config view`, or let your provider write it again",
            )
        ) from None
    if document is None:
        return {}
    if not isinstance(document, Mapping):
        raise _malformed(file, "", type(document).__name__, "a map with clusters, users and contexts")
    return document


def _named(document: Mapping[str, Any], plural: str, file: Path) -> list[tuple[str, Mapping[str, Any]]]:
    entries = document.get(plural) or []
    singular = plural.removesuffix("s")
    if not isinstance(entries, list):
        raise _malformed(file, plural, type(entries).__name__, "a list")
    found: list[tuple[str, Mapping[str, Any]]] = []
    for index, entry in enumerate(entries):
        if not isinstance(entry, Mapping) or not isinstance(entry.get("name"), str):
            raise _malformed(file, f"{plural}[{index}]", repr(entry)[:60], "a map with a `name`")
        body = entry.get(singular)
        if body is not None and not isinstance(body, Mapping):
            raise _malformed(file, f"{plural}[{index}].{singular}", repr(body)[:60], "a map")
        found.append((entry["name"], body or {}))
    return found


def _text(entry: _Entry, where: str, key: str) -> str:
    value = entry.body.get(key)
    if not isinstance(value, str) or not value:
        raise _malformed(entry.file, f"{where}.{key}", repr(value), "a text")
    return value


def _address(entry: _Entry, where: str, key: str, schemes: tuple[str, ...]) -> str:
    address = _text(entry, where, key)
    expected = f"an address that begins with {' or '.join(f'{scheme}://' for scheme in schemes)}"
    try:
        url = urllib.parse.urlsplit(address)
        is_good = url.scheme in schemes and bool(url.hostname) and url.port != 0 and address.isprintable()
    except ValueError:  # a port or an IPv6 address that is none
        is_good = False
    if not is_good:
        raise _malformed(entry.file, f"{where}.{key}", repr(address), expected)
    return address


def _list(entry: _Entry, where: str, value: object) -> list[Any]:
    if value is None:
        return []
    if not isinstance(value, list):
        raise _malformed(entry.file, where, type(value).__name__, "a list")
    return value


def _optional_text(value: object, file: Path, where: str) -> str:
    if value is None:
        return ""
    if not isinstance(value, str):
        raise _malformed(file, where, repr(value), "a text")
    return value


def _malformed(file: Path, where: str, found: str, expected: str) -> DocumentError:
    return DocumentError(
        Problem(
            code="KUBE-001",
            what="the kubeconfig is not well formed",
            where=f"{file}: {where}" if where else str(file),
            found=found,
            expected=expected,
            hint="compare with `kubectl config view`, or let your provider write it again",
        )
    )


def _unknown_context(name: str, config: Kubeconfig) -> Problem:
    near = get_close_matches(name, config.contexts, n=1)
    hint = f"did you mean {near[0]!r}? " if near else ""
    return Problem(
        code="KUBE-003",
        what=f"there is no context {name!r}",
        where=", ".join(map(str, config.files)) or None,
        expected=f"one of {_listed(config.contexts)}",
        hint=f"{hint}`kubectl config get-contexts` lists them",
    )


def _listed(names: Mapping[str, object]) -> str:
    shown = sorted(names)
    return (", ".join(shown[:8]) + (f" and {len(shown) - 8} more" if len(shown) > 8 else "")) or "(none)"
