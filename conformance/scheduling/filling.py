"""Nodes of generated clusters, what runs on them, and who protects it."""

from __future__ import annotations

import datetime as dt
import random
from typing import Any

from conformance.scheduling.questions import NAMESPACES, Object, Scenario
from conformance.scheduling.wishes import random_affinity, some_labels

IMAGES = {
    "registry.local/train:1": 1_400_000_000,
    "registry.local/tools:latest": 300_000_000,
    "registry.local/base:2": 40_000_000,
    "registry.local/big/model:3": 3_000_000_000,
}
GPU = "nvidia.com/gpu"
_EPOCH = dt.datetime(2026, 1, 5, 8, 0, tzinfo=dt.UTC)


def a_node(rng: random.Random, name: str) -> Object:
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


def fill(rng: random.Random, scenario: Scenario, node: Object) -> None:
    """Put pods on the node until it is as full as chosen; some are leaving, some are long finished."""
    name, room = node["metadata"]["name"], node["status"]["allocatable"]
    part = rng.choice([0.0, 0.3, 0.6, 0.9, 0.95])
    free_cpu, free_memory = milli(room["cpu"]) * part, in_bytes(room["memory"]) * part
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
        pod = a_pod(rng, f"{name}-p{number}", requests)
        pod["spec"]["nodeName"] = name
        pod["spec"]["priorityClassName"] = rng.choice(
            ["bottom", "none", "none", "low", "low", "middle", "high"]
        )
        if ports and rng.random() < 0.2:
            pod["spec"]["containers"][0]["ports"] = [a_port(rng, ports.pop(rng.randrange(len(ports))))]
        if rng.random() < 0.15:
            random_affinity(rng, pod, placed=True)
        _give_fate(rng, pod)
        scenario.objects["pods"].append(pod)


def fill_alike(rng: random.Random, scenario: Scenario, node: Object) -> None:
    """Nodes of one size, full of pods of one size: where to preempt is a matter of priority and age."""
    node["status"]["allocatable"] |= {"cpu": "4", "memory": "16Gi", "pods": "110"}
    node["spec"] = {"unschedulable": False, "taints": []}
    for number in range(4):
        pod = a_pod(rng, f"{node['metadata']['name']}-p{number}", {})
        pod["spec"] = {
            "nodeName": node["metadata"]["name"],
            "priorityClassName": rng.choice(["none", "low", "low", "middle"]),
            "containers": [{"name": "main", "image": "x", "resources": {"requests": {"cpu": "1"}}}],
        }
        _give_fate(rng, pod)
        scenario.objects["pods"].append(pod)


def a_pod(rng: random.Random, name: str, requests: dict[str, str]) -> Object:
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
        spec["resources"] = {"requests": {"cpu": f"{milli(requests['cpu']) + 500}m"}}
    if rng.random() < 0.05:
        spec["runtimeClassName"] = "heavy"
    namespace = rng.choice(list(NAMESPACES))
    return {"metadata": {"name": name, "namespace": namespace, "labels": some_labels(rng)}, "spec": spec}


def a_port(rng: random.Random, port: int) -> Object:
    where: Object = {"containerPort": port, "hostPort": port}
    if rng.random() < 0.4:
        where["hostIP"] = rng.choice(["127.0.0.1", "10.1.1.1", "0.0.0.0"])
    if rng.random() < 0.3:
        where["protocol"] = rng.choice(["TCP", "UDP"])
    return where


def some_budgets(rng: random.Random, mark: str) -> list[Object]:
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


def add_owners(rng: random.Random, scenario: Scenario) -> None:
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


def milli(text: str) -> int:
    return int(text[:-1]) if text.endswith("m") else int(float(text) * 1000)


def in_bytes(text: str) -> int:
    for suffix, factor in (("Gi", 2**30), ("Mi", 2**20)):
        if text.endswith(suffix):
            return int(text.removesuffix(suffix)) * factor
    return int(float(text))


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
            grown = {**requests, "cpu": f"{milli(requests['cpu']) * 2}m"}
            pod["status"]["containerStatuses"] = [
                {
                    "name": "main", "image": "x", "imageID": "", "ready": True, "restartCount": 0,
                    "resources": {"requests": grown}, "allocatedResources": grown,
                }
            ]  # fmt: skip


def _budget(name: str, namespace: str, selector: Object, allowed: int) -> Object:
    return {
        "metadata": {"name": name, "namespace": namespace},
        "spec": {"maxUnavailable": 1, "selector": selector},
        "status": {
            "disruptionsAllowed": allowed,
            "currentHealthy": 3, "desiredHealthy": 2, "expectedPods": 3,
        },
    }  # fmt: skip
