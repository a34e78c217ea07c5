"""What an incoming pod is about: one theme each, sometimes with company."""

from __future__ import annotations

import random
from collections.abc import Callable

from conformance.scheduling.filling import GPU, a_pod, a_port, in_bytes, milli
from conformance.scheduling.questions import Object, Scenario
from conformance.scheduling.storage import with_claims
from conformance.scheduling.wishes import (
    random_affinity,
    random_node_affinity,
    random_spread,
    random_tolerations,
)

Theme = Callable[[random.Random, Scenario, Object], None]


def a_question(rng: random.Random, scenario: Scenario, name: str, theme: Theme) -> Object:
    pod = a_pod(rng, name, _asked_requests(rng))
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
        "cpu": f"{int(milli(room['cpu']) * share)}m",
        "memory": str(int(in_bytes(room["memory"]) * share)),
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


def squeezing(rng: random.Random, _scenario: Scenario, question: Object) -> None:
    """As large as one or a few of the pods of a full cluster."""
    question["pod"]["spec"] = {
        "priorityClassName": rng.choice(["low", "middle", "top", "top"]),
        "containers": [
            {
                "name": "main",
                "image": "x",
                "resources": {"requests": {"cpu": rng.choice(["1", "2", "3", "4"])}},
            }
        ],
    }


def _choosy(rng: random.Random, scenario: Scenario, question: Object) -> None:
    names = [node["metadata"]["name"] for node in scenario.objects["nodes"]]
    random_node_affinity(rng, question["pod"], names)


def _bare(_rng: random.Random, _scenario: Scenario, question: Object) -> None:
    question["pod"]["spec"]["tolerations"] = []


def _ports(rng: random.Random, _scenario: Scenario, question: Object) -> None:
    wanted = rng.sample(range(9000, 9004), rng.choice([1, 2, 4]))
    question["pod"]["spec"]["containers"][0]["ports"] = [a_port(rng, port) for port in wanted]
    question["pod"]["spec"]["tolerations"] = [{"operator": "Exists"}]


def _spreading(rng: random.Random, _scenario: Scenario, question: Object) -> None:
    random_spread(rng, question["pod"])


def _social(rng: random.Random, _scenario: Scenario, question: Object) -> None:
    random_affinity(rng, question["pod"], placed=False)


def _shy(rng: random.Random, _scenario: Scenario, question: Object) -> None:
    """Keeps away from everybody, over wide areas."""
    term: Object = {
        "topologyKey": rng.choice(["pool", "kubernetes.io/hostname", "topology.kubernetes.io/zone"]),
        "labelSelector": {"matchExpressions": [{"key": "app", "operator": "Exists"}]},
        "namespaceSelector": {},
    }
    _kept_apart(question["pod"], term)
    question["pod"]["spec"]["tolerations"] = [{"operator": "Exists"}]


def _unwelcome(rng: random.Random, scenario: Scenario, question: Object) -> None:
    """Pods all over the cluster want it kept away."""
    question["pod"]["metadata"]["labels"]["guest"] = "yes"
    question["pod"]["spec"]["tolerations"] = [{"operator": "Exists"}]
    hosts = {pod["spec"]["nodeName"]: pod for pod in scenario.objects["pods"]}
    for pod in hosts.values():
        term = {
            "topologyKey": rng.choice(["pool", "kubernetes.io/hostname"]),
            "labelSelector": {"matchLabels": {"guest": "yes"}},
            "namespaces": ["alpha", "beta"],
        }
        _kept_apart(pod, term)


def _uneven(rng: random.Random, _scenario: Scenario, question: Object) -> None:
    """Wants more domains than there are, so that every one with pods is too full."""
    question["pod"]["spec"]["tolerations"] = [{"operator": "Exists"}]
    question["pod"]["metadata"]["labels"] = {"app": "a"}
    question["pod"]["spec"]["topologySpreadConstraints"] = [
        {
            "maxSkew": 1,
            "minDomains": 20,
            "topologyKey": rng.choice(["pool", "topology.kubernetes.io/zone"]),
            "whenUnsatisfiable": "DoNotSchedule",
            "labelSelector": {"matchExpressions": [{"key": "app", "operator": "Exists"}]},
        }
    ]


