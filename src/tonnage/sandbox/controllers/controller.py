"""What the sandbox must know about one controller, as data.

Each controller is a row: where its source is, which of its manifests are applied, and three small functions
that say how it is started at a given `Place`.
A place is all that differs between two sandboxes: ports, folders, and which controllers run side by side.
Nothing here starts a process; `starting` does, the same way for every row.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Place:
    """Where one controller of one sandbox lives."""

    folder: Path
    """The sandbox's private folder for its controllers; also `/tmp` of the one that insists on it."""
    kubeconfig: Path
    """Inside `folder`, certificates embedded, so that it is readable wherever the folder is mounted."""
    webhook_port: int
    health_port: int
    metrics_port: int
    extra_port: int
    """A fourth port for whatever else a controller serves (Kueue's visibility API)."""
    frameworks: tuple[str, ...] = ()
    """The kinds that the sandbox's other controllers serve: Kueue manages only those that are there."""

    @property
    def certificates(self) -> Path:
        """controller-runtime's default below the temporary folder, which two of the four cannot change."""
        return self.folder / "k8s-webhook-server" / "serving-certs"

    def configuration(self, controller: str) -> Path:
        """The file that holds a controller's settings."""
        return self.folder / f"{controller}.json"

    def usual_arguments(self, controller: str) -> list[str]:
        """What every controller with a settings file is started with."""
        return [f"--kubeconfig={self.kubeconfig}", f"--config={self.configuration(controller)}"]


def _no_settings(_: Place) -> dict[str, Any] | None:
    return None


def _no_environment(_: Place) -> dict[str, str]:
    return {}


@dataclass(frozen=True, kw_only=True)
class Controller:
    """One row of the catalogue."""

    name: str
    """As typed after `--with`, and the name of its binary."""
    title: str
    version: str
    does: str
    """What a user gets, in a few words."""

    module: str
    """The Go module it comes from."""
    package: str
    module_folder: str
    """Our Go module that pins it, under `sandbox/modules/`."""
    link_flags: str = ""
    build_seconds: int = 90

    manifests: Mapping[str, str]
    """What is rendered from the module: name -> kustomization folder in it; `crds` and `webhooks` always."""
    namespace: str
    webhook_prefix: str = ""
    certificate_secret: str | None = None
    """The secret its certificate rotator reads, where it has one that stays on."""
    ca_name: str | None = None
    service: str | None = None
    needs: tuple[str, ...] = ()
    kueue_frameworks: tuple[str, ...] = ()
    """The kinds it serves, as Kueue's list of integrations calls them."""

    arguments: Callable[[Place], list[str]]
    settings: Callable[[Place], dict[str, Any] | None] = field(default=_no_settings)
    environment: Callable[[Place], dict[str, str]] = field(default=_no_environment)
    private_tmp: bool = False
    """It reads below `/tmp` by a fixed name, so it gets a mount namespace with a `/tmp` of its own."""
