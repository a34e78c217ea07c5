"""Which cluster kubectl would talk to: the files it would read, else the service account of the pod we run in."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from tonnage.errors import Problem, UnreachableError
from tonnage.kube.kubeconfig.access import Access, Login
from tonnage.kube.kubeconfig.merging import Kubeconfig, merge_kubeconfigs

SERVICE_ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount")


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


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "not UTF-8 text"
        raise UnreachableError(
            Problem(code="KUBE-004", what=f"cannot read the kubeconfig: {why}", where=str(path))
        ) from error
