"""A real Kubernetes on this machine: etcd, API server, controllers and scheduler as plain processes, nodes
simulated or real.

    from tonnage.sandbox import SandboxRequest, up, down

    sandbox = up(SandboxRequest(name="demo", nodes="8xh100=4,cpu=2"))
    ...                             # sandbox.kubeconfig, sandbox.server
    down("demo")

Names are loaded when first used: most commands only ask whether a sandbox exists.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tonnage.sandbox.lifecycle import down, find, up
    from tonnage.sandbox.request import SandboxRequest
    from tonnage.sandbox.state import Sandbox

__all__ = ["Sandbox", "SandboxRequest", "down", "find", "up"]

_HOMES = {
    "Sandbox": "tonnage.sandbox.state",
    "SandboxRequest": "tonnage.sandbox.request",
    "down": "tonnage.sandbox.lifecycle",
    "find": "tonnage.sandbox.lifecycle",
    "up": "tonnage.sandbox.lifecycle",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    import importlib

    return getattr(importlib.import_module(_HOMES[name]), name)
