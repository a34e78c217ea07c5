"""Two comparisons of another kind: how quantities are read, and what the quota controller counts."""

from __future__ import annotations

from random import Random
from typing import Any

import msgspec

from conformance.admission.comparing import object_form, pod_form
from conformance.admission.quantities import any_quantity
from conformance.admission.worlds import World
from conformance.apiserver import ApiServer, in_parallel
from conformance.suite import Disagreement, Tally
from tonnage.cluster.admission import quota
from tonnage.cluster.admission.quota_scopes import scopes
from tonnage.cluster.objects import PersistentVolumeClaim, Pod, ResourceQuota
from tonnage.cluster.resources import is_sidecar, pod_level_requests_set
from tonnage.units import QuantityError, parse_quantity

_KEY = "kubernetes.io/any"


def compare_quantities(api: ApiServer, random: Random, cases: int, target: float) -> Tally:
    """One quota per literal, under a name that Kubernetes owns, so that no rule but parsing applies."""
    tally = Tally(name="quantities", target=target, must_cover=("stored", "negative", "unreadable"))
    literals = [any_quantity(random) for _ in range(cases)]
    answers = in_parallel(lambda text: _real_quantity(api, text), literals)
    for text, theirs in zip(literals, answers, strict=True):
        mine = _our_quantity(text)
        tally.cases += 1
        if mine == theirs:
            tally.agreed += 1
            tally.coverage[mine[0]] += 1
        else:
            tally.disagreements.append(Disagreement(question=text, ours=mine, real=theirs))
    return tally


def compare_usage(api: ApiServer, worlds: list[World], target: float) -> Tally:
    """What the controller counted in worlds with real pods and claims, against our count."""
    tally = Tally(name="usage counted by the controller", target=target)
    tally.must_cover = (
        *("pods counted", "claims counted", "finished pods", "scoped"),
        *("sum: init containers", "sum: sidecars", "sum: overhead", "sum: pod level"),
    )
    for world in worlds:
        pods = msgspec.convert(api.get(f"{world.path}/pods").body["items"], list[Pod])
        claims_found = api.get(f"{world.path}/persistentvolumeclaims").body["items"]
        claims = msgspec.convert(claims_found, list[PersistentVolumeClaim])
        for each in msgspec.convert(world.quotas, list[ResourceQuota]) if pods else ():
            mine = {key: str(value) for key, value in quota.namespace_usage(each, pods, claims).items()}
            theirs = {key: each.status.used[key] for key in mine if key in each.status.used}
            tally.cases += 1
            if mine == theirs:
                tally.agreed += 1
                _cover(tally, each, pods, mine)
            else:
                tally.disagreements.append(_difference(each, pods, claims, mine, theirs))
    return tally


def _difference(
    each: ResourceQuota,
    pods: list[Pod],
    claims: list[PersistentVolumeClaim],
    mine: dict[str, str],
    theirs: dict[str, str],
) -> Disagreement:
    """The keys that were counted otherwise, with what of the objects is counted."""
    keys = [key for key in mine | theirs if mine.get(key) != theirs.get(key)]
    question: dict[str, Any] = {"quota": {**msgspec.to_builtins(each.spec), "hard": keys}}
    if any(map(quota.is_pod_key, keys)):
        question["pods"] = [{**pod_form(pod), "phase": pod.status.phase} for pod in pods]
    if any(map(quota.is_claim_key, keys)):
        question["claims"] = [object_form(claim) for claim in claims]
    return Disagreement(
        question=question,
        ours={key: mine.get(key) for key in keys},
        real={key: theirs.get(key) for key in keys},
    )


def _our_quantity(text: str) -> tuple[str, str]:
    try:
        quantity = parse_quantity(text).rounded_to_milli()
    except QuantityError as error:
        return "unreadable", str(error)
    return ("negative" if quantity.nano < 0 else "stored"), str(quantity)


def _real_quantity(api: ApiServer, text: str) -> tuple[str, str]:
    body = {"metadata": {"name": "asked"}, "spec": {"hard": {_KEY: text}}}
    answer = api.create("/api/v1/namespaces/default/resourcequotas", body, dry_run=True)
    if answer.ok:
        return "stored", str(answer.body["spec"]["hard"][_KEY])
    if answer.status == 422:
        return "negative", str(answer.body["details"]["causes"][0]["message"]).split('"')[1]
    return "unreadable", answer.message.rpartition("ResourceQuota: ")[2]


def _cover(tally: Tally, each: ResourceQuota, pods: list[Pod], mine: dict[str, str]) -> None:
    tally.coverage["pods counted"] += any(map(quota.is_pod_key, mine))
    tally.coverage["claims counted"] += any(map(quota.is_claim_key, mine))
    tally.coverage["finished pods"] += any(pod.status.phase in {"Succeeded", "Failed"} for pod in pods)
    tally.coverage["scoped"] += bool(scopes(each))
    counted = [pod for pod in pods if quota.pod_meets(pod, each) and len(quota.pod_usage(pod)) > 1]
    inits = [container for pod in counted for container in pod.spec.init_containers]
    tally.coverage["sum: init containers"] += not all(map(is_sidecar, inits))
    tally.coverage["sum: sidecars"] += any(map(is_sidecar, inits))
    tally.coverage["sum: overhead"] += any(pod.spec.overhead for pod in counted)
    tally.coverage["sum: pod level"] += any(map(pod_level_requests_set, counted))
