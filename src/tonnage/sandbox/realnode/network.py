"""The wire between real nodes: one bridge on this machine, one cable (a veth pair) into each node's network.

The machine's firewall and sysctls stay untouched: nodes reach each other and the API server over the
bridge, pods reach pods of other nodes by routes inside the nodes, and the machine reaches pods by one route
per node. All of it goes away with the bridge and the cables.

There is no way out to the internet: that would need address translation in the machine's own firewall.
"""

from __future__ import annotations

import subprocess
import sys
from ipaddress import IPv4Address, IPv4Network
from pathlib import Path

from tonnage.errors import EnvironmentProblem, Problem
from tonnage.sandbox.realnode.layout import MAX_NODES, NODE_NETWORK, RealNode, Wire

ROUTES = Path("/proc/net/route")


def check_addresses(wire: Wire, table: Path = ROUTES) -> None:
    """Raise if this machine already routes some of the addresses a sandbox on this wire would use."""
    wanted = [wire.subnet, *(wire.pod_subnet(index) for index in range(1, MAX_NODES + 1))]
    for other, device in read_routes(table):
        # A wider route (a VPN's 10.0.0.0/8) does no harm: the narrower one wins.
        if any(other.subnet_of(one) for one in wanted):
            raise EnvironmentProblem(
                Problem(
                    code="BOX-203",
                    what="this machine already uses addresses that real nodes would need",
                    found=f"a route to {other} by {device}",
                    expected=f"{wire.subnet} and {wanted[1]} to {wanted[-1]} unused",
                    hint="disconnect that network (a VPN, an engine), or use simulated nodes: --nodes",
                )
            )


def numbers_in_use(table: Path = ROUTES) -> set[int]:
    """Subnet numbers whose node addresses this machine has a route to already, whoever's they are."""
    if not table.exists():
        return set()  # not Linux: no real nodes either
    routes = [route for route, _ in read_routes(table) if route.subnet_of(NODE_NETWORK)]
    return {route.network_address.packed[2] for route in routes}


def read_routes(table: Path = ROUTES) -> list[tuple[IPv4Network, str]]:
    """The networks this machine knows a way to, with the link it takes; the default route left out."""
    rows = [line.split() for line in table.read_text().splitlines()[1:]]
    found = [(IPv4Network((_address(row[1]), str(IPv4Address(_address(row[7]))))), row[0]) for row in rows]
    return [(network, link) for network, link in found if network.prefixlen]


def _address(written: str) -> int:
    # The kernel prints an address as the number its four bytes make in memory.
    return int.from_bytes(bytes.fromhex(written)[:: -1 if sys.byteorder == "little" else 1], "big")


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
