"""Claims, volumes and classes for generated clusters: each kind of trouble a claim can be in."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass

from conformance.scheduling.questions import Object, Scenario

ZONE = "topology.kubernetes.io/zone"
OLD_ZONE = "failure-domain.beta.kubernetes.io/zone"
HOST = "kubernetes.io/hostname"
BOUND = "pv.kubernetes.io/bind-completed"
ZONES = ["za", "zb", "zc"]
CLAIMS_PER_100 = 17
"""About how many questions in a hundred are about claims; with it their troubles take turns."""


def add_storage(rng: random.Random, scenario: Scenario, mark: str) -> None:
    """Classes and free volumes that questions may use; claims come with the questions."""
    allowed = {"key": ZONE, "values": rng.sample(ZONES, rng.choice([1, 2]))}
    topologies: list[Object] = [{"matchLabelExpressions": [allowed]}]
    now = {"metadata": {"name": f"{mark}-now"}, "provisioner": "example.com/now"}
    scenario.objects["classes"] = [
        {**now, "volumeBindingMode": "Immediate"},
        _class(f"{mark}-static", "kubernetes.io/no-provisioner"),
        _class(f"{mark}-dynamic", "example.com/dynamic", rng.choice([[], topologies, topologies])),
        _class(f"{mark}-sized", f"{mark}.sized.example.com"),
        _class(f"{mark}-limited", f"{mark}.limited.example.com"),
    ]
    scenario.objects["csiDrivers"] = [
        {"metadata": {"name": f"{mark}.sized.example.com"}, "spec": {"storageCapacity": True}}
    ]
    scenario.objects["capacities"] = [
        {
            "metadata": {"name": f"{mark}-{zone}", "namespace": "alpha"},
            "storageClassName": f"{mark}-sized",
            "nodeTopology": {"matchLabels": {ZONE: zone}},
            "capacity": rng.choice(["1Gi", "20Gi"]),
        }
        for zone in ("za", "zb")
    ]
    for number in range(rng.randint(1, 4)):
        volume = _volume(rng, scenario, f"{mark}-free{number}", f"{mark}-static")
        volume["spec"]["capacity"]["storage"] = rng.choice(["1Gi", "5Gi", "10Gi"])
        modes = [["ReadWriteOnce"], ["ReadWriteOnce", "ReadOnlyMany"], ["ReadOnlyMany"]]
        volume["spec"]["accessModes"] = rng.choice(modes)
        volume["status"] = {"phase": rng.choice(["Available", "Available", "Available", "Released"])}
        scenario.objects["volumes"].append(volume)


def with_claims(rng: random.Random, scenario: Scenario, question: Object) -> None:
    """Give the pod a claim (or a disk) in some kind of trouble; once is enough.

    Not to a pod with a promise: while volumes are being bound, only a new promise shows that it was placed.
    """
    if question["pod"]["spec"].get("volumes") or question.get("nominated"):
        return
    pod = question["pod"]
    name = pod["metadata"]["name"]
    asked = Asked(
        rng=rng,
        scenario=scenario,
        question=question,
        name=name,
        namespace=pod["metadata"]["namespace"],
        mark=name.split("-")[0],
    )
    TROUBLES[(scenario.turn * CLAIMS_PER_100 // 100) % len(TROUBLES)](asked)


@dataclass(kw_only=True)
class Asked:
    """The pod that gets a claim, and where everything goes."""

    rng: random.Random
    scenario: Scenario
    question: Object
    name: str
    namespace: str
    mark: str

    @property
    def claim_name(self) -> str:
        return f"{self.name}-data"

    def mount(self, volume: Object) -> None:
        self.question["pod"]["spec"].setdefault("volumes", []).append(volume)

    def mount_claim(self, claim: Object | None, *, volume: str = "data") -> None:
        """Mount a claim by name and make it, if it is to exist."""
        name = claim["metadata"]["name"] if claim else self.claim_name
        self.mount({"name": volume, "persistentVolumeClaim": {"claimName": name}})
        if claim:
            self.scenario.objects["claims"].append(claim)

    def confine(self, nodes: list[str]) -> None:
        """Let the pod go to these nodes only, and let no taint speak first, so that they are heard."""
        line = {"key": HOST, "operator": "In", "values": nodes}
        spec = self.question["pod"]["spec"]
        spec["tolerations"] = [{"operator": "Exists"}]
        spec["affinity"] = {
            "nodeAffinity": {
                "requiredDuringSchedulingIgnoredDuringExecution": {
                    "nodeSelectorTerms": [{"matchExpressions": [line]}]
                }
            }
        }
        spec["containers"][0]["resources"] = {"requests": {"cpu": "10m"}}
        spec.pop("resources", None)

    def hosts(self) -> dict[str, Object]:
        """One pod of each node that has any."""
        return {pod["spec"]["nodeName"]: pod for pod in self.scenario.objects["pods"]}


def _bound_volume(asked: Asked, *, labelled: bool = False) -> tuple[Object, Object]:
    volume = _volume(asked.rng, asked.scenario, f"{asked.name}-volume", "", labelled=labelled)
    volume["status"] = {"phase": "Bound"}
    asked.scenario.objects["volumes"].append(volume)
    return volume, _bound(_claim(asked.claim_name, asked.namespace, ""), f"{asked.name}-volume")


def _anywhere(asked: Asked) -> None:
    _, claim = _bound_volume(asked)
    asked.mount_claim(claim)


def _elsewhere(asked: Asked) -> None:
    """The volume is in one zone, the pod may only go to others."""
    volume, claim = _bound_volume(asked)
    zone = asked.rng.choice(ZONES)
    volume["spec"]["nodeAffinity"] = _only({"key": ZONE, "operator": "In", "values": [zone]})
    asked.mount_claim(claim)
    nodes = {node["metadata"]["name"]: node["metadata"]["labels"] for node in asked.scenario.objects["nodes"]}
    asked.confine([name for name, labels in nodes.items() if labels.get(ZONE) != zone])


def _zoned(asked: Asked) -> None:
    volume, claim = _bound_volume(asked, labelled=True)
    asked.mount_claim(claim)
    label = next(iter(volume["metadata"]["labels"].values()))
    wrong = [
        node["metadata"]["name"]
        for node in asked.scenario.objects["nodes"]
        if node["metadata"]["labels"].get(ZONE) not in label.split("__")
    ]
    if wrong and asked.rng.random() < 0.9:
        asked.confine(wrong)


def _leaving(asked: Asked) -> None:
    _, claim = _bound_volume(asked)
    asked.mount_claim({**claim, "leaving": True})


def _exclusive(asked: Asked) -> None:
    volume, claim = _bound_volume(asked)
    volume["spec"].pop("nodeAffinity", None)
    volume["spec"]["accessModes"] = claim["spec"]["accessModes"] = ["ReadWriteOncePod"]
    asked.mount_claim(claim)
    mounted = {"persistentVolumeClaim": {"claimName": asked.claim_name}}
    users = [pod for pod in asked.scenario.objects["pods"] if pod["metadata"]["namespace"] == asked.namespace]
    if users and asked.rng.random() < 0.9:
        _give(asked.rng.choice(users), mounted)
    if asked.rng.random() < 0.8:
        asked.confine([node["metadata"]["name"] for node in asked.scenario.objects["nodes"]])


def _unbound(asked: Asked) -> None:
    class_ = asked.rng.choice([f"{asked.mark}-now", "no-such-class", ""])
    asked.mount_claim(_claim(asked.claim_name, asked.namespace, class_))


def _missing(asked: Asked) -> None:
    asked.mount_claim(None)


def _lost(asked: Asked) -> None:
    claim = _bound(_claim(asked.claim_name, asked.namespace, ""), f"{asked.mark}-nowhere")
    claim["status"]["phase"] = "Lost"
    asked.mount_claim(claim)


def _gone(asked: Asked) -> None:
    asked.mount_claim(_bound(_claim(asked.claim_name, asked.namespace, ""), f"{asked.mark}-nowhere"))


def _waiting(asked: Asked) -> None:
    claim = _claim(asked.claim_name, asked.namespace, f"{asked.mark}-static")
    claim["spec"]["resources"]["requests"]["storage"] = asked.rng.choice(["1Gi", "4Gi", "50Gi"])
    asked.mount_claim(claim)
    if asked.rng.random() < 0.3:
        more = _claim(f"{asked.claim_name}-2", asked.namespace, f"{asked.mark}-static")
        asked.mount_claim(more, volume="more")


def _provisioned(asked: Asked) -> None:
    claim = _claim(asked.claim_name, asked.namespace, f"{asked.mark}-dynamic")
    if asked.rng.random() < 0.3:
        chosen = asked.rng.choice(asked.scenario.objects["nodes"])["metadata"]["name"]
        claim["metadata"]["annotations"] = {"volume.kubernetes.io/selected-node": chosen}
    asked.mount_claim(claim)


def _capacity(asked: Asked) -> None:
    claim = _claim(asked.claim_name, asked.namespace, f"{asked.mark}-sized")
    claim["spec"]["resources"]["requests"]["storage"] = asked.rng.choice(["1Gi", "10Gi", "30Gi"])
    asked.mount_claim(claim)
    if asked.rng.random() < 0.5:
        asked.confine([node["metadata"]["name"] for node in asked.scenario.objects["nodes"]])


def _limited(asked: Asked) -> None:
    """Nodes that hold as many volumes of a driver as they can."""
    class_, driver = f"{asked.mark}-limited", f"{asked.mark}.limited.example.com"
    asked.mount_claim(_claim(asked.claim_name, asked.namespace, class_))
    full = []
    known = {item["metadata"]["name"] for item in asked.scenario.objects["csiNodes"]}
    for number, (node, pod) in enumerate(asked.hosts().items()):
        if node in known or asked.rng.random() < 0.3:
            continue
        limit = {"name": driver, "nodeID": node, "allocatable": {"count": asked.rng.choice([1, 1, 1, 2])}}
        asked.scenario.objects["csiNodes"].append({"metadata": {"name": node}, "spec": {"drivers": [limit]}})
        theirs = _claim(f"{asked.name}-held{number}", pod["metadata"]["namespace"], class_)
        asked.scenario.objects["claims"].append(theirs)
        _give(pod, {"persistentVolumeClaim": {"claimName": theirs["metadata"]["name"]}})
        full.append(node)
    if full and asked.rng.random() < 0.8:
        asked.confine(full)


def _ephemeral(asked: Asked) -> None:
    """Nobody makes the claim."""
    template = {"volumeClaimTemplate": {"spec": _claim("", "", f"{asked.mark}-static")["spec"]}}
    asked.mount({"name": "data", "ephemeral": template})


def _ephemeral_gone(asked: Asked) -> None:
    """The claim is made, but its volume is not there."""
    _ephemeral(asked)
    bound = _bound(_claim(asked.claim_name, asked.namespace, f"{asked.mark}-static"), f"{asked.mark}-nowhere")
    asked.question["claims"] = [{**bound, "own": True}]
    asked.confine([node["metadata"]["name"] for node in asked.scenario.objects["nodes"]])


def _disk(asked: Asked) -> None:
    read_only = asked.rng.random() < 0.3
    disks: list[Object] = [
        {"gcePersistentDisk": {"pdName": "shared", "readOnly": read_only}},
        {"awsElasticBlockStore": {"volumeID": "shared"}},
        {
            "iscsi": {
                "targetPortal": "10.0.0.1",
                "iqn": "iqn.2026-01.local:a",
                "lun": 0,
                "readOnly": read_only,
            }
        },
        {"rbd": {"monitors": ["10.0.0.2", "10.0.0.3"], "image": "a", "pool": "p", "readOnly": read_only}},
    ]
    disk = asked.rng.choice(disks)
    asked.mount({"name": "data", **disk})
    hosts = asked.hosts()
    taken = [node for node in hosts if asked.rng.random() < 0.7]
    for node in taken:
        _give(hosts[node], disk)
    if taken:
        asked.confine(taken)


TROUBLES: list[Callable[[Asked], None]] = [
    _anywhere, _elsewhere, _zoned, _leaving, _exclusive, _unbound, _missing, _lost, _gone, _waiting,
    _provisioned, _capacity, _limited, _ephemeral, _disk, _ephemeral_gone, _waiting, _provisioned, _limited,
    _disk, _zoned, _exclusive,
]  # fmt: skip


def _give(pod: Object, source: Object) -> None:
    """Let a placed pod use the volume too."""
    volumes = pod["spec"].setdefault("volumes", [])
    volumes.append({"name": f"shared-{len(volumes)}", **source})


def _class(name: str, provisioner: str, topologies: list[Object] | None = None) -> Object:
    made: Object = {
        "metadata": {"name": name},
        "provisioner": provisioner,
        "volumeBindingMode": "WaitForFirstConsumer",
    }
    return made | ({"allowedTopologies": topologies} if topologies else {})


def _claim(name: str, namespace: str, class_: str) -> Object:
    return {
        "metadata": {"name": name, "namespace": namespace},
        "spec": {
            "accessModes": ["ReadWriteOnce"],
            "storageClassName": class_,
            "resources": {"requests": {"storage": "1Gi"}},
        },
    }


def _bound(claim: Object, volume: str) -> Object:
    claim["metadata"]["annotations"] = {BOUND: "yes"}
    claim["spec"]["volumeName"] = volume
    claim["status"] = {"phase": "Bound"}
    return claim


def _volume(
    rng: random.Random, scenario: Scenario, name: str, class_: str, *, labelled: bool = False
) -> Object:
    node = rng.choice(scenario.objects["nodes"])["metadata"]["name"]
    places: list[Object | None] = [
        {"key": ZONE, "operator": "In", "values": rng.sample(ZONES, 1)},
        {"key": HOST, "operator": "In", "values": [node]},
        {"key": "pool", "operator": "NotIn", "values": ["spot"]},
        None,
    ]
    where = rng.choice(places)
    volume: Object = {
        "metadata": {"name": name, "labels": {}},
        "spec": {
            "capacity": {"storage": "5Gi"},
            "accessModes": ["ReadWriteOnce"],
            "storageClassName": class_,
            "hostPath": {"path": "/data"},
        },
    }
    if labelled:
        volume["metadata"]["labels"] = {rng.choice([ZONE, OLD_ZONE]): rng.choice(["za", "zb__zc", "zb"])}
    elif where is not None:
        volume["spec"]["nodeAffinity"] = _only(where)
    return volume


def _only(where: Object) -> Object:
    return {"required": {"nodeSelectorTerms": [{"matchExpressions": [where]}]}}
