"""Random LimitRanges, quotas, priority classes and claims: valid ones for worlds, odd ones for questions."""

from __future__ import annotations

from random import Random
from typing import Any

from conformance.admission.quantities import amount, ladder

Json = dict[str, Any]

STORAGE_CLASSES = ("gold", "slow")
_LIMITED = ("cpu", "memory", "ephemeral-storage", "nvidia.com/gpu", "hugepages-2Mi")
_QUOTA_KEYS = {
    "pods": ("1", "3", "10"),
    "count/pods": ("1", "3", "10"),
    "cpu": ("1", "2", "8"),
    "memory": ("1Gi", "4Gi", "32Gi"),
    "requests.cpu": ("500m", "2", "8"),
    "requests.memory": ("1Gi", "4G", "32Gi"),
    "limits.cpu": ("1", "4", "16"),
    "limits.memory": ("2Gi", "8Gi", "64Gi"),
    "ephemeral-storage": ("1Gi", "20Gi"),
    "requests.ephemeral-storage": ("1Gi", "20Gi"),
    "limits.ephemeral-storage": ("1Gi", "20Gi"),
    "requests.nvidia.com/gpu": ("0", "1", "4", "8"),
    "limits.nvidia.com/gpu": ("1", "8"),
    "nvidia.com/gpu": ("1", "8"),
    "requests.amd.com/gpu": ("1", "2"),
    "hugepages-2Mi": ("4Mi", "64Mi"),
    "requests.hugepages-2Mi": ("4Mi", "64Mi"),
    "persistentvolumeclaims": ("1", "3"),
    "count/persistentvolumeclaims": ("1", "3"),
    "requests.storage": ("10Gi", "100Gi"),
    "gold.storageclass.storage.k8s.io/requests.storage": ("5Gi", "50Gi"),
    "gold.storageclass.storage.k8s.io/persistentvolumeclaims": ("0", "2"),
    "services": ("2", "50"),
    "count/jobs.batch": ("5",),
    "count/limitranges": ("1", "5"),
    "resourcequotas": ("1", "10"),
}
_OBJECT_COUNTS = ("persistentvolumeclaims", "count/limitranges", "resourcequotas")
_SCOPABLE = ("pods", "cpu", "memory", "requests.cpu", "requests.memory", "limits.cpu", "limits.memory")
_SCOPES = (
    "Terminating",
    "NotTerminating",
    "BestEffort",
    "NotBestEffort",
    "PriorityClass",
    "CrossNamespacePodAffinity",
)
_WRONG_KEYS = (
    "gpu",
    "limits.hugepages-2Mi",
    "requests.gpu",
    "a/b/c",
    "limits.storage",
    "foo.pods",
    "/pods",
    "pods/",
)


def generate_limit_range(random: Random, name: str, *, oddness: float = 0.0) -> Json:
    """A LimitRange of one to three items; with oddness, possibly one that is refused."""
    kinds = random.sample(("Container", "Pod", "PersistentVolumeClaim"), k=random.choice((1, 1, 2, 3)))
    if random.random() < oddness:
        kinds.append(random.choice(("Container", "Pod", "Node", "example.com/Thing", "a b", "")))
    return {
        "apiVersion": "v1",
        "kind": "LimitRange",
        "metadata": {"name": name},
        "spec": {"limits": [_item(random, kind, oddness) for kind in kinds]},
    }


