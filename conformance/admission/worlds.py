"""Worlds: namespaces of a real cluster, each with its own LimitRanges and quotas, made once and asked many
times.

Quota status belongs to the controller manager. Some worlds keep what it counted over pods and claims that
really exist (and that count is itself compared with ours); in the others the status is set by hand once the
controller has written it, so that every mixture of hard and used can be met without creating thousands of
pods. The controller recounts every few minutes, so a world can tell whether its status is still as it was
set.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from random import Random
from typing import Any

import msgspec

from conformance.admission.pods import generate_layered_pod, generate_pod
from conformance.admission.policies import (
    generate_claim,
    generate_limit_range,
    generate_quota,
    generate_used,
    scope_for,
)
from conformance.apiserver import Answer, ApiServer, in_parallel
from tonnage.cluster.admission.admitting import NamespacePolicies
from tonnage.cluster.objects import LimitRange, PriorityClass, ResourceQuota

Json = dict[str, Any]

CLASSES_PATH = "/apis/scheduling.k8s.io/v1/priorityclasses"
RUNTIME_CLASSES = {"sandboxed": {"cpu": "250m", "memory": "64Mi"}, "plain": {}}
FULL_EVERY = 12
"""In one world of so many there is room for nothing, behind a LimitRange that is asked first."""
_CLASSES = (("critical", 1_000_000, None), ("high", 1000, None), ("low", -10, None), ("quiet", 5, "Never"))


@dataclass(kw_only=True)
class World:
    """One namespace and what rules in it."""

    namespace: str
    limit_ranges: list[Json] = field(default_factory=list)
    quotas: list[Json] = field(default_factory=list)
    used: dict[str, Json] = field(default_factory=dict)
    """Per quota, the status set by hand; empty where the controller's own count stands."""

    @property
    def path(self) -> str:
        return f"/api/v1/namespaces/{self.namespace}"

    def policies(self, classes: list[PriorityClass]) -> NamespacePolicies:
        return NamespacePolicies(
            limit_ranges=msgspec.convert(self.limit_ranges, list[LimitRange]),
            quotas=msgspec.convert(self.quotas, list[ResourceQuota]),
            priority_classes=classes,
            runtime_classes=RUNTIME_CLASSES,
        )

    def rules(self) -> Json:
        """What rules here, for showing beside a disagreement."""
        quotas = [
            {"name": q["metadata"]["name"], "spec": q["spec"], "status": q.get("status", {})}
            for q in self.quotas
        ]
        return {"limitRanges": [item["spec"] for item in self.limit_ranges], "quotas": quotas}


def create_cluster_objects(api: ApiServer, prefix: str) -> None:
    """Priority and runtime classes that all worlds share; those of an earlier run are kept."""
    for name, value, policy in _CLASSES:
        body: Json = {"metadata": {"name": name}, "value": value}
        if policy is not None:
            body["preemptionPolicy"] = policy
        api.create(CLASSES_PATH, body)
    for name, overhead in RUNTIME_CLASSES.items():
        body = {"metadata": {"name": name}, "handler": prefix}
        if overhead:
            body["overhead"] = {"podFixed": overhead}
        api.create("/apis/node.k8s.io/v1/runtimeclasses", body)


def create_default_class(api: ApiServer) -> None:
    """A class for pods that name none; returns when admission has heard of it."""
    body = {"metadata": {"name": "usual"}, "value": 77, "globalDefault": True, "preemptionPolicy": "Never"}
    _must(api.create(CLASSES_PATH, body))
    probe = {"metadata": {"name": "probe"}, "spec": {"containers": [{"name": "c", "image": "local/python"}]}}
    give_up = time.monotonic() + 30
    while True:
        answer = api.create("/api/v1/namespaces/default/pods", probe, dry_run=True)
        if answer.ok and answer.body["spec"].get("priorityClassName") == "usual":
            return
        if time.monotonic() > give_up:
            raise TimeoutError(f"no default priority class after 30 s: {answer.message}")
        time.sleep(0.05)


def delete_default_class(api: ApiServer) -> None:
    """Pods that name no class get priority 0 again."""
    api.delete(f"{CLASSES_PATH}/usual")


def create_worlds(api: ApiServer, random: Random, prefix: str, count: int) -> list[World]:
    """Make the namespaces, wait until the controllers have seen them, and set the quotas' status."""
    plans = [
        (f"{prefix}-{n}", random.randrange(2**32), scope_for(n), n % FULL_EVERY == FULL_EVERY - 1)
        for n in range(count)
    ]
    return list(in_parallel(lambda plan: _create_world(api, *plan), plans))


