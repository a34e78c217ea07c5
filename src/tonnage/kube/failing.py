"""What a failed call to a cluster means, and what to do about it.

The network gives exceptions, the API server gives a status with a code and a reason; a reader needs to know
whether to look at the address, the login, the permissions or the cluster. Every way a call can fail ends in
exactly one of our errors here, with the remedy that usually works.
"""

from __future__ import annotations

import errno
import json
import socket
import ssl
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import httpx2

from tonnage.errors import (
    ForbiddenError,
    Problem,
    RefusedError,
    TonnageError,
    UnauthorizedError,
    UnreachableError,
)

LONGEST = 900
"""Characters of an answer that are shown."""
COMPONENTS = {
    "kueue.x-k8s.io": "Kueue",
    "jobset.x-k8s.io": "JobSet",
    "trainer.kubeflow.org": "Kubeflow Trainer",
    "kubeflow.org": "the Kubeflow Training Operator",
    "serving.kserve.io": "KServe",
    "monitoring.coreos.com": "the Prometheus Operator",
    "metrics.k8s.io": "metrics-server",
    "tonnage.dev": "Tonnage's own resource definitions",
}


@dataclass(frozen=True)
class Asked:
    """What we were doing when it failed."""

    verb: str
    resource: str
    group: str = ""
    namespace: str = ""
    name: str = ""

    def __str__(self) -> str:
        resource = f"{self.resource}.{self.group}" if self.group else self.resource
        name = f" {self.name}" if self.name else ""
        place = f" in namespace {self.namespace}" if self.namespace else ""
        return f"{self.verb} {resource}{name}{place}"


class NotInstalledError(RefusedError):
    """The cluster does not know this kind of object."""


class NotFoundError(RefusedError):
    """The cluster knows the kind, but has no object of that name."""


class ExpiredError(RefusedError):
    """A list or watch began too long ago for the cluster to remember; start again."""


class BusyError(UnreachableError):
    """The cluster answered that it cannot answer now."""

    def __init__(self, *problems: Problem, retry_after: float | None = None) -> None:
        super().__init__(*problems)
        self.retry_after = retry_after


def from_network(error: Exception, server: str) -> UnreachableError:
    """The error for a call that got no answer."""
    causes = list(_chain(error))
    for cause in causes:
        if isinstance(cause, ssl.SSLError):
            return _tls(cause, server)
        if isinstance(cause, socket.gaierror):
            return _unreachable(
                "KUBE-010",
                "the cluster's name is not known to DNS",
                server,
                "check the server address in the kubeconfig, your VPN, and `kubectl cluster-info`",
            )
    text = " ".join(str(cause) for cause in causes)
    if isinstance(error, httpx2.ProxyError):
        return _unreachable(
            "KUBE-016", f"the proxy refused: {error}", server, "check proxy-url and HTTPS_PROXY"
        )
    if (
        _has_errno(causes, errno.ECONNREFUSED)
        or "refused" in text
        or "All connection attempts failed" in text
    ):
        return _unreachable(
            "KUBE-011",
            "nothing answers at the cluster's address",
            server,
            "the cluster may be stopped; if it is a sandbox, `tonnage sandbox status` shows it",
        )
    if isinstance(error, httpx2.TimeoutException):
        return _unreachable(
            "KUBE-012",
            "the cluster did not answer in time",
            server,
            "check your VPN or firewall; a private cluster answers only from its own network",
        )
    if _has_errno(causes, errno.ENETUNREACH) or _has_errno(causes, errno.EHOSTUNREACH):
        return _unreachable(
            "KUBE-012", "there is no route to the cluster", server, "check your network or VPN"
        )
    return _unreachable(
        "KUBE-015",
        f"the connection to the cluster broke: {error or type(error).__name__}",
        server,
        "try again; if it persists, look at what is between you and the cluster (proxy, load balancer)",
    )


def from_answer(
    code: int, body: bytes, asked: Asked, *, headers: httpx2.Headers | None = None
) -> TonnageError:
    """The error for a call the API server answered with a failure."""
    status = read_status(body)
    message = _cut(
        str(status.get("message") or body[:200].decode(errors="replace").strip() or f"status {code}")
    )
    if code == 401:
        return _unauthorised(message)
    if code == 403:
        return _forbidden(message, asked)
    if code == 404:
        return _missing(status, message, asked)
    if code == 410:
        return ExpiredError(Problem(code="KUBE-042", what=f"the cluster no longer remembers: {message}"))
    if code == 409:
        return RefusedError(Problem(code="KUBE-060", what=f"cannot {asked}: {message}"))
    if code == 400 and not status and "HTTP request to an HTTPS server" in message:
        return UnreachableError(
            Problem(
                code="KUBE-013",
                what="the server wants TLS, and the address says http://",
                hint="write https:// in the kubeconfig's server",
            )
        )
    if code in (400, 405, 406, 415, 422):
        hint = "the message above is the API server's own"
        return RefusedError(
            Problem(code="KUBE-061", what=f"the cluster refused to {asked}: {message}", hint=hint)
        )
    return _busy(code, message, asked, headers)


def _cut(message: str) -> str:
    """The beginning and the end of a long message: in between, API servers print whole objects."""
    return message if len(message) <= LONGEST else f"{message[: LONGEST // 2]} ... {message[-LONGEST // 3 :]}"