def _kept_apart(pod: Object, term: Object) -> None:
    affinity = pod["spec"].setdefault("affinity", {})
    affinity["podAntiAffinity"] = {"requiredDuringSchedulingIgnoredDuringExecution": [term]}


def _named(rng: random.Random, scenario: Scenario, question: Object) -> None:
    """Names its nodes; sometimes two at once, which no node can be."""
    names = [node["metadata"]["name"] for node in scenario.objects["nodes"]]
    wanted = [[rng.choice(names)] for _ in range(rng.choice([1, 1, 2]))]
    lines = [{"key": "metadata.name", "operator": "In", "values": values} for values in wanted]
    question["pod"]["spec"].setdefault("affinity", {})["nodeAffinity"] = {
        "requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [{"matchFields": lines}]}
    }


def _preferring(rng: random.Random, _scenario: Scenario, question: Object) -> None:
    """Fits in many places and has a favourite."""
    wishes = [
        {"key": "pool", "operator": "In", "values": [rng.choice(["cpu", "gpu", "spot"])]},
        {"key": "rank", "operator": "Gt", "values": ["10"]},
    ]
    preferred = [
        {"weight": rng.choice([1, 20, 100]), "preference": {"matchExpressions": [wish]}} for wish in wishes
    ]
    question["pod"]["spec"].setdefault("affinity", {})["nodeAffinity"] = {
        "preferredDuringSchedulingIgnoredDuringExecution": preferred
    }
    question["pod"]["spec"]["tolerations"] = [{"operator": "Exists"}]


def _gated(_rng: random.Random, _scenario: Scenario, question: Object) -> None:
    question["pod"]["spec"]["schedulingGates"] = [{"name": "tonnage.dev/wait"}]


def _promised(rng: random.Random, scenario: Scenario, question: Object) -> None:
    """A node was promised to the pod before; often its victims are still leaving."""
    pods, spec = scenario.objects["pods"], question["pod"]["spec"]
    if spec.get("volumes") or not pods:
        return
    node = rng.choice(pods)["spec"]["nodeName"]
    question["nominated"] = node
    spec["tolerations"] = [{"operator": "Exists"}]
    if rng.random() < 0.3:
        return
    if rng.random() < 0.8:
        spec["nodeSelector"] = {"kubernetes.io/hostname": node}
    room = next(
        item["status"]["allocatable"]
        for item in scenario.objects["nodes"]
        if item["metadata"]["name"] == node
    )
    spec["containers"][0]["resources"] = {"requests": {"cpu": room["cpu"]}}
    spec.pop("resources", None)
    spec["priorityClassName"] = "top"
    for pod in pods:
        if pod["spec"]["nodeName"] == node and rng.random() < 0.6:
            pod["leaving"] = True
            pod["status"]["phase"] = "Running"
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
    rival = a_pod(rng, question["pod"]["metadata"]["name"] + "-rival", {"cpu": "64"})
    rival["spec"]["priorityClassName"] = "meek"
    rival["status"] = {"nominatedNodeName": rng.choice(scenario.objects["nodes"])["metadata"]["name"]}
    question["rival"] = rival


THEMES: list[Theme] = [
    _small, _large, with_claims, _social, _important, _small, _spreading, _crowding, _choosy, with_claims,
    _served, _promised, _shy, _small, _bare, with_claims, _crowding, _preferring, _rivalled, _ports,
    _small, with_claims, _spreading, _unwelcome, _social, _named, with_claims, _gated, _uneven, _served,
    _small, _large, with_claims, _important, _preferring, _promised, _small,
]  # fmt: skip
COMPANY: list[Theme] = [_choosy, _spreading, _social, with_claims, _ports, _large]