def read_quotas(api: ApiServer, world: World) -> list[Json]:
    """The world's quotas as they are now."""
    answer = api.get(f"{world.path}/resourcequotas")
    return sorted(answer.body["items"], key=lambda item: str(item["metadata"]["name"]))


def status_of(quotas: list[Json]) -> list[Json]:
    """What of a quota's status answers depend on."""
    return [quota.get("status", {}) for quota in quotas]


def set_status(api: ApiServer, world: World) -> None:
    """Write the wanted status (again) and remember the quotas as they then are."""
    for quota in read_quotas(api, world):
        name = quota["metadata"]["name"]
        if name in world.used:
            status = {"hard": quota["spec"]["hard"], "used": None}
            api.patch(f"{world.path}/resourcequotas/{name}/status", {"status": status})
            api.patch(f"{world.path}/resourcequotas/{name}/status", {"status": {"used": world.used[name]}})
    world.quotas = read_quotas(api, world)


def delete_worlds(api: ApiServer, worlds: list[World]) -> None:
    """Ask for the namespaces to go; nobody waits for it."""
    for world in worlds:
        api.delete(f"/api/v1/namespaces/{world.namespace}")


def _create_world(api: ApiServer, namespace: str, seed: int, scope: str | None, is_full: bool) -> World:
    random = Random(seed)
    world = World(namespace=namespace)
    _must(api.create("/api/v1/namespaces", {"metadata": {"name": namespace}}))
    api.wait_for(f"{world.path}/serviceaccounts/default", lambda answer: answer.ok)
    counted = random.random() < 0.3 and not is_full
    if counted:
        _populate(api, random, world)
    for index in range(random.choice((0, 0, 1, 1, 1, 2))):
        answer = api.create(f"{world.path}/limitranges", generate_limit_range(random, f"lr{index}"))
        if answer.ok:
            world.limit_ranges.append(answer.body)
    for index in range(random.choice((0, 0, 1, 1, 2, 3)) if scope is None else random.choice((1, 2))):
        wanted = scope if index == 0 else None
        answer = api.create(
            f"{world.path}/resourcequotas", generate_quota(random, f"rq{index}", scope=wanted)
        )
        if answer.ok and not counted:
            hard = answer.body["spec"]["hard"]
            world.used[f"rq{index}"] = generate_used(random, hard)
    if is_full:
        _fill_up(api, world)
    api.wait_for(f"{world.path}/resourcequotas", _all_counted)
    set_status(api, world)
    return world


def _populate(api: ApiServer, random: Random, world: World) -> None:
    """Real pods and claims, some pods already finished, for the controller to count."""
    for index in range(random.choice((2, 3, 4))):
        pod = generate_pod(random) if index else generate_layered_pod(random)
        pod["metadata"]["name"] = f"pod{index}"
        pod["spec"]["schedulerName"] = "nobody"
        answer = api.create(f"{world.path}/pods", pod)
        if answer.ok and index and random.random() < 0.4:
            phase = random.choice(("Succeeded", "Failed"))
            api.patch(f"{world.path}/pods/pod{index}/status", {"status": {"phase": phase}})
    for index in range(random.choice((0, 1, 2))):
        claim = generate_claim(random)
        claim["metadata"]["name"] = f"claim{index}"
        api.create(f"{world.path}/persistentvolumeclaims", claim)


def _fill_up(api: ApiServer, world: World) -> None:
    """Walls that many pods break, and a quota that would refuse every pod, and all but the smallest claims."""
    walls = {"type": "Container", "min": {"cpu": "200m"}, "max": {"cpu": "2", "memory": "2Gi"}}
    limits = {"metadata": {"name": "walls"}, "spec": {"limits": [walls]}}
    answer = api.create(f"{world.path}/limitranges", limits)
    _must(answer)
    world.limit_ranges.append(answer.body)
    hard = {"pods": "0", "requests.storage": "1", "gold.storageclass.storage.k8s.io/requests.storage": "1"}
    full = {"metadata": {"name": "full"}, "spec": {"hard": hard}}
    _must(api.create(f"{world.path}/resourcequotas", full))
    world.used["full"] = dict.fromkeys(hard, "0")


def _all_counted(answer: Answer) -> bool:
    quotas = answer.body["items"]
    return all(quota.get("status", {}).get("hard") == quota["spec"]["hard"] for quota in quotas)


def _must(answer: Answer) -> None:
    if not answer.ok:
        raise RuntimeError(f"the API server refused to set up the suite: {answer.message}")
