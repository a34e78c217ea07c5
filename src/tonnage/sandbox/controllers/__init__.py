"""The real controllers a sandbox can run: Kueue, JobSet, Kubeflow Trainer and the training operator.

They are the upstream programs, built from pinned Go modules, run as plain processes with their webhooks on.
`catalogue` lists them, one row and one small file each; `starting` brings them up, all the same way.
A controller that ends is started again: with Kueue away, its webhooks refuse every pod of the cluster.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tonnage.sandbox.components import Component
    from tonnage.sandbox.showing import Show
    from tonnage.sandbox.state import Sandbox

NAMES = ("kueue", "jobset", "trainer", "training-operator")


def components(names: Sequence[str]) -> tuple[Component, ...]:
    """What must be obtained before these controllers, and those they need, can start."""
    from tonnage.sandbox.components import Asset, Component
    from tonnage.sandbox.controllers.catalogue import choose

    return tuple(
        Component(
            name=row.name,
            version=row.version,
            group=row.module_folder,
            package=row.package,
            typical_seconds=row.build_seconds,
            ldflags=row.link_flags,
            assets=tuple(Asset(row.module, folder, name) for name, folder in row.manifests.items()),
        )
        for row in choose(names)
    )


def start_controllers(sandbox: Sandbox, names: Sequence[str], show: Show) -> None:
    """Start these controllers, and those they need, in a running sandbox; return when all are ready."""
    from tonnage.sandbox.controllers.starting import start_controllers as start

    start(sandbox, names, show)
