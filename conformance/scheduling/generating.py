"""Clusters and pods to ask about: seeded, varied, and bent towards the corners where rules differ.

Purely random pods would nearly always fit or nearly never; each question therefore starts from a theme (a
rule it is meant to touch) and random company is added. What a run has really touched is counted
elsewhere, from the answers.
"""

from __future__ import annotations

import datetime as dt
import random
from collections.abc import Callable
from typing import Any

from conformance.scheduling.questions import NAMESPACES, Object, Scenario
from conformance.scheduling.storage import add_storage, with_claims
from conformance.scheduling.wishes import (
    random_affinity,
    random_node_affinity,
    random_spread,
    random_tolerations,
    some_labels,
)

IMAGES = {
    "registry.local/train:1": 1_400_000_000,
    "registry.local/tools:latest": 300_000_000,
    "registry.local/base:2": 40_000_000,
    "registry.local/big/model:3": 3_000_000_000,
}
GPU = "nvidia.com/gpu"
_EPOCH = dt.datetime(2026, 1, 5, 8, 0, tzinfo=dt.UTC)


def generate(seed: int, index: int, *, questions: int = 8) -> Scenario:
    """The cluster with this number, and some pods that come to it."""
    rng = random.Random(f"scheduling-{seed}-{index}")
    scenario = Scenario()
    mark = f"c{index}"
    nodes = [_node(rng, f"{mark}-n{number}") for number in range(rng.randint(5, 12))]
    scenario.objects["nodes"] = nodes
    _add_owners(rng, scenario)
    for node in nodes:
        _fill(rng, scenario, node)
    scenario.objects["budgets"] = _budgets(rng, mark)
    add_storage(rng, scenario, mark)
    for number in range(questions):
        scenario.questions.append(_question(rng, scenario, f"{mark}-q{number}"))
    return scenario


def _node(rng: random.Random, name: str) -> Object:
    labels = {
        "kubernetes.io/hostname": name,
        "pool": rng.choice(["cpu", "gpu", "spot"]),
        "rank": str(rng.randint(1, 20)),
    }
    if rng.random() < 0.85:
        labels["topology.kubernetes.io/zone"] = rng.choice(["za", "zb", "zc"])
    if rng.random() < 0.3:
        labels["topology.kubernetes.io/region"] = rng.choice(["r1", "r2"])
    if rng.random() < 0.4:
        labels["disk"] = rng.choice(["ssd", "hdd"])
    if rng.random() < 0.05:
        del labels["kubernetes.io/hostname"]
    room = {
        "cpu": rng.choice(["1", "2", "4", "4", "8", "16", "3500m"]),
        "memory": rng.choice(["2Gi", "4Gi", "8Gi", "8Gi", "16Gi", "7800Mi", "5e9"]),
        "pods": rng.choice(["110", "110", "110", str(rng.randint(1, 6))]),
    }
    if rng.random() < 0.9:
        room["ephemeral-storage"] = rng.choice(["10Gi", "50Gi", "100Gi"])
    if labels["pool"] == "gpu":
        room[GPU] = rng.choice(["1", "4", "8"])
    if rng.random() < 0.2:
        room["example.com/nic"] = "2"
    if rng.random() < 0.15:
        room["hugepages-2Mi"] = "256Mi"
    return {
        "metadata": {"name": name, "labels": labels},
        "spec": {"unschedulable": rng.random() < 0.08, "taints": _taints(rng, labels["pool"])},
        "status": {
            "capacity": room,
            "allocatable": room,
            "conditions": [{"type": "Ready", "status": "True", "reason": "KubeletReady", "message": ""}],
            "images": [
                {"names": [image], "sizeBytes": IMAGES[image]} for image in IMAGES if rng.random() < 0.35
            ],
        },
    }


def _taints(rng: random.Random, pool: str) -> list[Object]:
    taints: list[Object] = []
    if pool == "gpu" and rng.random() < 0.4:
        taints.append({"key": GPU, "value": "present", "effect": "NoSchedule"})
    if pool == "spot" and rng.random() < 0.5:
        taints.append({"key": "spot", "effect": rng.choice(["NoSchedule", "PreferNoSchedule", "NoExecute"])})
    if rng.random() < 0.15:
        taints.append({"key": "dedicated", "value": rng.choice(["red", "blue"]), "effect": "NoSchedule"})
    if rng.random() < 0.2:
        taints.append({"key": "slow", "value": "1", "effect": "PreferNoSchedule"})
    return taints


