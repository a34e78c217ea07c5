"""Random pods: containers, init containers, sidecars, pod-level resources, and every kind of mistake."""

from __future__ import annotations

from random import Random
from typing import Any

from conformance.admission.quantities import PAGES, amount, pair

Json = dict[str, Any]

PRIORITY_CLASSES = ("critical", "high", "low", "quiet")
_RESOURCES = ("cpu", "memory", "cpu", "memory", "ephemeral-storage", "nvidia.com/gpu", "nvidia.com/gpu")
_RARE = ("hugepages-2Mi", "amd.com/gpu", "nvidia.com/mig-1g.10gb", "kubernetes.io/thing", "hugepages-1Gi")
_WRONG_NAMES = (
    "gpu", "storage", "pods", "requests.cpu", "requests.nvidia.com/gpu", "a/b/c", "/x", "nvidia.com/",
    "-x.com/y", "hugepages-", "hugepages-abc", "hugepages-0", "UPPER.com/x", "nvidia.com/g_p-u.",
    "a<b>/c", "limits.memory", "example.com/" + "x" * 64, "requests.hugepages-2Mi", "x" * 250 + ".com/y",
)  # fmt: skip


def generate_pod(random: Random) -> Json:
    """A pod manifest; three in four are clean."""
    oddness = random.choice((0.0, 0.0, 0.0, 0.02, 0.05, 0.25))
    spec: Json = {
        "containers": [_container(random, f"c{i}", oddness) for i in range(random.choice((1, 1, 1, 2, 2, 3)))]
    }
    if random.random() < 0.3:
        spec["initContainers"] = [_init(random, f"i{i}", oddness) for i in range(random.choice((1, 1, 2)))]
    if random.random() < 0.2:
        _tidy(random, spec)
    elif random.random() < 0.04:
        spec["containers"] = _lopsided()
    if random.random() < 0.25:
        spec["resources"] = _pod_level(random, oddness)
        if random.random() < 0.1:
            limits = {"hugepages-2Mi": random.choice(PAGES), "memory": "64Mi"}
            spec["containers"][0]["resources"] = {"limits": limits}
    _add_scheduling(random, spec)
    _add_policies(random, spec, oddness)
    if random.random() < oddness / 3:
        _spoil(random, spec)
    name = random.choice(("bad_name", "-bad", "Bad")) if random.random() < oddness / 10 else "pod"
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": spec}


def generate_layered_pod(random: Random) -> Json:
    """A clean pod with everything that is summed in a way of its own: init, sidecar, overhead, pod level."""
    beside = {**_container(random, "beside", 0.0), "restartPolicy": "Always"}
    before = {**_container(random, "before", 0.0), "resources": {"requests": {"cpu": "4", "memory": "4Gi"}}}
    before.pop("restartPolicy", None)
    main = {**_container(random, "main", 0.0), "resources": {"requests": {"cpu": "1", "memory": "2Gi"}}}
    main.pop("restartPolicy", None)
    spec: Json = {"containers": [main], "initContainers": [beside, before], "runtimeClassName": "sandboxed"}
    if random.random() < 0.3:
        spec["resources"] = {"requests": {"memory": "64Gi"}}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "pod"}, "spec": spec}


def _tidy(random: Random, spec: Json) -> None:
    """Equal cpu and memory in (nearly) every container: Guaranteed, or just short of it."""
    everyone = [*spec["containers"], *spec.get("initContainers", [])]
    for container in everyone:
        limits = {"cpu": random.choice(("500m", "1", "2")), "memory": random.choice(("1Gi", "4Gi"))}
        container["resources"] = {"limits": limits} | ({"requests": limits} if random.random() < 0.5 else {})
    if random.random() < 0.3:
        spoiled = random.choice(everyone)["resources"]
        spoiled["limits"] = {"memory": "4Gi"}


def _lopsided() -> list[Json]:
    """A large request without a limit beside a small limit: summed, the pod's limit is below its request."""
    return [
        {"name": "c0", "image": "local/python", "resources": {"requests": {"cpu": "8", "memory": "16Gi"}}},
        {"name": "c1", "image": "local/python", "resources": {"limits": {"cpu": "1m", "memory": "1Mi"}}},
    ]


def _container(random: Random, name: str, oddness: float) -> Json:
    container: Json = {"name": name, "image": "local/python"}
    resources = _resources(random, oddness)
    if resources:
        container["resources"] = resources
    if random.random() < 0.04:
        container["resizePolicy"] = _resize_policy(random, oddness)
    if random.random() < 0.02:
        container["restartPolicy"] = random.choice(("Always", "Never", "OnFailure", "Sometimes"))
    return container


def _init(random: Random, name: str, oddness: float) -> Json:
    container = _container(random, name, oddness)
    container.pop("restartPolicy", None)
    if random.random() < 0.5:
        container["restartPolicy"] = "Always"
    return container


def _resources(random: Random, oddness: float) -> Json:
    style = random.random()
    requests: dict[str, str] = {}
    limits: dict[str, str] = {}
    if style < 0.12:
        return {}
    if style < 0.3:  # a whole, equal set: Guaranteed must be common
        for name in ("cpu", "memory"):
            _, limits[name] = pair(random, name)
            if random.random() < 0.6:
                requests[name] = limits[name]
    names = _names(random, oddness) if style >= 0.3 or random.random() < 0.3 else []
    for name in names:
        request, limit = pair(random, name)
        if oddness and random.random() < oddness:
            request, limit = amount(random, name, oddness=0.6), amount(random, name, oddness=0.6)
        shape = random.random()
        if shape < 0.45:
            limits[name] = limit
        if shape < 0.25 or (shape >= 0.45 and ("/" not in name or random.random() < 0.05)):
            requests[name] = request
    return {key: value for key, value in (("requests", requests), ("limits", limits)) if value}


