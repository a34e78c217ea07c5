"""What someone asks a sandbox to be; checked before anything is started."""

from __future__ import annotations

import os
import re
import sys
from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from tonnage.cluster.shapes import NodeShape, parse_node_shapes
from tonnage.errors import EnvironmentProblem, Problem, TonnageError, UsageError

DEFAULT_NAME = "default"
CONTROLLERS = ("kueue", "jobset", "trainer", "training-operator")
MOST_REAL_NODES = 8
_NAME = re.compile(r"^[a-z0-9]([a-z0-9-]{0,18}[a-z0-9])?$")


@dataclass(frozen=True, kw_only=True)
class SandboxRequest:
    """One sandbox: its name, its simulated and real nodes, the controllers beside Kubernetes."""

    name: str = DEFAULT_NAME
    nodes: str = ""
    """Groups of simulated nodes, as `parse_node_shapes` reads them; empty for none."""
    real_nodes: int = 0
    controllers: tuple[str, ...] = ()
    snapshot: Path | None = None
    """A saved snapshot to make a twin of."""
    fast_node_loss: bool = False
    """Notice a lost node after 8 seconds instead of 40: for tests of node failure."""
    gpus_per_real_node: int = 8
    """How many `nvidia.com/gpu` each real node announces; nothing stands behind them."""
    kubelet_overrides: dict[str, Any] = field(default_factory=dict)
    """Laid over every real node's KubeletConfiguration."""
    node_disk: str = ""
    """A disk of this size for each real node (images, logs, kubelet); empty: this machine's own."""

    def shapes(self) -> list[tuple[NodeShape, int]]:
        """The groups of simulated nodes."""
        return parse_node_shapes(self.nodes) if self.nodes else []


def check_request(request: SandboxRequest) -> None:
    """Raise with every reason why this request cannot be met on this machine."""
    _check_linux()
    problems: list[Problem] = [*_name_problems(request.name), *_controller_problems(request.controllers)]
    try:
        request.shapes()
    except UsageError as wrong:
        problems += wrong.problems
    if not 0 <= request.real_nodes <= MOST_REAL_NODES:
        found = str(request.real_nodes)
        problems.append(
            Problem(
                code="BOX-003",
                what="this number of real nodes is not possible",
                where="--real-nodes",
                found=found,
                expected=f"0 to {MOST_REAL_NODES}",
            )
        )
    if request.snapshot is not None and not request.snapshot.is_file():
        problems.append(
            Problem(
                code="BOX-004",
                what="there is no such snapshot",
                where=f"--from {request.snapshot}",
                hint="save one with: tonnage snapshot -o json > FILE",
            )
        )
    if problems:
        raise UsageError(*problems)
    if request.real_nodes:
        _check_root()


def is_name(name: str) -> bool:
    """Whether this can be the name of a sandbox."""
    return _NAME.match(name) is not None


def check_name(name: str) -> None:
    """Raise unless this can be the name of a sandbox."""
    if problems := _name_problems(name):
        raise UsageError(*problems)


def _name_problems(name: str) -> list[Problem]:
    if is_name(name):
        return []
    return [
        Problem(
            code="BOX-002",
            what="this cannot be the name of a sandbox",
            where="--name",
            found=repr(name),
            expected="1 to 20 lower-case letters, digits and '-', no '-' at the ends",
        )
    ]


def _controller_problems(names: tuple[str, ...]) -> list[Problem]:
    problems = []
    for name in names:
        if name not in CONTROLLERS:
            near = get_close_matches(name, CONTROLLERS, n=1)
            problems.append(
                Problem(
                    code="BOX-005",
                    what="unknown controller",
                    where="--with",
                    found=repr(name),
                    expected=f"one of {', '.join(CONTROLLERS)}",
                    hint=f"did you mean {near[0]}?" if near else None,
                )
            )
    return problems


def _check_linux() -> None:
    if sys.platform != "linux":
        raise EnvironmentProblem(
            Problem(
                code="BOX-009",
                what="the sandbox runs on Linux only",
                found=sys.platform,
                hint="use a Linux machine, a virtual machine or a container",
            )
        )


def _check_root() -> None:
    if os.geteuid() != 0:
        raise cannot_have_real_nodes(
            found=f"user id {os.geteuid()}",
            hint="run it as root, or leave --real-nodes out: simulated nodes (--nodes) need no rights",
        )


def cannot_have_real_nodes(*, found: str, hint: str) -> TonnageError:
    """Why this machine cannot run real nodes."""
    return EnvironmentProblem(
        Problem(
            code="BOX-006",
            what="real nodes need root: they have mounts, network links and cgroups of their own",
            where="--real-nodes",
            found=found,
            expected="user id 0",
            hint=hint,
        )
    )
