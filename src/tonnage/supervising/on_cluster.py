"""A run's cluster, found again from what the store knows: the context it was started with, its code, its plan."""

from __future__ import annotations

import datetime as dt
import hashlib
import os
import socket
from collections.abc import Mapping
from pathlib import Path

from tonnage.cluster.port import Target
from tonnage.errors import Problem, UsageError
from tonnage.kube.client import KubeClient
from tonnage.kube.kubeconfig import find_access
from tonnage.kube.running.place import KubePlace
from tonnage.kube.running.setting import KubeSetting
from tonnage.local.layout import RunFolder
from tonnage.manifests import CodeDelivery
from tonnage.running.history import RunRecord
from tonnage.shipping.bucket import signed_address
from tonnage.spec.run import Run
from tonnage.store.store import Store
from tonnage.supervising.detaching import kept_environment
from tonnage_agent.packing import packed

CODE = "code.tar.gz"
"""The working folder as it was when the run was started; every attempt gets this one."""
CLUSTER = "cluster"


def cluster_place(record: RunRecord, home: Path, run: Run, store: Store | None = None) -> KubePlace:
    """The cluster a run lives on; only who has the store acts there."""
    client, target = open_context(record.place, kept_environment(home, record.id))
    setting = setting_of(record, run, target, RunFolder.of(home, record.id).root)
    if store is None:
        return KubePlace(client, setting)
    return KubePlace(client, setting, acts=True, history=lambda: store.run(record.id))


def setting_of(record: RunRecord, run: Run, target: Target, folder: Path) -> KubeSetting:
    """What every attempt shares."""
    kept, path = record.launching.rendering.get("code"), folder / CODE
    return KubeSetting(
        run=run,
        launching=record.launching,
        target=target,
        folder=folder / CLUSTER,
        agent=packed(),
        code=path.read_bytes() if kept is None and path.exists() else None,
        delivery=None if kept is None else lambda: delivery_of(kept, os.environ),
        identity=identity(folder),
    )


def delivery_of(kept: Mapping[str, str], environment: Mapping[str, str]) -> CodeDelivery:
    """Where the code of a run is, as the next pod reaches it: an address in a bucket is signed anew."""
    if not kept.get("bucket"):
        return CodeDelivery(**kept)
    url = signed_address(kept["bucket"], kept["key"], environment, dt.datetime.now(dt.UTC))
    return CodeDelivery(digest=kept["digest"], mount=kept["mount"], url=url)


def keep_code(home: Path, run: int, archive: bytes) -> None:
    """Keep the code that a run was started with."""
    path = RunFolder.of(home, run).root / CODE
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    temporary = path.with_suffix(".new")
    temporary.write_bytes(archive)
    temporary.replace(path)


def open_context(name: str, environment: Mapping[str, str] = os.environ) -> tuple[KubeClient, Target]:
    """The API server that `--on NAME` means: a sandbox, or a context of the kubeconfig."""
    word, _, rest = name.partition(":")
    if word == "sandbox":
        from tonnage.sandbox import find

        access = find_access(environment, kubeconfig=find(rest or "default").kubeconfig)
        return KubeClient(access), Target("sandbox", rest or "default", access.server)
    if "/" in name or name.endswith((".yaml", ".yml", ".json", ".gz")):
        raise UsageError(
            Problem(
                code="RUN-120",
                what=f"nothing can run on {name}: it is a file",
                hint="--on takes a kubeconfig context or sandbox:NAME; `tonnage plan --on FILE` plans against files",
            )
        )
    access = find_access(environment, name or None)
    return KubeClient(access), Target("context", access.context, access.server)


def identity(folder: Path) -> str:
    """Who holds a run, for its Lease: this machine's store, whichever process of it."""
    where = hashlib.sha256(str(folder).encode()).hexdigest()[:8]
    return f"{os.environ.get('USER') or 'user'}@{socket.gethostname()}/{where}"