def scope_for(number: int) -> str | None:
    """The scope that a world's first quota should have: every other world, each scope in turn."""
    return _SCOPES[number // 2 % len(_SCOPES)] if number % 2 else None


def generate_quota(random: Random, name: str, *, oddness: float = 0.0, scope: str | None = None) -> Json:
    """A ResourceQuota, half of them scoped; with oddness, possibly one that is refused."""
    spec: Json = {}
    keys = list(_QUOTA_KEYS)
    if scope is not None or random.random() < 0.5:
        scopes = [scope] if scope is not None else random.sample(_SCOPES, k=random.choice((1, 1, 2)))
        if not oddness and len({scope.removeprefix("Not") for scope in scopes}) < len(scopes):
            scopes = scopes[:1]
        if not (random.random() < oddness):
            keys = (
                ["pods"]
                if "BestEffort" in scopes
                else [*_SCOPABLE, "requests.nvidia.com/gpu", "count/jobs.batch"]
            )
        if random.random() < 0.4:
            spec["scopes"] = scopes
        else:
            lines = [_scope_line(random, scope, oddness) for scope in scopes]
            spec["scopeSelector"] = {"matchExpressions": lines}
    chosen = random.sample(keys, k=min(len(keys), random.choice((1, 2, 3, 4, 6))))
    if "requests.nvidia.com/gpu" in keys and random.random() < 0.3:
        chosen.append("requests.nvidia.com/gpu")
    if len(keys) == len(_QUOTA_KEYS) and random.random() < 0.4:
        chosen.append(random.choice(_OBJECT_COUNTS))
    spec["hard"] = {key: random.choice(_QUOTA_KEYS[key]) for key in chosen}
    if random.random() < oddness:
        key = random.choice(_WRONG_KEYS + tuple(_QUOTA_KEYS))
        spec["hard"][key] = amount(random, key, oddness=0.7)
    if random.random() < oddness / 3:
        spec.setdefault("scopes", []).append(
            random.choice(("VolumeAttributesClass", "Nowhere", "BestEffort"))
        )
    return {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": name}, "spec": spec}


def generate_used(random: Random, hard: dict[str, str]) -> dict[str, str]:
    """What might be in use under these limits; now and then a key that has not been counted yet."""
    used = {}
    for key in hard:
        if random.random() < 0.97:
            steps = _QUOTA_KEYS.get(key, ("0",))
            used[key] = random.choice(("0", "0", "0", "0", "0", *steps))
    return used


def generate_priority_class(random: Random, name: str) -> Json:
    """A PriorityClass, often with something wrong."""
    if random.random() < 0.25:
        name = random.choice(("system-mine", "system-node-critical", "system-cluster-critical", "Bad_Name"))
    body: Json = {
        "apiVersion": "scheduling.k8s.io/v1",
        "kind": "PriorityClass",
        "metadata": {"name": name},
        "value": random.choice((0, -5, 1000, 10**9, 10**9 + 1, 2_000_000_000, 2_000_001_000)),
    }
    if random.random() < 0.4:
        body["globalDefault"] = True
    if random.random() < 0.4:
        body["preemptionPolicy"] = random.choice(("Never", "PreemptLowerPriority", "Sometimes"))
    return body


def generate_claim(random: Random) -> Json:
    """A claim, usually sound."""
    oddness = random.choice((0.0, 0.0, 0.3))
    size = amount(random, "storage", oddness=oddness)
    spec: Json = {
        "accessModes": [random.choice(("ReadWriteOnce", "ReadWriteMany"))],
        "resources": {"requests": {"storage": size if size != "0" or oddness else "1Gi"}},
        "storageClassName": random.choice((*STORAGE_CLASSES, "")),
    }
    if random.random() < oddness:
        wrong: tuple[Json, ...] = (
            {"accessModes": []},
            {"accessModes": ["ReadWriteOncePod", "ReadWriteOnce"]},
            {"accessModes": ["Everyone"]},
            {"resources": {}},
            {"storageClassName": "Bad_Name"},
            {"volumeMode": "Tape"},
        )
        spec |= random.choice(wrong)
    body: Json = {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": "claim"},
        "spec": spec,
    }
    return body


def _item(random: Random, kind: str, oddness: float) -> Json:
    if kind == "PersistentVolumeClaim":
        item: Json = {"type": kind, "max": {"storage": random.choice(("5Gi", "20Gi"))}}
        if random.random() < 0.5:
            item["min"] = {"storage": random.choice(("500Mi", "1Gi"))}
        if random.random() < oddness:
            item = {"type": kind, "default": {"storage": "1Gi"}} | random.choice(
                ({}, {"max": {"cpu": "1"}}, {"min": {"storage": "9Gi"}})
            )
        return item
    item = {"type": kind}
    # Walls on what few pods name refuse nearly everybody; they must exist, and stay rare.
    common = _LIMITED[:2] if kind == "Pod" else _LIMITED[:4]
    names = common if random.random() >= 0.15 + oddness / 2 else _LIMITED
    for name in random.sample(names, k=min(len(names), random.choice((1, 1, 2, 3)))):
        _walls(random, item, name, kind, oddness)
    if random.random() < oddness:
        field = random.choice(("max", "min", "default", "defaultRequest", "maxLimitRequestRatio"))
        name = random.choice(
            ("gpu", "pods", "requests.cpu", "storage", "a/b/c", "kubernetes.io/x", *_LIMITED)
        )
        item.setdefault(field, {})[name] = amount(random, name, oddness=0.4)
    return item


def _walls(random: Random, item: Json, name: str, kind: str, oddness: float) -> None:
    """Up to four rising steps of a ladder as min, defaultRequest, default, max; shuffled when odd."""
    steps = ladder(name)
    marks = sorted(random.choices(range(1, len(steps)), k=4))
    if random.random() < oddness:
        random.shuffle(marks)
    fields = (
        ["min", "max"]
        if kind == "Pod" and random.random() >= oddness / 3
        else ["min", "defaultRequest", "default", "max"]
    )
    if not ("/" in name or name.startswith("hugepages-")) or random.random() < oddness:
        values = dict(
            zip(("min", "defaultRequest", "default", "max"), (steps[mark] for mark in marks), strict=True)
        )
    else:
        values = dict.fromkeys(("defaultRequest", "default"), steps[marks[1]]) | {
            "min": steps[marks[0]],
            "max": steps[marks[3]],
        }
    for field in fields:
        rare = field == "min" and name not in {"cpu", "memory"}
        if random.random() < (0.1 + oddness / 2 if rare else 0.45):
            item.setdefault(field, {})[name] = values[field]
    if random.random() < 0.12 and name in {"cpu", "memory"}:
        item.setdefault("maxLimitRequestRatio", {})[name] = (
            random.choice(("1", "2", "1.5", "4")) if oddness == 0 else amount(random, "cpu", oddness=0.3)
        )


def _scope_line(random: Random, scope: str, oddness: float) -> Json:
    line: Json = {"scopeName": scope, "operator": "Exists"}
    if scope == "PriorityClass":
        line["operator"] = random.choice(("In", "In", "NotIn", "Exists", "DoesNotExist"))
        if line["operator"] in {"In", "NotIn"}:
            line["values"] = random.sample(("critical", "high", "low", "typo"), k=random.choice((1, 2)))
    if random.random() < oddness / 2:
        line |= random.choice(
            (
                {"operator": "In"},
                {"values": ["x"]},
                {"operator": "Near"},
                {"scopeName": "Nowhere"},
                {"operator": "NotIn", "values": ["a"]},
            )
        )
    return line