def _fill(rng: random.Random, scenario: Scenario, node: Object) -> None:
    """Put pods on the node until it is as full as chosen; some are leaving, some are long finished."""
    name, room = node["metadata"]["name"], node["status"]["allocatable"]
    part = rng.choice([0.0, 0.3, 0.6, 0.9, 0.95])
    free_cpu, free_memory = _milli(room["cpu"]) * part, _bytes(room["memory"]) * part
    free_gpus = int(room.get(GPU, "0"))
    ports = list(range(9000, 9004))
    for number in range(rng.randint(0, 6)):
        cpu, memory = rng.randint(1, 12) * 100, rng.randint(1, 10) * 200 * 2**20
        requests: dict[str, str] = {}
        if rng.random() < 0.9 and cpu <= free_cpu:
            requests["cpu"], free_cpu = f"{cpu}m", free_cpu - cpu
        if rng.random() < 0.9 and memory <= free_memory:
            requests["memory"], free_memory = str(memory), free_memory - memory
        if free_gpus and rng.random() < 0.6:
            gpus = rng.randint(1, free_gpus)
            requests[GPU], free_gpus = str(gpus), free_gpus - gpus
        if "ephemeral-storage" in room and rng.random() < 0.2:
            requests["ephemeral-storage"] = "2Gi"
        pod = _pod(rng, f"{name}-p{number}", requests)
        pod["spec"]["nodeName"] = name
        pod["spec"]["priorityClassName"] = rng.choice(
            ["bottom", "none", "none", "low", "low", "middle", "high"]
        )
        if ports and rng.random() < 0.2:
            pod["spec"]["containers"][0]["ports"] = [_port(rng, ports.pop(rng.randrange(len(ports))))]
        if rng.random() < 0.15:
            random_affinity(rng, pod, placed=True)
        _give_fate(rng, pod)
        scenario.objects["pods"].append(pod)


def _give_fate(rng: random.Random, pod: Object) -> None:
    """Status and what is done to the pod after it is made."""
    # Few distinct start times, so that pods of equal importance occur.
    started = _EPOCH + dt.timedelta(seconds=rng.choice([rng.randrange(10_000), rng.randrange(4)]))
    pod["status"] = {"phase": "Running", "startTime": started.strftime("%Y-%m-%dT%H:%M:%SZ")}
    fate = rng.random()
    if fate < 0.06:
        pod["status"]["phase"] = rng.choice(["Succeeded", "Failed"])
    elif fate < 0.12:
        pod["leaving"] = True
    elif fate < 0.16:
        requests = pod["spec"]["containers"][0]["resources"].get("requests", {})
        if "cpu" in requests:
            grown = {**requests, "cpu": f"{_milli(requests['cpu']) * 2}m"}
            pod["status"]["containerStatuses"] = [
                {
                    "name": "main", "image": "x", "imageID": "", "ready": True, "restartCount": 0,
                    "resources": {"requests": grown}, "allocatedResources": grown,
                }
            ]  # fmt: skip


def _pod(rng: random.Random, name: str, requests: dict[str, str]) -> Object:
    image = rng.choice([*IMAGES, "registry.local/base", "unknown/image:9"])
    container: Object = {"name": "main", "image": image, "resources": {}}
    if requests:
        devices = {
            key: amount for key, amount in requests.items() if "/" in key or key.startswith("hugepages")
        }
        container["resources"] = {"requests": requests, "limits": devices}
    spec: Object = {"containers": [container], "priorityClassName": "none"}
    if rng.random() < 0.1:
        starting = {"cpu": f"{rng.randint(1, 20) * 100}m"}
        spec["initContainers"] = [
            {"name": "first", "image": "registry.local/tools:latest", "resources": {"requests": starting}}
        ]
        if rng.random() < 0.5:
            spec["initContainers"][0]["restartPolicy"] = "Always"
    elif rng.random() < 0.08 and requests.get("cpu"):
        spec["resources"] = {"requests": {"cpu": f"{_milli(requests['cpu']) + 500}m"}}
    if rng.random() < 0.05:
        spec["runtimeClassName"] = "heavy"
    namespace = rng.choice(list(NAMESPACES))
    return {"metadata": {"name": name, "namespace": namespace, "labels": some_labels(rng)}, "spec": spec}


def _question(rng: random.Random, scenario: Scenario, name: str) -> Object:
    theme = rng.choice(THEMES)
    pod = _pod(rng, name, _asked_requests(rng))
    pod["spec"]["tolerations"] = random_tolerations(rng)
    pod["spec"]["priorityClassName"] = rng.choice(["none", "low", "middle", "high", "top", "meek"])
    question: Object = {"pod": pod}
    theme(rng, scenario, question)
    for more in rng.sample(COMPANY, rng.choice([0, 0, 1, 2])):
        more(rng, scenario, question)
    return question


