"""Which cluster a command looks at: one set of options, one rule, one first line.

    --on prod              a kubeconfig context
    --on monday.json.gz    a saved snapshot
    --on lab.yaml          a Cluster document
    --on sandbox[:NAME]    a sandbox on this machine
    (nothing)              the kubeconfig's current context

A name that is both a file here and a context is refused rather than guessed: `./prod` means the file,
`--context prod` the context. `sandbox` always means the sandbox. The first line on stderr says what was
chosen.
"""

from __future__ import annotations

import datetime as dt
import os
from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from tonnage.errors import Problem, RefusedError, TonnageError, UsageError

if TYPE_CHECKING:
    from tonnage.cluster.snapshot import Snapshot
    from tonnage.kube.port import KubeCluster
    from tonnage.kube.saved import SavedCluster

SNAPSHOT_SUFFIXES = (".json", ".json.gz", ".gz")
DOCUMENT_SUFFIXES = (".yaml", ".yml")


@dataclass(frozen=True)
class Looking:
    """The cluster a command looks at, and the namespace (empty: all)."""

    cluster: KubeCluster | SavedCluster
    namespace: str = ""

    def announce(self) -> None:
        """Say on stderr what is being looked at."""
        place = f"namespace {self.namespace}" if self.namespace else "all namespaces"
        click.echo(f"looking at {self.cluster.target}, {place}", err=True)


