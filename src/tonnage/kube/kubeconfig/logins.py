"""A kubeconfig's `user` as a login: token, certificate, password, or a program that logs us in."""

from __future__ import annotations

from collections.abc import Mapping

from tonnage.errors import Problem, UsageError
from tonnage.kube.kubeconfig.access import EXEC_VERSIONS, ExecPlugin, Login
from tonnage.kube.kubeconfig.entries import Entry, beside, data_or_file, list_of, malformed


def login_of(user: Entry) -> Login:
    """How a user logs in."""
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
        token_file=beside(user.file, token_file) if token_file else None,
        username=body.get("username") or None,
        password=body.get("password") or None,
        certificate=data_or_file(user, "users", "client-certificate"),
        key=data_or_file(user, "users", "client-key"),
        exec=_exec_plugin(user),
        impersonate=_impersonation(user),
    )


def _impersonation(user: Entry) -> dict[str, str | tuple[str, ...]]:
    body = user.body
    asked: dict[str, str | tuple[str, ...]] = {}
    if body.get("as"):
        asked["Impersonate-User"] = str(body["as"])
    if body.get("as-uid"):
        asked["Impersonate-Uid"] = str(body["as-uid"])
    if body.get("as-groups"):
        groups = list_of(user, "users[].user.as-groups", body["as-groups"])
        asked["Impersonate-Group"] = tuple(map(str, groups))
    return asked


def _exec_plugin(user: Entry) -> ExecPlugin | None:
    asked = user.body.get("exec")
    if not asked:
        return None
    if not isinstance(asked, Mapping) or not isinstance(asked.get("command"), str):
        raise malformed(user.file, "users[].user.exec", repr(asked), "a map with a `command`")
    version = asked.get("apiVersion", "")
    if version not in EXEC_VERSIONS:
        raise malformed(user.file, "users[].user.exec.apiVersion", repr(version), " or ".join(EXEC_VERSIONS))
    return ExecPlugin(
        command=asked["command"],
        args=tuple(map(str, list_of(user, "users[].user.exec.args", asked.get("args")))),
        env=_exec_environment(user, asked.get("env")),
        api_version=version,
        install_hint=str(asked.get("installHint") or ""),
        provide_cluster_info=asked.get("provideClusterInfo") is True,
        interactive_mode=str(asked.get("interactiveMode") or "IfAvailable"),
        folder=user.file.parent,
    )


def _exec_environment(user: Entry, asked: object) -> dict[str, str]:
    where = "users[].user.exec.env"
    environment: dict[str, str] = {}
    for pair in list_of(user, where, asked):
        if not isinstance(pair, Mapping) or not isinstance(pair.get("name"), str):
            raise malformed(user.file, where, type(pair).__name__, "maps with `name` and `value`")
        environment[pair["name"]] = str(pair.get("value") or "")
    return environment
