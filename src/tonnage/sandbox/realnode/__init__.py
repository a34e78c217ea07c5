"""Real nodes: kubelet, containerd and runc in namespaces of their own, where containers really run and die.

Simulated nodes show where pods would go. These show what happens to them there: OOM kills, evictions, exit
codes, ranks that find each other by name, data that outlives a pod, a machine that loses its power.

    layout             what a node is called and where it lives, before it exists
    requirements       what this machine must have
    configuring        what each of a node's programs is told
    booting, boot.sh   switching it on, from outside and from inside
    network, cgroups   the two things a node needs outside its namespaces
    images, loading    local/python and its like made by hand; images from files
    storage, labelling, manifests, tending    claims get folders, nodes announce GPUs, names resolve
    operating          crash, partition, reconfigure

Everything a node makes outside the sandbox's folder is one of three kinds, written into the ledger first:
its process tree (`node`), a cgroup, a link. Mounts are all inside the node's own mount namespace and end
with it. Names resolved here are loaded on first use: a sandbox without real nodes pays nothing for them.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tonnage.sandbox.components import Component
    from tonnage.sandbox.ledger import Entry
    from tonnage.sandbox.realnode.booting import node_called, nodes_of
    from tonnage.sandbox.realnode.layout import RealNode
    from tonnage.sandbox.realnode.loading import ensure_images
    from tonnage.sandbox.realnode.operating import crash, enter, heal, partition, reboot, reconfigure
    from tonnage.sandbox.request import SandboxRequest
    from tonnage.sandbox.showing import Show
    from tonnage.sandbox.state import Sandbox

__all__ = [
    "UNDO",
    "RealNode",
    "add_real_nodes",
    "components",
    "crash",
    "ensure_images",
    "enter",
    "heal",
    "load_image",
    "load_open_mpi",
    "node_called",
    "nodes_of",
    "partition",
    "prepare_network",
    "reboot",
    "reconfigure",
]

_HOMES = {
    "RealNode": "layout",
    "node_called": "booting",
    "nodes_of": "booting",
    "ensure_images": "loading",
    **dict.fromkeys(("crash", "enter", "heal", "partition", "reboot", "reconfigure"), "operating"),
}


def components(request: SandboxRequest) -> tuple[Component, ...]:
    """The programs real nodes need; raises first if this machine cannot have real nodes at all."""
    if not request.real_nodes:
        return ()
    from tonnage.sandbox.components import KUBE_PROXY, KUBELET, Component
    from tonnage.sandbox.realnode.requirements import check_machine

    check_machine()
    coredns = Component(name="coredns", version="v1.14.1", group="coredns", package=".", typical_seconds=70)
    return (KUBELET, KUBE_PROXY, coredns)


def prepare_network(sandbox: Sandbox) -> None:
    """Make the bridge whose address the API server will listen on."""
    from tonnage.sandbox.realnode import network
    from tonnage.sandbox.realnode.booting import wire_of

    wire = wire_of(sandbox)
    network.check_addresses(wire)
    sandbox.ledger.record("link", wire.bridge)
    network.make_bridge(wire)


def add_real_nodes(sandbox: Sandbox, count: int, show: Show) -> list[str]:
    """Start the sandbox's real nodes and return their names when all are Ready."""
    import sys

    from tonnage.sandbox import processes
    from tonnage.sandbox.places import cache_home
    from tonnage.sandbox.realnode import booting, images, manifests

    nodes = booting.nodes_of(sandbox)
    assert len(nodes) == count, "the sandbox's request names the number of real nodes"
    archives = images.ready_images(cache_home() / "images", show)
    if "training-operator" in sandbox.request.controllers:
        archives += (images.kubectl_image(cache_home() / "images", sandbox.binary("kubectl")),)
    sandbox.api.apply(manifests.cluster_objects())
    for node in nodes:
        booting.write_files(sandbox, node, archives)
        booting.boot(sandbox, node)
    tender = [sys.executable, "-m", "tonnage.sandbox.realnode.tending", sandbox.name]
    processes.start(sandbox, "tender", tender, tier="nodes", restart=True)
    booting.wait_until_ready(sandbox, nodes)
    booting.wait_until_usable(sandbox, nodes)
    show.step("real nodes", f"{len(nodes)} Ready, containerd and runc")
    return [node.name for node in nodes]


def load_image(sandbox: Sandbox, archive: Path) -> list[str]:
    """Import an image archive into every real node; returns the images' names."""
    from tonnage.sandbox.realnode.booting import nodes_of
    from tonnage.sandbox.realnode.loading import load_into

    return load_into(nodes_of(sandbox), archive)


def load_open_mpi(sandbox: Sandbox, show: Show) -> list[str]:
    """Bring `local/openmpi:4` into every real node, packed first if nobody has."""
    from tonnage.sandbox.places import cache_home
    from tonnage.sandbox.realnode import images

    return load_image(sandbox, images.open_mpi_image(cache_home() / "images", show))


def _undo_node(sandbox: Sandbox, entry: Entry) -> None:
    from tonnage.sandbox.realnode.booting import switch_off

    switch_off(sandbox, entry.id)


def _undo_cgroup(_: Sandbox, entry: Entry) -> None:
    from tonnage.sandbox.realnode import cgroups

    cgroups.remove(entry.id)


def _undo_link(_: Sandbox, entry: Entry) -> None:
    from tonnage.sandbox.realnode import network

    network.remove_link(entry.id)


UNDO: dict[str, Callable[[Sandbox, Entry], None]] = {
    "node": _undo_node,
    "cgroup": _undo_cgroup,
    "link": _undo_link,
}


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        from importlib import import_module

        return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
