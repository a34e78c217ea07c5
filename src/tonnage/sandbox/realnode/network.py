"""The wire between real nodes: one bridge on this machine, one cable (a veth pair) into each node's network.

The machine's firewall and sysctls stay untouched: nodes reach each other and the API server over the
bridge, pods reach pods of other nodes by routes inside the nodes, and the machine reaches pods by one route
per node. All of it goes away with the bridge and the cables.

There is no way out to the internet: that would need address translation in the machine's own firewall.
"""

from __future__ import annotations

import json
import subprocess
from ipaddress import IPv4Network

from tonnage.errors import EnvironmentProblem, Problem
from tonnage.sandbox.realnode.layout import MAX_NODES, RealNode, Wire


def check_addresses(wire: Wire) -> None:
    """Raise if this machine already routes some of the addresses a sandbox on this wire would use."""
    wanted = [wire.subnet, *(wire.pod_subnet(index) for index in range(1, MAX_NODES + 1))]
    for other, device in _routes():
        if device != wire.bridge and any(one.overlaps(other) for one in wanted):
            raise EnvironmentProblem(
                Problem(
                    code="BOX-203",
                    what="this machine already uses addresses that real nodes would need",
                    found=f"a route to {other} by {device}",
                    expected=f"{wire.subnet} and {wanted[1]} to {wanted[-1]} unused",
                    hint="disconnect that network (a VPN, an engine), or use simulated nodes: --nodes",
                )
            )


def make_bridge(wire: Wire) -> None:
    """Make the sandbox's bridge, with this machine's address on it."""
    if not link_exists(wire.bridge):
        _ip("link", "add", wire.bridge, "type", "bridge")
    _ip("addr", "replace", f"{wire.host_address}/24", "dev", wire.bridge)
    _ip("link", "set", wire.bridge, "up")


def plug_in(node: RealNode) -> None:
    """Run a cable from the bridge into the node, and tell this machine which pods are behind it."""
    if link_exists(node.link):
        remove_link(node.link)
    peer = ("peer", "name", "eth0", "netns", str(node.init_pid))
    _ip("link", "add", node.link, "type", "veth", *peer)
    _ip("link", "set", node.link, "master", node.wire.bridge, "up")
    _ip("route", "replace", str(node.pod_subnet), "via", str(node.address), "dev", node.wire.bridge)


def set_cable(node: RealNode, *, up: bool) -> None:
    """Pull the node's cable out, or put it back."""
    _ip("link", "set", node.link, "up" if up else "down")


def remove_link(name: str) -> None:
    """Remove a link, and with it its addresses and routes; one that is gone already is fine."""
    if link_exists(name):
        subprocess.run(["ip", "link", "del", name], capture_output=True, check=False)


def link_exists(name: str) -> bool:
    """Whether this machine has a link of this name."""
    shown = subprocess.run(["ip", "link", "show", name], capture_output=True, check=False)
    return shown.returncode == 0


def _routes() -> list[tuple[IPv4Network, str]]:
    routes = json.loads(_ip("-json", "-4", "route", "show", "table", "main") or "[]")
    named = [
        (route["dst"], route.get("dev", "")) for route in routes if route.get("dst", "default") != "default"
    ]
    return [(IPv4Network(destination), device) for destination, device in named]


def _ip(*arguments: str) -> str:
    done = subprocess.run(["ip", *arguments], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise EnvironmentProblem(
            Problem(
                code="BOX-208",
                what="the network of a real node could not be set up",
                where=f"ip {' '.join(arguments)}",
                found=done.stderr.strip() or f"exit code {done.returncode}",
                hint="real nodes need CAP_NET_ADMIN, CAP_SYS_ADMIN and a kernel with veth and bridge",
            )
        )
    return done.stdout
