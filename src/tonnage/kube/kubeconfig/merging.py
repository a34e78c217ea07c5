"""Kubeconfig files merged into one: the first mention of a name wins, and a context says cluster and user."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from tonnage.errors import DocumentError, Problem, UnreachableError, UsageError
from tonnage.kube.kubeconfig.access import Access, Login
from tonnage.kube.kubeconfig.entries import (
    Entry,
    address_of,
    data_or_file,
    named_entries,
    optional_text,
    parse,
    text_of,
)
from tonnage.kube.kubeconfig.logins import login_of

PROXY_SCHEMES = ("http", "https", "socks5", "socks5h")


@dataclass(frozen=True)
class Kubeconfig:
    """The merge of one or more kubeconfig files."""

    files: tuple[Path, ...]
    contexts: Mapping[str, Entry]
    clusters: Mapping[str, Entry]
    users: Mapping[str, Entry]
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

    def _reference(self, context: Entry, name: str, kind: str, table: Mapping[str, Entry]) -> Entry:
        wanted = text_of(context, f"contexts[{name}].context", kind)
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


def merge_kubeconfigs(texts: list[tuple[Path, str]]) -> Kubeconfig:
    """Merge kubeconfig texts; the first to set a value wins."""
    tables: dict[str, dict[str, Entry]] = {"contexts": {}, "clusters": {}, "users": {}}
    current = ""
    for file, text in texts:
        document = parse(file, text)
        current = current or optional_text(document.get("current-context"), file, "current-context")
        for plural, table in tables.items():
            for name, body in named_entries(document, plural, file):
                table.setdefault(name, Entry(body, file))
    return Kubeconfig(tuple(file for file, _ in texts), current=current, **tables)


def _access(name: str, context: Entry, cluster: Entry, user: Entry | None) -> Access:
    body = cluster.body
    authority = data_or_file(cluster, "clusters", "certificate-authority")
    return Access(
        context=name,
        server=address_of(cluster, f"cluster of context {name}", "server", ("http", "https")).rstrip("/"),
        namespace=optional_text(context.body.get("namespace"), context.file, "namespace"),
        authority=authority,
        insecure=body.get("insecure-skip-tls-verify") is True,
        tls_server_name=body.get("tls-server-name") or None,
        proxy_url=address_of(cluster, f"cluster of context {name}", "proxy-url", PROXY_SCHEMES)
        if body.get("proxy-url")
        else None,
        login=login_of(user) if user else Login(),
        cluster_extension=_exec_extension(body),
    )


def _exec_extension(body: Mapping[str, Any]) -> Any:
    """What a provider wants its login plugin to be told about the cluster."""
    extensions = body.get("extensions")
    for extension in extensions if isinstance(extensions, list) else ():
        if isinstance(extension, Mapping) and extension.get("name") == "client.authentication.k8s.io/exec":
            return extension.get("extension")
    return None


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
