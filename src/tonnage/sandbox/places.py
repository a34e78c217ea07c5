"""Where a sandbox lives on disk, and where what it is made of is cached.

State and cache follow the XDG folders. Everything a sandbox writes lies under one folder, so that removing
that folder is the last step of taking it down; whatever cannot lie there (mounts, links, cgroups, processes)
is in the ledger.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path


def state_home() -> Path:
    """The folder that holds one folder per sandbox."""
    return _xdg("XDG_STATE_HOME", ".local/state") / "tonnage" / "sandboxes"


def cache_home() -> Path:
    """The folder of everything that can be obtained again."""
    return _xdg("XDG_CACHE_HOME", ".cache") / "tonnage"


@dataclass(frozen=True)
class Places:
    """The files of one sandbox."""

    root: Path

    @classmethod
    def of(cls, name: str) -> Places:
        return cls(state_home() / name)

    @property
    def pki(self) -> Path:
        return self.folder("pki")

    @property
    def logs(self) -> Path:
        return self.folder("logs")

    @property
    def run(self) -> Path:
        """Configuration files and kubeconfigs of the components."""
        return self.folder("run")

    @property
    def etcd(self) -> Path:
        return self.folder("etcd")

    @property
    def kubeconfig(self) -> Path:
        """The administrator's kubeconfig: the file users are told to export."""
        return self.root / "kubeconfig"

    @property
    def state(self) -> Path:
        return self.root / "state.json"

    @property
    def ledger(self) -> Path:
        return self.root / "ledger.jsonl"

    @property
    def ports(self) -> Path:
        return self.root / "ports.json"

    def folder(self, relative: str) -> Path:
        """A folder of this sandbox, made on first use and closed to other users."""
        path = self.root / relative
        path.mkdir(parents=True, exist_ok=True, mode=0o700)
        return path


def _xdg(variable: str, default: str) -> Path:
    # The specification says to ignore relative paths.
    named = os.environ.get(variable, "")
    return Path(named) if named.startswith("/") else Path.home() / default
