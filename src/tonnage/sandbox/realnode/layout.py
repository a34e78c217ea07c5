"""Where a real node lives: name, addresses, folders, links and cgroup, worked out before anything is made.

Everything a node will ever create on this machine can be read off these values, so it can be written into
the ledger first and made second. Several sandboxes run side by side; each has a subnet number and an id of
its own, and from those two follow names and addresses nobody else has:

    number 3, node real-2     bridge 10.245.3.1/24, node 10.245.3.12, pods 10.224.49.0/24

The pods of all sandboxes lie in 10.224.0.0/12, sixteen blocks of 254 addresses for each sandbox, because this
machine has routes to all of them at once.

Not here: making any of it (`network`, `cgroups`, `booting`).
"""

from __future__ import annotations

from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Network
from pathlib import Path

MAX_NODES = 16
POD_NETWORK = IPv4Network("10.224.0.0/12")
NODE_NETWORK = IPv4Network("10.245.0.0/16")
# Inside its mount namespace a node sees its own folder here.
INSIDE = Path("/run/node")


@dataclass(frozen=True, kw_only=True)
class Wire:
    """The bridge all real nodes of one sandbox hang on."""

    number: int
    """The sandbox's subnet number, 1 to 250."""
    sandbox_id: str

    @property
    def bridge(self) -> str:
        return f"{self.token}br"

    @property
    def token(self) -> str:
        """What this sandbox's links begin with: the kernel allows a link 15 letters."""
        return f"tn{self.sandbox_id[:8]}"

    @property
    def subnet(self) -> IPv4Network:
        """The nodes' own addresses."""
        return IPv4Network((int(NODE_NETWORK.network_address) + 256 * self.number, 24))

    @property
    def host_address(self) -> IPv4Address:
        """This machine's end of the wire: where the nodes find the API server."""
        return self.subnet.network_address + 1

    def pod_subnet(self, index: int) -> IPv4Network:
        """The addresses of the pods on the node with this index (from 1)."""
        block = MAX_NODES * self.number + index - 1
        return IPv4Network((int(POD_NETWORK.network_address) + 256 * block, 24))


@dataclass(frozen=True, kw_only=True)
class RealNode:
    """One node with a real kubelet: what others may want to know about it."""

    name: str
    index: int
    wire: Wire
    root: Path
    """The node's folder on this machine; the node itself sees it as /run/node, and `root/var` as /var."""

    @property
    def address(self) -> IPv4Address:
        """The node's InternalIP."""
        return self.wire.subnet.network_address + 10 + self.index

    @property
    def pod_subnet(self) -> IPv4Network:
        return self.wire.pod_subnet(self.index)

    @property
    def pod_gateway(self) -> IPv4Address:
        """The node's end of its pods' bridge; its DNS listens here."""
        return self.pod_subnet.network_address + 1

    @property
    def link(self) -> str:
        """This machine's end of the node's cable."""
        return f"{self.wire.token}v{self.index}"

    @property
    def cgroup(self) -> str:
        """The cgroup, below each hierarchy's root, that holds every pod of the node."""
        return f"tn-{self.wire.sandbox_id}-{self.index}"

    @property
    def kubelet_config(self) -> Path:
        return self.root / "kubelet.yaml"

    @property
    def volumes(self) -> Path:
        """Folders behind the default StorageClass; the node sees them below /run/node/volumes."""
        return self.root / "volumes"

    @property
    def pid(self) -> int:
        """The process whose death is the node's death: `unshare`, parent of the node's PID 1."""
        return int((self.root / "unshare.pid").read_text())

    @property
    def init_pid(self) -> int:
        """The node's PID 1 as this machine numbers it; the handle for entering its namespaces."""
        children = Path(f"/proc/{self.pid}/task/{self.pid}/children").read_text().split()
        return int(children[0])


def plan_nodes(wire: Wire, count: int, folder: Path) -> tuple[RealNode, ...]:
    """The nodes `real-1` to `real-N`, each with a folder of its own below `folder`."""
    names = [(index, f"real-{index}") for index in range(1, count + 1)]
    return tuple(RealNode(name=name, index=index, wire=wire, root=folder / name) for index, name in names)