def _asked_requests(rng: random.Random) -> dict[str, str]:
    requests: dict[str, str] = {}
    if rng.random() < 0.85:
        requests["cpu"] = rng.choice(["100m", "500m", "1", "1500m", "0.7"])
    if rng.random() < 0.85:
        requests["memory"] = rng.choice(["128Mi", "1Gi", "1500M", "2Gi"])
    if rng.random() < 0.15:
        requests[GPU] = rng.choice(["0", "1", "2"])
    return requests


Theme = Callable[[random.Random, Scenario, Object], None]


def _small(rng: random.Random, _scenario: Scenario, question: Object) -> None:
    """Fits in many places: the score decides."""
    question["pod"]["spec"]["tolerations"] = [{"operator": "Exists"}] if rng.random() < 0.7 else []


def _large(rng: random.Random, _scenario: Scenario, question: Object) -> None:
    """Takes most of a node, or more than any has."""
    wanted = {
        "cpu": rng.choice(["1", "2", "3", "6", "12", "40"]),
        "memory": rng.choice(["1Gi", "3Gi", "6Gi", "12Gi", "100Gi"]),
        "ephemeral-storage": rng.choice(["1Gi", "30Gi", "200Gi"]),
        GPU: rng.choice(["1", "4", "8", "16"]),
        "example.com/nic": rng.choice(["1", "2"]),
        "hugepages-2Mi": "128Mi",
    }
    names = rng.sample(list(wanted), rng.choice([1, 1, 2, 3]))
    if any(name.startswith("hugepages") for name in names):
        names = list({*names, "cpu"})
    requests = {name: wanted[name] for name in names}
    container = question["pod"]["spec"]["containers"][0]
    devices = {
        name: amount for name, amount in requests.items() if "/" in name or name.startswith("hugepages")
    }
    container["resources"] = {"requests": requests, "limits": devices}
    question["pod"]["spec"].pop("resources", None)


def _important(rng: random.Random, scenario: Scenario, question: Object) -> None:
    """Large and important: others may have to go."""
    _large(rng, scenario, question)
    question["pod"]["spec"]["priorityClassName"] = rng.choice(["middle", "high", "top", "top", "meek"])
    question["pod"]["spec"]["tolerations"] = [{"operator": "Exists"}]


def _crowding(rng: random.Random, scenario: Scenario, question: Object) -> None:
    """About as large as a node of this cluster, so that exactly full nodes and few victims occur."""
    node = rng.choice(scenario.objects["nodes"])
    room = node["status"]["allocatable"]
    share = rng.choice([0.5, 0.8, 1.0])
    requests = {
        "cpu": f"{int(_milli(room['cpu']) * share)}m",
        "memory": str(int(_bytes(room["memory"]) * share)),
    }
    if GPU in room and rng.random() < 0.5:
        requests = {GPU: room[GPU]}
    question["pod"]["spec"]["containers"][0]["resources"] = {
        "requests": requests,
        "limits": {name: amount for name, amount in requests.items() if "/" in name},
    }
    question["pod"]["spec"].pop("resources", None)
    question["pod"]["spec"]["priorityClassName"] = rng.choice(["low", "middle", "high", "top"])
    question["pod"]["spec"]["tolerations"] = [{"operator": "Exists"}]


def _choosy(rng: random.Random, scenario: Scenario, question: Object) -> None:
    names = [node["metadata"]["name"] for node in scenario.objects["nodes"]]
    random_node_affinity(rng, question["pod"], names)


def _bare(_rng: random.Random, _scenario: Scenario, question: Object) -> None:
    question["pod"]["spec"]["tolerations"] = []


def _ports(rng: random.Random, _scenario: Scenario, question: Object) -> None:
    wanted = rng.sample(range(9000, 9004), rng.choice([1, 2, 4]))
    question["pod"]["spec"]["containers"][0]["ports"] = [_port(rng, port) for port in wanted]
    question["pod"]["spec"]["tolerations"] = [{"operator": "Exists"}]


def _spreading(rng: random.Random, _scenario: Scenario, question: Object) -> None:
    random_spread(rng, question["pod"])


def _social(rng: random.Random, _scenario: Scenario, question: Object) -> None:
    random_affinity(rng, question["pod"], placed=False)


def _gated(_rng: random.Random, _scenario: Scenario, question: Object) -> None:
    question["pod"]["spec"]["schedulingGates"] = [{"name": "tonnage.dev/wait"}]


