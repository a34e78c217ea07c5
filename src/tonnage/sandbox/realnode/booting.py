"""Starting real nodes: files first, then the ledger, then cgroup, process and cable, then wait for Ready.

A node is one process tree below `unshare`, whose PID 1 is `boot.sh`. It is a machine in the sense that
matters here: killing that one process takes the whole node away at once, and starting it again on the same
folder is a reboot with the disk kept.
"""

from __future__ import annotations

import json
import os
import shutil
import time
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from tonnage.errors import EnvironmentProblem, Problem
from tonnage.sandbox import processes
from tonnage.sandbox.kubeconfig import write_kubeconfig
from tonnage.sandbox.realnode import cgroups, configuring, network
from tonnage.sandbox.realnode.labelling import announces_gpus, labels_for
from tonnage.sandbox.realnode.layout import RealNode, Wire, plan_nodes
from tonnage.sandbox.realnode.manifests import DNS_USER
from tonnage.sandbox.realnode.requirements import may_lower_oom_scores
from tonnage.sandbox.state import Sandbox
from tonnage.units import parse_quantity

BOOT = Path(__file__).with_name("boot.sh")
READY_SECONDS = 240.0
_PROGRAMS = ("kubelet", "kube-proxy", "coredns")
_NAMESPACES = ("--mount", "--net", "--pid", "--uts", "--ipc", "--fork", "--kill-child", "--mount-proc")
_SYSTEM_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


def nodes_of(sandbox: Sandbox) -> tuple[RealNode, ...]:
    """The real nodes of a sandbox, running or not."""
    return plan_nodes(wire_of(sandbox), sandbox.request.real_nodes, sandbox.places.root / "nodes")


def wire_of(sandbox: Sandbox) -> Wire:
    """The bridge of this sandbox's real nodes."""
    return Wire(number=sandbox.subnet, sandbox_id=sandbox.id)


def node_called(sandbox: Sandbox, name: str) -> RealNode:
    """The real node of that name."""
    nodes = nodes_of(sandbox)
    for node in nodes:
        if node.name == name:
            return node
    raise EnvironmentProblem(
        Problem(
            code="BOX-204",
            what=f"sandbox {sandbox.name} has no real node of that name",
            found=repr(name),
            expected=", ".join(node.name for node in nodes) or "a sandbox started with --real-nodes",
        )
    )


def write_files(sandbox: Sandbox, node: RealNode, images: Iterable[Path]) -> None:
    """Everything the node's programs read: configuration, certificates, kubeconfigs, programs and images."""
    root = node.root
    for folder in (root / "pki", root / "cni", root / "bin", root / "images", node.volumes):
        folder.mkdir(parents=True, exist_ok=True)
    _write_credentials(sandbox, node)
    for program in _PROGRAMS:
        link_or_copy(sandbox.binary(program), root / "bin" / program)
    for image in images:
        link_or_copy(image, root / "images" / image.name)
    disk = sandbox.request.node_disk
    texts = {
        "containerd.toml": configuring.containerd_toml(may_lower_oom_scores=may_lower_oom_scores()),
        "cni/10-pods.conflist": configuring.cni_conflist(node),
        "kube-proxy.yaml": json.dumps(configuring.kube_proxy_config(node), indent=1),
        "Corefile": configuring.corefile(node),
        "resolv.conf": "# nothing is outside a sandbox; cluster names are answered by the node's own DNS\n",
        "node.env": configuring.node_env(
            node,
            nodes_of(sandbox),
            labels=labels_for(gpus=sandbox.request.gpus_per_real_node),
            disk_bytes=parse_quantity(disk).value() if disk else None,
        ),
    }
    for name, text in texts.items():
        (root / name).write_text(text)
    write_kubelet_config(sandbox, node, sandbox.request.kubelet_overrides)


def write_kubelet_config(sandbox: Sandbox, node: RealNode, overrides: dict[str, Any]) -> None:
    """Write the kubelet's configuration; JSON is YAML, and readable by both."""
    request = sandbox.request
    config = configuring.kubelet_config(
        node, overrides, has_own_disk=bool(request.node_disk), fast_node_loss=request.fast_node_loss
    )
    node.kubelet_config.write_text(json.dumps(config, indent=1))


def boot(sandbox: Sandbox, node: RealNode) -> None:
    """Switch the node on; also after a crash."""
    sandbox.ledger.record("cgroup", node.cgroup)
    sandbox.ledger.record("link", node.link)
    sandbox.ledger.record("node", node.name)
    # Whatever a crashed node left is gone when a machine comes up again.
    cgroups.remove(node.cgroup)
    cgroups.make(node.cgroup)
    argv = ["unshare", *_NAMESPACES, "bash", str(BOOT), str(node.root)]
    path = {"PATH": os.environ.get("PATH", "") + ":" + _SYSTEM_PATH}
    pid = processes.start(sandbox, node.name, argv, tier="nodes", env=path)
    (node.root / "unshare.pid").write_text(str(pid))
    processes.wait_until(
        sandbox, node.name, lambda: _has_init(node), seconds=10, what="entered its namespaces"
    )
    network.plug_in(node)