def target_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command --on, --context, -n and -A; it receives `looking`, already announced."""

    @wraps(command)
    def wrapped(
        *args: Any, on: str | None, context: str | None, namespace: str, all_namespaces: bool, **kwargs: Any
    ) -> Any:
        if namespace and all_namespaces:
            raise UsageError(
                Problem(code="TARGET-001", what="-n and -A contradict each other", hint="leave one out")
            )
        looking = Looking(find_cluster(on, context), namespace)
        looking.announce()
        return command(*args, looking=looking, **kwargs)

    options = (
        click.option(
            "--on", metavar="TARGET", help="A context, snapshot file, Cluster file or sandbox[:NAME]."
        ),
        click.option("--context", metavar="NAME", help="A kubeconfig context, as in kubectl."),
        click.option("-n", "--namespace", default="", metavar="NS", help="Look at one namespace only."),
        click.option("-A", "--all-namespaces", is_flag=True, help="Look at all namespaces (the default)."),
    )
    for option in reversed(options):
        wrapped = option(wrapped)
    return wrapped


def refuse_missing_namespace(snapshot: Snapshot) -> None:
    """A namespace that is not there holds nothing; say that, rather than show nothing in it."""
    names = {namespace.metadata.name for namespace in snapshot.namespaces}
    if not snapshot.namespace or not names or snapshot.namespace in names:
        return
    from difflib import get_close_matches

    near = get_close_matches(snapshot.namespace, names, n=1)
    raise RefusedError(
        Problem(
            code="TARGET-004",
            what=f"there is no namespace {snapshot.namespace!r}",
            where=snapshot.source,
            hint=f"did you mean {near[0]!r}?" if near else "`kubectl get namespaces` lists them",
        )
    )


def find_cluster(
    on: str | None = None, context: str | None = None, *, to_come: bool = False
) -> KubeCluster | SavedCluster:
    """The cluster that --on or --context means; without either, the current context.

    With `to_come`, a Cluster file also shows the nodes that its autoscalers may add.
    """
    if on is not None and context is not None:
        raise UsageError(
            Problem(code="TARGET-001", what="--on and --context both name a cluster", hint="leave one out")
        )
    if on is None:
        return _by_context(context)
    word, _, name = on.partition(":")
    if word == "sandbox":
        return _sandbox(name or "default")
    path = Path(on).expanduser()
    is_path = "/" in on or on.startswith("~") or on in (".", "..")
    if path.is_file():
        if not is_path and on in _contexts():
            raise UsageError(
                Problem(
                    code="TARGET-002",
                    what=f"{on!r} is both a file here and a context",
                    hint=f"write ./{on} for the file, or --context {on} for the context",
                )
            )
        return _from_file(path, to_come=to_come)
    if is_path or on.endswith((*SNAPSHOT_SUFFIXES, *DOCUMENT_SUFFIXES)):
        if not is_path and on in _contexts():
            return _by_context(on)
        found = "a folder" if path.is_dir() else "no such file"
        problem = Problem(code="TARGET-003", what=f"cannot look at {on}: {found}", hint=_save_hint(on))
        raise UsageError(problem)
    return _by_context(on)


def _by_context(name: str | None) -> KubeCluster:
    from tonnage.kube.client import KubeClient
    from tonnage.kube.kubeconfig import find_access
    from tonnage.kube.port import KubeCluster

    return KubeCluster(KubeClient(find_access(os.environ, name)))


def _contexts() -> set[str]:
    """The contexts there are; a broken kubeconfig has none, and is reported when it is really needed."""
    from tonnage.kube.kubeconfig import load_kubeconfig

    try:
        return set(load_kubeconfig(os.environ).contexts)
    except TonnageError:
        return set()


def _sandbox(name: str) -> KubeCluster:
    from tonnage.cluster.port import Target
    from tonnage.kube.client import KubeClient
    from tonnage.kube.kubeconfig import find_access
    from tonnage.kube.port import KubeCluster
    from tonnage.sandbox import find

    access = find_access(os.environ, kubeconfig=find(name).kubeconfig)
    return KubeCluster(KubeClient(access), target=Target("sandbox", name, access.server))


def _from_file(path: Path, *, to_come: bool = False) -> SavedCluster:
    if _is_document(path):
        return _from_document(path, to_come=to_come)
    from tonnage.kube.saved import SavedCluster

    return SavedCluster.open(path, now=dt.datetime.now(dt.UTC))


def _is_document(path: Path) -> bool:
    """Whether a file is a Cluster document rather than a snapshot: by name, else by how it begins."""
    if path.name.endswith(DOCUMENT_SUFFIXES):
        return True
    if path.name.endswith(SNAPSHOT_SUFFIXES):
        return False
    with path.open("rb") as file:
        start = file.read(64).lstrip()
    return bool(start) and not start.startswith((b"{", b"\x1f\x8b"))


def _from_document(path: Path, *, to_come: bool) -> SavedCluster:
    """The nodes a Cluster document describes, as a saved cluster nobody uses yet."""
    import msgspec

    from tonnage.cluster.port import Target
    from tonnage.cluster.snapshot import NOT_DESCRIBED, Gap
    from tonnage.kube.kinds import KINDS
    from tonnage.kube.saved import API_VERSION, KIND, Header, Saved, SavedCluster, SavedList
    from tonnage.spec.cluster import Cluster
    from tonnage.spec.cluster_nodes import nodes_of
    from tonnage.spec.loading import load_one

    document = load_one(path.read_bytes(), str(path), Cluster)
    ready = [{"type": "Ready", "status": "True"}]
    described = nodes_of(document, to_come=to_come)
    nodes = [{**node, "status": {**node["status"], "conditions": ready}} for node in described]
    gaps = tuple(
        Gap(resource=kind.full_name, reason=NOT_DESCRIBED, message="a Cluster document does not tell")
        for kind in KINDS
        if kind.field not in ("nodes", "pods")
    )
    target = Target("cluster file", str(path), "nothing runs on it")
    header = Header(taken_at=dt.datetime.now(dt.UTC), source=str(target))
    items = [msgspec.Raw(msgspec.json.encode(node)) for node in nodes]
    saved = Saved(API_VERSION, KIND, header, {"nodes": SavedList("v1", "Node", items)}, gaps)
    return SavedCluster(saved, target)


def _save_hint(on: str) -> str:
    if on.endswith(DOCUMENT_SUFFIXES):
        return "`tonnage init --kind cluster` writes a Cluster document to start from"
    return "save one with `tonnage snapshot --save FILE`"