def _promised(rng: random.Random, scenario: Scenario, question: Object) -> None:
    """A node was promised to the pod before; sometimes its victims are still leaving."""
    _crowding(rng, scenario, question)
    question["nominated"] = rng.choice(scenario.objects["nodes"])["metadata"]["name"]
    for pod in scenario.objects["pods"]:
        if pod["spec"]["nodeName"] == question["nominated"] and rng.random() < 0.5:
            pod["leaving"] = True
            pod["status"]["conditions"] = [
                {
                    "type": "DisruptionTarget",
                    "status": "True",
                    "reason": "PreemptionByScheduler",
                    "lastTransitionTime": "2026-01-05T09:00:00Z",
                }
            ]


def _served(rng: random.Random, _scenario: Scenario, question: Object) -> None:
    """Belongs to a service or a set: spread by default."""
    question["pod"]["metadata"]["namespace"] = "alpha"
    question["pod"]["metadata"]["labels"] = {"app": "a", "serves": "yes"}
    question["pod"]["spec"]["tolerations"] = [{"operator": "Exists"}]
    if rng.random() < 0.5:
        question["pod"]["metadata"]["ownerReferences"] = [
            {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "set-a", "uid": "0-0", "controller": True}
        ]


def _rivalled(rng: random.Random, scenario: Scenario, question: Object) -> None:
    """Another pod, too large for any node, still holds the promise of one."""
    rival = _pod(rng, question["pod"]["metadata"]["name"] + "-rival", {"cpu": "64"})
    rival["spec"]["priorityClassName"] = "meek"
    rival["status"] = {"nominatedNodeName": rng.choice(scenario.objects["nodes"])["metadata"]["name"]}
    question["rival"] = rival


THEMES: list[Theme] = [
    _small, _small, _small, _small, _large, _large, _important, _important, _crowding, _crowding, _crowding,
    _choosy, _bare, _ports, _spreading, _spreading, _social, _social, _social,
    with_claims, with_claims, with_claims, with_claims, with_claims, _gated,
    _promised, _served, _served, _rivalled,
]  # fmt: skip
COMPANY: list[Theme] = [_choosy, _spreading, _social, with_claims, _ports, _large]


def _port(rng: random.Random, port: int) -> Object:
    where: Object = {"containerPort": port, "hostPort": port}
    if rng.random() < 0.4:
        where["hostIP"] = rng.choice(["127.0.0.1", "10.1.1.1", "0.0.0.0"])
    if rng.random() < 0.3:
        where["protocol"] = rng.choice(["TCP", "UDP"])
    return where


def _budgets(rng: random.Random, mark: str) -> list[Object]:
    """A few narrow budgets, or one for everybody that allows next to nothing."""
    if rng.random() < 0.35:
        everyone = {"matchExpressions": [{"key": "app", "operator": "Exists"}]}
        return [
            _budget(f"{mark}-b{namespace}", namespace, everyone, rng.choice([0, 0, 1]))
            for namespace in NAMESPACES
        ]
    selectors: list[Object] = [
        {"matchLabels": {"app": rng.choice("abc")}},
        {"matchLabels": {"tier": "x"}},
        {},
    ]
    return [
        _budget(f"{mark}-b{number}", rng.choice(list(NAMESPACES)), rng.choice(selectors), rng.randint(0, 2))
        for number in range(rng.randint(0, 3))
    ]


def _budget(name: str, namespace: str, selector: Object, allowed: int) -> Object:
    return {
        "metadata": {"name": name, "namespace": namespace},
        "spec": {"maxUnavailable": 1, "selector": selector},
        "status": {
            "disruptionsAllowed": allowed,
            "currentHealthy": 3, "desiredHealthy": 2, "expectedPods": 3,
        },
    }  # fmt: skip


def _add_owners(rng: random.Random, scenario: Scenario) -> None:
    if rng.random() < 0.6:
        scenario.objects["services"] = [
            {
                "metadata": {"name": "service-a", "namespace": "alpha"},
                "spec": {"selector": {"app": "a"}, "clusterIP": "None"},
            }
        ]
    selector: dict[str, Any] = {"matchLabels": {"app": "a", "serves": "yes"}}
    scenario.objects["replicaSets"] = [
        {
            "metadata": {"name": "set-a", "namespace": "alpha"},
            "spec": {
                "replicas": 0,
                "selector": selector,
                "template": {
                    "metadata": {"labels": {"app": "a", "serves": "yes"}},
                    "spec": {"containers": [{"name": "main", "image": "x"}]},
                },
            },
        }
    ]


def _milli(text: str) -> int:
    return int(text[:-1]) if text.endswith("m") else int(float(text) * 1000)


def _bytes(text: str) -> int:
    for suffix, factor in (("Gi", 2**30), ("Mi", 2**20)):
        if text.endswith(suffix):
            return int(text.removesuffix(suffix)) * factor
    return int(float(text))