def wait_until_ready(sandbox: Sandbox, nodes: Sequence[RealNode], *, since: float | None = None) -> None:
    """Return when every node is Ready; with `since`, by a heartbeat later than that time."""
    deadline = time.monotonic() + READY_SECONDS
    waiting = list(nodes)
    while waiting:
        waiting = [node for node in waiting if not _is_ready(sandbox, node, since)]
        for node in waiting:
            if not processes.is_alive(sandbox, node.name) or time.monotonic() > deadline:
                raise _not_ready(sandbox, node)
        if waiting:
            time.sleep(0.1)


def wait_until_usable(sandbox: Sandbox, nodes: Sequence[RealNode]) -> None:
    """Return when pods may be placed on every node: its GPUs are announced, the not-ready taint is gone."""
    gpus = sandbox.request.gpus_per_real_node

    def is_usable(found: dict[str, Any]) -> bool:
        return not found["spec"].get("taints") and (not gpus or announces_gpus(found, gpus))

    for node in nodes:
        sandbox.api.wait(f"/api/v1/nodes/{node.name}", is_usable, seconds=READY_SECONDS)


def switch_off(sandbox: Sandbox, name: str) -> None:
    """End every process of the node of that name at once, and return when they are gone."""
    while pids := processes.find_processes(sandbox.id, name):
        processes.end(pids, polite=False)


def link_or_copy(source: Path, target: Path) -> None:
    """Put a file into the node's folder without a second copy where the file system allows it."""
    target.unlink(missing_ok=True)
    try:
        os.link(source.resolve(), target)
    except OSError:
        shutil.copy2(source, target)


def _write_credentials(sandbox: Sandbox, node: RealNode) -> None:
    shutil.copy(sandbox.pki.ca.cert, node.root / "pki" / "ca.crt")
    hosts = [str(node.address), node.name]
    pair = sandbox.pki.issue(
        f"kubelet-{node.name}",
        common_name=f"system:node:{node.name}",
        organization="system:nodes",
        hosts=hosts,
    )
    shutil.copy(pair.cert, node.root / "pki" / "kubelet.crt")
    shutil.copy(pair.key, node.root / "pki" / "kubelet.key")
    write_kubeconfig(
        node.root / "kubelet.kubeconfig",
        server=sandbox.server,
        ca=sandbox.pki.ca.cert,
        pair=pair,
        user=node.name,
    )
    for program, user in (("kube-proxy", "system:kube-proxy"), ("coredns", DNS_USER)):
        config = sandbox.kubeconfig_for(f"{program}-{node.name}", common_name=user, organization="")
        shutil.copy(config, node.root / f"{program}.kubeconfig")


def _has_init(node: RealNode) -> bool:
    with suppress(OSError, IndexError):
        # PID 1 has its namespaces when it is a child of unshare that has become the shell.
        return b"boot.sh" in Path(f"/proc/{node.init_pid}/cmdline").read_bytes()
    return False


def _is_ready(sandbox: Sandbox, node: RealNode, since: float | None) -> bool:
    from tonnage.sandbox.api import ApiError

    try:
        found = sandbox.api.get(f"/api/v1/nodes/{node.name}")
    except ApiError:
        return False
    for condition in found.get("status", {}).get("conditions", []):
        if condition["type"] == "Ready" and condition["status"] == "True":
            return since is None or _epoch(condition["lastHeartbeatTime"]) >= int(since)
    return False


def _epoch(stamp: str) -> float:
    import datetime as dt

    return dt.datetime.fromisoformat(stamp).timestamp()


def _not_ready(sandbox: Sandbox, node: RealNode) -> EnvironmentProblem:
    """An error with the last words of the program most likely at fault."""
    logs = [
        sandbox.places.logs / f"{node.name}.log",
        node.root / "log/containerd.log",
        node.root / "log/kubelet.log",
    ]
    spoken = [(log, lines) for log in logs if (lines := processes.last_lines(log, 4))]
    shown = (
        "\n".join(f"      {log.name}: {line}" for log, lines in spoken for line in lines) or "      (nothing)"
    )
    return EnvironmentProblem(
        Problem(
            code="BOX-205",
            what=f"the real node {node.name} did not become Ready in {READY_SECONDS:.0f} s",
            where=str(node.root / "log"),
            hint=f"its programs said last:\n{shown}",
        )
    )
