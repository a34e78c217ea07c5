"""What can be done to a training on real nodes: by a signal, by the kernel, by the cluster, by the power."""

from __future__ import annotations

import json
import random
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from survival.case import Injury
from survival.machine import injuries as local
from survival.machine.bench import NotSeenError
from survival.nodes.bench import SPOT_LABEL, NodesBench, is_ready
from tonnage.sandbox import realnode

Inflict = Callable[[NodesBench, int, random.Random], Injury]
OUT_OF_SERVICE = "node.kubernetes.io/out-of-service=nodeshutdown:NoExecute"
NOTICE = {"spot-120s": 6.0, "spot-30s": 2.0}
"""Seconds from the notice to the node's end: what clouds give, a twentieth of it."""


def rank(bench: NodesBench, attempt: int, chance: random.Random) -> Injury:
    """`kill -9` of the training process inside its pod."""
    return local.rank(bench, attempt, chance)


def both(bench: NodesBench, attempt: int, chance: random.Random) -> Injury:
    """The agent and the training process in the same instant: the container's cgroup goes with them, and its count."""
    return replace(local.both(bench, attempt, chance), codes=local.NOTHING)


def oom(bench: NodesBench, attempt: int, chance: random.Random) -> Injury:
    """Over the container's own limit."""
    return local.oom(bench, attempt, chance)


def supervisor(bench: NodesBench, attempt: int, chance: random.Random) -> Injury:
    """The supervisor on this machine; the pods know nothing of it."""
    return local.supervisor(bench, attempt, chance)


def drain(bench: NodesBench, attempt: int, chance: random.Random) -> Injury:  # noqa: ARG001
    """An administrator empties the node; the pod gets its grace period."""
    node = bench.node_of(attempt).name
    when = time.time()
    bench.kubectl("drain", node, "--ignore-daemonsets", "--delete-emptydir-data", "--force", "--timeout=240s")
    bench.later(lambda: bench.kubectl("uncordon", node))
    return Injury(
        kind="drain", attempt=attempt, when=when, codes=frozenset(("PRE-03",)), has_notice=True,
        causes=frozenset(("eviction",)),
    )  # fmt: skip


def preemption(bench: NodesBench, attempt: int, chance: random.Random) -> Injury:  # noqa: ARG001
    """A pod of higher priority needs the whole node."""
    node = bench.node_of(attempt).name
    api, name = bench.sandbox.api, f"{bench.namespace}-important"
    when = time.time()
    bench.kubectl("create", "priorityclass", name, "--value=1000000", check=False)
    allocatable = api.get(f"/api/v1/nodes/{node}")["status"]["allocatable"]
    api.create(_important(name, bench.namespace, node, allocatable["cpu"]))
    path = f"/api/v1/namespaces/{bench.namespace}/pods/{name}"
    bench.wait("the important pod on its node", lambda: bool(api.get(path)["spec"].get("nodeName")))
    bench.later(lambda: bench.kubectl("delete", "pod", "-n", bench.namespace, name, "--force", check=False))
    bench.later(lambda: bench.kubectl("delete", "priorityclass", name, check=False))
    return Injury(
        kind="preemption", attempt=attempt, when=when, codes=frozenset(("PRE-01",)), has_notice=True,
        causes=frozenset(("preemption",)),
    )  # fmt: skip


def eviction(bench: NodesBench, attempt: int, chance: random.Random) -> Injury:  # noqa: ARG001
    """The kubelet finds its node short of memory."""
    node = bench.node_of(attempt).name
    when = time.time()
    name = bench.pod(attempt)["metadata"]["name"]
    summary = json.loads(bench.kubectl("get", "--raw", f"/api/v1/nodes/{node}/proxy/stats/summary"))
    threshold = summary["node"]["memory"]["availableBytes"] + 512 * 2**20
    bench.later(lambda: realnode.reconfigure(bench.sandbox, node, {}))
    realnode.reconfigure(bench.sandbox, node, {"evictionHard": {"memory.available": str(threshold)}})
    bench.wait("an eviction", lambda: _is_over(bench, name))
    return Injury(
        kind="eviction", attempt=attempt, when=when, codes=frozenset(("MEM-03",)),
        causes=frozenset(("eviction",)),
    )  # fmt: skip


def node_crash(bench: NodesBench, attempt: int, chance: random.Random) -> Injury:  # noqa: ARG001
    """The power goes; the node is declared out of service."""
    node = bench.node_of(attempt)
    when = time.time()
    realnode.crash(node)
    bench.later(lambda: _restore(bench, node.name))
    bench.wait_node(node.name, lambda found: not is_ready(found))
    bench.kubectl("taint", "node", node.name, OUT_OF_SERVICE)
    return Injury(
        kind="node-crash", attempt=attempt, when=when, codes=frozenset(("PRE-04",)),
        causes=frozenset(("node",)),
    )  # fmt: skip


def spot(kind: str) -> Inflict:
    """The cloud takes the node back: a notice, a drain by whoever hears it, then the power goes and the node too."""

    def inflict(bench: NodesBench, attempt: int, chance: random.Random) -> Injury:  # noqa: ARG001
        node = bench.node_of(attempt)
        bench.later(lambda: _restore(bench, node.name))
        when, seconds = time.time(), NOTICE.get(kind, 0.0)
        if seconds:
            bench.kubectl("cordon", node.name)
            bench.evict(bench.pod(attempt)["metadata"]["name"])
            time.sleep(seconds)
        realnode.crash(node)
        bench.kubectl("delete", "node", node.name, "--wait=false")
        return Injury(
            kind=kind, attempt=attempt, when=when, codes=frozenset(("PRE-03", "PRE-04", "PRE-05")),
            causes=frozenset(("spot",)), has_notice=seconds > 0,
        )  # fmt: skip

    return inflict


INJURIES: dict[str, Inflict] = {
    "pod-rank": rank,
    "pod-both": both,
    "pod-oom": oom,
    "supervisor": supervisor,
    "drain": drain,
    "preemption": preemption,
    "eviction": eviction,
    "node-crash": node_crash,
    **{kind: spot(kind) for kind in (*NOTICE, "spot-none")},
}


def _restore(bench: NodesBench, name: str) -> None:
    """The node boots again, with nothing of what was said about it."""
    node = realnode.node_called(bench.sandbox, name)
    realnode.reboot(bench.sandbox, node)
    bench.kubectl("taint", "node", name, "node.kubernetes.io/out-of-service-", check=False)
    if bench.is_spot:
        bench.kubectl("label", "node", name, f"{SPOT_LABEL}=spot", "--overwrite")
    bench.kubectl("uncordon", name, check=False)
    bench.wait_node(name, is_ready)


def _is_over(bench: NodesBench, name: str) -> bool:
    found = [pod for pod in bench.pods() if pod["metadata"]["name"] == name]
    return not found or found[0]["status"].get("phase") == "Failed"


def _important(name: str, namespace: str, node: str, cpu: str) -> dict[str, Any]:
    milli = (int(cpu[:-1]) if cpu.endswith("m") else int(cpu) * 1000) - 100
    if milli <= 0:
        raise NotSeenError(f"{node} has {cpu} of CPU: too little to fill it")
    resources = {"requests": {"cpu": f"{milli}m"}}
    container = {
        "name": "main",
        "image": "local/python:3",
        "command": ["sleep", "600"],
        "resources": resources,
    }
    return {
        "apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "namespace": namespace},
        "spec": {
            "priorityClassName": name, "containers": [container], "terminationGracePeriodSeconds": 0,
            "nodeSelector": {"kubernetes.io/hostname": node},
        },
    }  # fmt: skip
