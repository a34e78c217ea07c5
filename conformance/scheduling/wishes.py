"""Random wishes of pods: which nodes and which neighbours they want."""

from __future__ import annotations

import random

from conformance.scheduling.questions import NAMESPACES, Object

ZONE = "topology.kubernetes.io/zone"
HOST = "kubernetes.io/hostname"


def some_labels(rng: random.Random) -> dict[str, str]:
    labels = {}
    if rng.random() < 0.9:
        labels["app"] = rng.choice("abc")
    if rng.random() < 0.4:
        labels["tier"] = rng.choice("xy")
    if labels.get("app") == "a" and rng.random() < 0.5:
        labels["serves"] = "yes"
    return labels


def random_tolerations(rng: random.Random) -> list[Object]:
    choices: list[Object] = [
        {"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"},
        {"key": "spot", "operator": "Exists"},
        {"key": "dedicated", "operator": "Equal", "value": "red", "effect": "NoSchedule"},
        {"key": "dedicated", "value": "blue"},
        {"key": "slow", "operator": "Exists", "effect": "PreferNoSchedule"},
        {"key": "node.kubernetes.io/unschedulable", "operator": "Exists"},
        {"operator": "Exists", "effect": "NoSchedule"},
    ]
    if rng.random() < 0.25:
        return [{"operator": "Exists"}]
    return rng.sample(choices, rng.randint(0, 4))


def random_selector(rng: random.Random) -> Object:
    choices: list[Object] = [
        {"matchLabels": {"app": rng.choice("abc")}},
        {"matchLabels": {"app": "a", "tier": "x"}},
        {"matchExpressions": [{"key": "app", "operator": "In", "values": ["a", "b"]}]},
        {"matchExpressions": [{"key": "app", "operator": "NotIn", "values": ["a"]}]},
        {"matchExpressions": [{"key": "tier", "operator": "Exists"}]},
        {"matchExpressions": [{"key": "tier", "operator": "DoesNotExist"}]},
        {},
    ]
    return rng.choice(choices)


def _mentions(selector: Object, key: str) -> bool:
    """The API server refuses a label key that the selector names already."""
    return key in selector.get("matchLabels", {}) or any(
        line["key"] == key for line in selector.get("matchExpressions", ())
    )


def random_spread(rng: random.Random, pod: Object) -> None:
    constraints = []
    for key in rng.sample([ZONE, HOST, "pool", "disk"], rng.choice([1, 1, 2])):
        when = rng.choice(["DoNotSchedule", "DoNotSchedule", "ScheduleAnyway"])
        constraint: Object = {
            "maxSkew": rng.choice([1, 1, 2]),
            "topologyKey": key,
            "whenUnsatisfiable": when,
            "labelSelector": random_selector(rng),
        }
        if rng.random() < 0.25 and when == "DoNotSchedule":
            constraint["minDomains"] = rng.choice([1, 2, 5])
        if rng.random() < 0.25:
            constraint["nodeAffinityPolicy"] = rng.choice(["Honor", "Ignore"])
        if rng.random() < 0.3:
            constraint["nodeTaintsPolicy"] = rng.choice(["Honor", "Ignore"])
        if rng.random() < 0.2 and not _mentions(constraint["labelSelector"], "app"):
            constraint["matchLabelKeys"] = ["app", "absent"] if rng.random() < 0.5 else ["app"]
        constraints.append(constraint)
    pod["spec"]["topologySpreadConstraints"] = constraints


def random_affinity(rng: random.Random, pod: Object, *, placed: bool) -> None:
    """Pod affinity and anti-affinity, required or preferred."""
    affinity = pod["spec"].setdefault("affinity", {})
    kinds = rng.sample(["podAffinity", "podAntiAffinity"], rng.choice([1, 1, 2]))
    for kind in kinds:
        strict = rng.random() < (0.6 if placed and kind == "podAntiAffinity" else 0.55)
        terms = [_term(rng) for _ in range(rng.choice([1, 1, 2]))]
        if strict:
            affinity[kind] = {"requiredDuringSchedulingIgnoredDuringExecution": terms}
        else:
            weighted = [{"weight": rng.choice([1, 10, 100]), "podAffinityTerm": term} for term in terms]
            affinity[kind] = {"preferredDuringSchedulingIgnoredDuringExecution": weighted}


def _term(rng: random.Random) -> Object:
    term: Object = {
        "topologyKey": rng.choice([ZONE, HOST, "pool", "disk"]),
        "labelSelector": random_selector(rng),
    }
    if rng.random() < 0.2:
        term["namespaces"] = rng.sample(list(NAMESPACES), 1)
    if rng.random() < 0.25:
        term["namespaceSelector"] = rng.choice(
            [
                {},
                {"matchLabels": {"team": "red"}},
                {"matchExpressions": [{"key": "cost", "operator": "DoesNotExist"}]},
                {"matchExpressions": [{"key": "team", "operator": "NotIn", "values": ["red"]}]},
            ]
        )
    if rng.random() < 0.1 and not _mentions(term["labelSelector"], "tier"):
        term[rng.choice(["matchLabelKeys", "mismatchLabelKeys"])] = ["tier"]
    return term


def random_node_affinity(rng: random.Random, pod: Object, names: list[str]) -> None:
    spec = pod["spec"]
    if rng.random() < 0.3:
        spec["nodeSelector"] = rng.choice(
            [{"pool": "cpu"}, {"pool": "gpu", "disk": "ssd"}, {ZONE: "za"}, {"absent": "x"}]
        )
    affinity: Object = {}
    if rng.random() < 0.7:
        affinity["requiredDuringSchedulingIgnoredDuringExecution"] = {
            "nodeSelectorTerms": [_node_term(rng, names) for _ in range(rng.choice([1, 1, 2]))]
        }
    if rng.random() < 0.5:
        affinity["preferredDuringSchedulingIgnoredDuringExecution"] = [
            {"weight": rng.choice([1, 20, 100]), "preference": {"matchExpressions": [_node_line(rng)]}}
            for _ in range(rng.choice([1, 2]))
        ]
    if affinity:
        spec.setdefault("affinity", {})["nodeAffinity"] = affinity


def _node_term(rng: random.Random, names: list[str]) -> Object:
    if rng.random() < 0.3:
        values = [rng.choice([*names, "no-such-node"])]
        lines: list[Object] = [
            {"key": "metadata.name", "operator": rng.choice(["In", "In", "In", "NotIn"]), "values": values}
        ]
        if rng.random() < 0.2:
            lines.append({"key": "metadata.name", "operator": "In", "values": [rng.choice(names)]})
        return {"matchFields": lines}
    return {"matchExpressions": [_node_line(rng) for _ in range(rng.choice([1, 1, 2]))]}


def _node_line(rng: random.Random) -> Object:
    return rng.choice(
        [
            {"key": "pool", "operator": "In", "values": ["cpu", "gpu"]},
            {"key": "pool", "operator": "NotIn", "values": ["spot"]},
            {"key": "disk", "operator": "Exists"},
            {"key": "disk", "operator": "DoesNotExist"},
            {"key": "rank", "operator": "Gt", "values": [str(rng.randint(1, 20))]},
            {"key": "rank", "operator": "Lt", "values": [str(rng.randint(1, 20))]},
            {"key": ZONE, "operator": "In", "values": [rng.choice(["za", "zb", "zc"])]},
            {"key": "pool", "operator": "Gt", "values": ["3"]},
        ]
    )
