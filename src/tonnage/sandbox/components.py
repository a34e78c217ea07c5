"""The programs a sandbox is made of: which version, where an official build lies, how it is built from
source.

Versions are pinned, because a sandbox that is another Kubernetes tomorrow proves nothing. A program on PATH
is taken when its own `--version` fits; an official download is taken only when its SHA-256 stands here, so a
component without pins is never downloaded. `group` names a folder of `modules/`: one small Go module with
`tool` lines and a `go.sum`, which pins the source of every dependency. `typical_seconds` was measured on two
cores with an empty build cache.
"""

from __future__ import annotations

import platform
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from tonnage.sandbox.places import cache_home

MODULES = Path(__file__).parent / "modules"


@dataclass(frozen=True)
class Asset:
    """Files a component needs beside its program, taken out of a Go module's source."""

    module: str
    source: str
    target: str


@dataclass(frozen=True)
class Download:
    """Where the project itself publishes this program, and what the file must be, by platform.

    In `url`, {version}, {os} and {arch} are filled in; `member` is the path inside an archive, if it is one.
    """

    url: str
    sha256: Mapping[str, str] = field(default_factory=dict)
    member: str | None = None


@dataclass(frozen=True, kw_only=True)
class Component:
    """One program in one version."""

    name: str
    version: str
    group: str
    package: str
    typical_seconds: int
    ldflags: str = ""
    accepts: str = ""
    """Regular expression that `--version` must match for a program on PATH; empty: never taken from PATH."""
    version_arguments: tuple[str, ...] = ("--version",)
    download: Download | None = None
    assets: tuple[Asset, ...] = ()

    @property
    def folder(self) -> Path:
        """Where the cache keeps it."""
        return cache_home() / "components" / f"{self.name}-{self.version}-{platform_name()}"

    @property
    def title(self) -> str:
        return f"{self.name} {self.version}"

    @property
    def cached(self) -> Path:
        return self.folder / self.name

    @property
    def module(self) -> Path:
        """The Go module that pins its source."""
        return MODULES / self.group


def platform_name() -> str:
    """This machine in Go's words, like linux-amd64."""
    machine = {"x86_64": "amd64", "aarch64": "arm64"}.get(platform.machine(), platform.machine())
    return f"{sys.platform}-{machine}"


KUBERNETES_VERSION = "v1.36.4"
_STAMP = (
    f"-X k8s.io/component-base/version.gitVersion={KUBERNETES_VERSION}"
    " -X k8s.io/component-base/version.gitMajor=1 -X k8s.io/component-base/version.gitMinor=36"
    f" -X k8s.io/client-go/pkg/version.gitVersion={KUBERNETES_VERSION}"
)


def _kubernetes(
    name: str, typical_seconds: int, version_arguments: tuple[str, ...] = ("--version",)
) -> Component:
    return Component(
        name=name,
        version=KUBERNETES_VERSION,
        group="kubernetes",
        package=f"k8s.io/kubernetes/cmd/{name}",
        typical_seconds=typical_seconds,
        ldflags=_STAMP,
        accepts=r"v1\.36\.\d+\b",
        download=Download("https://dl.k8s.io/release/{version}/bin/{os}/{arch}/" + name),
        version_arguments=version_arguments,
    )


ETCD = Component(
    name="etcd",
    version="v3.6.8",
    group="etcd",
    package="go.etcd.io/etcd/server/v3",
    typical_seconds=35,
    accepts=r"etcd Version: 3\.6\.\d+",
    download=Download(
        "https://github.com/etcd-io/etcd/releases/download/{version}/etcd-{version}-{os}-{arch}.tar.gz",
        member="etcd-{version}-{os}-{arch}/etcd",
    ),
)
KWOK = Component(
    name="kwok",
    version="v0.8.0",
    group="kwok",
    package="sigs.k8s.io/kwok/cmd/kwok",
    typical_seconds=70,
    accepts=r"\bv0\.8\.\d+\b",
    download=Download("https://github.com/kubernetes-sigs/kwok/releases/download/{version}/kwok-{os}-{arch}"),
)
KUBE_APISERVER = _kubernetes("kube-apiserver", 200)
KUBE_CONTROLLER_MANAGER = _kubernetes("kube-controller-manager", 36)
KUBE_SCHEDULER = _kubernetes("kube-scheduler", 16)
KUBECTL = _kubernetes("kubectl", 19, version_arguments=("version", "--client"))
KUBELET = _kubernetes("kubelet", 15)
KUBE_PROXY = _kubernetes("kube-proxy", 34)

VERSITYGW = Component(
    name="versitygw",
    version="v1.8.0",
    group="versitygw",
    package="github.com/versity/versitygw/cmd/versitygw",
    typical_seconds=60,
)
"""An S3 server on a folder: what checkpoints in buckets are tested against. No part of a sandbox."""

CONTROL_PLANE = (ETCD, KUBE_APISERVER, KUBE_CONTROLLER_MANAGER, KUBE_SCHEDULER, KWOK, KUBECTL)