def _names(random: Random, oddness: float) -> list[str]:
    names = random.sample(_RESOURCES, k=random.choice((1, 2, 2, 3, 4)))
    if random.random() < 0.6:
        names += ["cpu", "memory"]
    if random.random() < 0.06:
        names.append(random.choice(_RARE))
    if random.random() < oddness / 2:
        names.append(random.choice(_WRONG_NAMES))
    return names


def _pod_level(random: Random, oddness: float) -> Json:
    if random.random() < 0.15:
        return {}
    resources: Json = {}
    for name in random.sample(("cpu", "memory", "hugepages-2Mi"), k=random.choice((1, 2, 2, 3))):
        request, limit = ("2", "8") if name == "cpu" else pair(random, name)
        if name == "memory" and random.random() < 0.6:
            request, limit = "4Gi", random.choice(("4Gi", "16Gi"))
        shape = random.random()
        if shape < 0.7:
            resources.setdefault("limits", {})[name] = limit
        if shape > 0.4:
            resources.setdefault("requests", {})[name] = request
    if random.random() < oddness:
        wrong = random.choice(("nvidia.com/gpu", "ephemeral-storage", "gpu"))
        resources.setdefault("limits", {})[wrong] = amount(random, wrong, oddness=0.2)
    return resources


def _add_scheduling(random: Random, spec: Json) -> None:
    if random.random() < 0.15:
        spec["tolerations"] = [_toleration(random) for _ in range(random.choice((1, 1, 2)))]
    if random.random() < 0.03:
        spec["schedulingGates"] = [
            {"name": random.choice(("example.com/wait", "a b", "wait"))}
        ] * random.choice((1, 1, 2))
    if random.random() < 0.02:
        spec["nodeName"] = "n1"
    if random.random() < 0.06:
        side = random.choice(("podAffinity", "podAntiAffinity"))
        term: Json = {"topologyKey": "zone", "labelSelector": {"matchLabels": {"a": "b"}}}
        term |= random.choice(({"namespaces": ["default"]}, {"namespaceSelector": {}}, {}))
        terms: Json = {"requiredDuringSchedulingIgnoredDuringExecution": [term]}
        if random.random() < 0.4:
            terms = {
                "preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 1, "podAffinityTerm": term}]
            }
        spec["affinity"] = {side: terms}


def _add_policies(random: Random, spec: Json, oddness: float) -> None:
    if random.random() < 0.35:
        spec["priorityClassName"] = random.choice(PRIORITY_CLASSES)
    if random.random() < 0.02:
        spec["priorityClassName"] = random.choice(
            ("nope", "system-node-critical", "system-cluster-critical", "Bad_Name")
        )
    if random.random() < 0.03:
        spec["priority"] = random.choice((0, 5, 1000, 1_000_000))
    if random.random() < 0.03:
        spec["preemptionPolicy"] = random.choice(("Never", "PreemptLowerPriority", "Always"))
    if random.random() < 0.15:
        spec["activeDeadlineSeconds"] = random.choice((1, 60, 3600, 3600, 0, -5, 2**31)) if oddness else 600
    if random.random() < 0.2:
        spec["restartPolicy"] = random.choice(("Never", "OnFailure", "Always"))
    if random.random() < 0.1:
        spec["terminationGracePeriodSeconds"] = random.choice((0, 5, 120))
    if random.random() < 0.02:
        spec["runtimeClassName"] = random.choice(("missing", "sandboxed", "plain"))
    if random.random() < 0.02:
        spec["overhead"] = random.choice(({"cpu": "100m"}, {"cpu": "250m", "memory": "64Mi"}, {"gpu": "1"}))
        if random.random() < 0.4:
            spec["runtimeClassName"] = "sandboxed"


def _toleration(random: Random) -> Json:
    toleration: Json = random.choice(
        (
            {"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"},
            {"operator": "Exists"},
            {"key": "spot", "operator": "Equal", "value": "true", "effect": "NoSchedule"},
            {
                "key": "node.kubernetes.io/not-ready",
                "operator": "Exists",
                "effect": "NoExecute",
                "tolerationSeconds": 60,
            },
            {"key": "node.kubernetes.io/unreachable", "operator": "Exists"},
            {"key": "spot", "value": "true"},
        )
    )
    if random.random() < 0.06:
        wrong = (
            {"value": "x y"},
            {"effect": "Never"},
            {"operator": "Near"},
            {"key": ""},
            {"tolerationSeconds": 5},
            {"key": "a b"},
        )
        toleration = toleration | random.choice(wrong)
    return toleration


def _resize_policy(random: Random, oddness: float) -> list[Json]:
    policies = [
        {"resourceName": name, "restartPolicy": random.choice(("NotRequired", "RestartContainer"))}
        for name in random.sample(("cpu", "memory"), k=random.choice((1, 2)))
    ]
    if random.random() < oddness * 2:
        policies.append(
            {
                "resourceName": random.choice(("cpu", "nvidia.com/gpu")),
                "restartPolicy": random.choice(("NotRequired", "Now")),
            }
        )
    return policies


def _spoil(random: Random, spec: Json) -> None:
    """One structural mistake."""
    kind = random.randrange(6)
    first = spec["containers"][0]
    if kind == 0:
        first["name"] = random.choice(
            ("", "Bad", "a.b", "c0 ", "x" * 64, "a<b>&c", "tab\t", 'q"\\', "\u00e9", "\u200b")
        )
    elif kind == 1:
        del first["image"]
    elif kind == 2:
        spec["containers"] = []
    elif kind == 3:
        spec["restartPolicy"] = "Sometimes"
    elif kind == 4:
        spec["containers"].append(dict(first))
    else:
        spec.setdefault("initContainers", []).append(dict(first))