def read_status(body: bytes) -> dict[str, Any]:
    """The `Status` object in an answer, or an empty one where a proxy or a crash wrote something else."""
    try:
        document = json.loads(body)
    except ValueError:
        return {}
    return document if isinstance(document, dict) and document.get("kind") == "Status" else {}


def not_understood(what: str, server: str) -> UnreachableError:
    """The answer was not what a Kubernetes API server says."""
    return _unreachable(
        "KUBE-052",
        f"the answer is not Kubernetes': {what}",
        server,
        "is this address an API server, or a login page or proxy in front of it?",
    )


def _tls(cause: ssl.SSLError, server: str) -> UnreachableError:
    text = str(cause)
    reason = getattr(cause, "verify_message", "") or getattr(cause, "reason", "") or text
    if "expired" in text.lower() and "alert" in text.lower():
        return UnauthorizedError(
            Problem(
                code="KUBE-014",
                what="your client certificate has expired",
                where=server,
                hint="log in again; on kubeadm clusters `kubeadm certs renew admin.conf`",
            )
        )
    if "has expired" in text or "not yet valid" in text:
        return _unreachable(
            "KUBE-014",
            f"the cluster's certificate is out of date: {reason}",
            server,
            "renew it on the cluster (`kubeadm certs renew all`), and check this machine's clock",
        )
    if "mismatch" in text or "doesn't match" in text:
        return _unreachable(
            "KUBE-013",
            f"the cluster's certificate is for another name: {reason}",
            server,
            "use the name in the certificate as server, or set tls-server-name in the kubeconfig",
        )
    if "CERTIFICATE_VERIFY_FAILED" in text:
        return _unreachable(
            "KUBE-013",
            f"the cluster's certificate is not trusted: {reason}",
            server,
            "set certificate-authority-data, or let your provider write the kubeconfig again",
        )
    if "WRONG_VERSION_NUMBER" in text or "HTTP_REQUEST" in text:
        return _unreachable(
            "KUBE-013", "the server does not speak TLS", server, "is it http:// rather than https://?"
        )
    return _unreachable("KUBE-013", f"TLS failed: {reason}", server, "compare with `kubectl cluster-info`")


def _unauthorised(message: str) -> UnauthorizedError:
    return UnauthorizedError(
        Problem(
            code="KUBE-020",
            what=f"the cluster does not know you: {message}",
            hint="your login has probably expired: log in again with your provider's command, "
            "then check with `kubectl auth whoami`",
        )
    )


def _forbidden(message: str, asked: Asked) -> TonnageError:
    if "is forbidden: User" not in message and "cannot" not in message:
        # Quotas, limit ranges, pod security and webhooks answer 403 too; who you are is not the matter then.
        return RefusedError(Problem(code="KUBE-062", what=f"the cluster refused to {asked}: {message}"))
    resource = f"{asked.resource}.{asked.group}" if asked.group else asked.resource
    place = f"-n {asked.namespace}" if asked.namespace else "-A"
    kind = "role" if asked.namespace else "clusterrole"
    return ForbiddenError(
        Problem(
            code="KUBE-030",
            what=f"you may not {asked}" + ("" if asked.namespace else " in the whole cluster"),
            found=message,
            hint=f"check: `kubectl auth can-i {asked.verb} {resource} {place}`; an admin can allow it with "
            f"`kubectl create {kind} tonnage-reader --verb={asked.verb} --resource={resource}` and a binding"
            + ("" if asked.namespace else "; or look at one namespace with -n"),
        )
    )


def _missing(status: dict[str, Any], message: str, asked: Asked) -> TonnageError:
    details = status.get("details") or {}
    if status and asked.name and details.get("name"):
        return NotFoundError(
            Problem(code="KUBE-041", what=f"there is no {asked.resource} {asked.name}: {message}")
        )
    component = COMPONENTS.get(asked.group)
    return NotInstalledError(
        Problem(
            code="KUBE-040",
            what=f"this cluster does not know {asked.resource}" + (f".{asked.group}" if asked.group else ""),
            found=message.strip() if status else None,
            hint=f"install {component}; `tonnage doctor` shows what else is missing"
            if component
            else "check `kubectl api-resources`",
        )
    )


def _busy(code: int, message: str, asked: Asked, headers: httpx2.Headers | None) -> BusyError:
    wait = headers.get("Retry-After", "") if headers is not None else ""
    seconds = float(wait) if wait.isdigit() else None
    if code == 429:
        what = f"the cluster asks us to slow down, and still did after several tries ({asked})"
        hint = "the API server is overloaded or limits this user's priority level; try again in a minute"
    else:
        what = f"the cluster failed while asked to {asked}: status {code}, {message}"
        hint = "look at the API server (`kubectl get --raw '/readyz?verbose'`); the cause is on its side"
    return BusyError(
        Problem(code=f"KUBE-05{0 if code == 429 else 1}", what=what, hint=hint), retry_after=seconds
    )


def _unreachable(code: str, what: str, server: str, hint: str) -> UnreachableError:
    return UnreachableError(Problem(code=code, what=what, where=server, hint=hint))


def _chain(error: BaseException) -> Iterator[BaseException]:
    seen: set[int] = set()
    current: BaseException | None = error
    while current is not None and id(current) not in seen:
        seen.add(id(current))
        yield current
        if isinstance(current, BaseExceptionGroup):
            yield from current.exceptions
        current = current.__cause__ or current.__context__


def _has_errno(causes: list[BaseException], number: int) -> bool:
    return any(isinstance(cause, OSError) and cause.errno == number for cause in causes)
