"""Admission against the real API server: every question is a server-side dry run.

Quantities, pods, claims, LimitRanges, quotas and priority classes are generated, sent to the server and
judged by our rules; what the server stored, or the set of errors it named, must be among the answers we
call possible. A second half of the pods is asked after a global default priority class has appeared.
"""

from __future__ import annotations

import os
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

import msgspec

from conformance.admission import covering
from conformance.admission.comparing import Form, ours, real
from conformance.admission.pods import generate_pod
from conformance.admission.policies import (
    generate_claim,
    generate_limit_range,
    generate_priority_class,
    generate_quota,
)
from conformance.admission.quantities import any_quantity
from conformance.admission.worlds import (
    World,
    create_cluster_objects,
    create_worlds,
    delete_worlds,
    read_quotas,
    set_status,
    status_of,
)
from conformance.apiserver import Answer, ApiServer, in_parallel
from conformance.shrinking import shrink
from conformance.suite import Disagreement, Tally
from tonnage.cluster import admission, quota
from tonnage.cluster.objects import LimitRange, PersistentVolumeClaim, Pod, PriorityClass, ResourceQuota
from tonnage.cluster.quota_scopes import scopes
from tonnage.units import QuantityError, parse_quantity

Json = dict[str, Any]
_CLASSES = "/apis/scheduling.k8s.io/v1/priorityclasses"
_DEFAULT_CLASS = {
    "metadata": {"name": "usual"},
    "value": 77,
    "globalDefault": True,
    "preemptionPolicy": "Never",
}
_TARGET = 0.999
_SHARES = {"pods": 0.6, "claims": 0.08, "limit ranges": 0.08, "quotas": 0.08, "priority classes": 0.04}


@dataclass(frozen=True, kw_only=True)
class Question:
    """One object to be created in one world."""

    world: World
    body: Json


@dataclass(frozen=True, kw_only=True)
class Family:
    """A kind of object: where it is created, how we judge it, what its answers cover."""

    name: str
    path: Callable[[World], str]
    kind: Any
    judge: Callable[[World, Any], list[Any]]
    generate: Callable[[Random], Json]
    messages: dict[str, str]
    facts: tuple[str, ...] = ()


class AdmissionSuite:
    """The suite; without a kubeconfig it starts a sandbox of its own and takes it down again."""

    name = "admission"
    full_size = 5000

    def __init__(self, kubeconfig: Path | None = None) -> None:
        self._kubeconfig = kubeconfig

    def run(self, *, seed: int, cases: int) -> list[Tally]:
        """Ask `cases` questions and count agreement, one tally per kind of object."""
        with _cluster(self._kubeconfig) as kubeconfig:
            return _Run(ApiServer(kubeconfig), seed).tallies(cases)


class _Run:
    def __init__(self, api: ApiServer, seed: int) -> None:
        self.api = api
        self.random = Random(seed)
        self.prefix = f"adm-{time.time_ns() // 10**6:x}"
        self.classes: list[PriorityClass] = []

    def tallies(self, cases: int) -> list[Tally]:
        self.api.delete(f"{_CLASSES}/usual")
        create_cluster_objects(self.api, self.prefix)
        self._learn_classes()
        worlds = create_worlds(self.api, self.random, self.prefix, max(12, min(60, cases // 40)))
        try:
            return self._ask_all(worlds, cases)
        finally:
            delete_worlds(self.api, worlds)
            self.api.delete(f"{_CLASSES}/usual")

    def _ask_all(self, worlds: list[World], cases: int) -> list[Tally]:
        sizes = {name: max(1, round(cases * share)) for name, share in _SHARES.items()}
        usage = self._usage(worlds)
        families = {family.name: family for family in self._families()}
        tallies = {name: _tally(family) for name, family in families.items()}
        quantities = self._quantities(max(1, cases - sum(sizes.values()) - usage.cases))
        for with_default in (False, True):
            if with_default:
                self.api.create(_CLASSES, _DEFAULT_CLASS)
                self._await_default()
                self._learn_classes()
            for name, family in families.items():
                half = sizes[name] // 2
                self._ask(family, tallies[name], worlds, sizes[name] - half if with_default else half)
        return [*tallies.values(), quantities, usage]

    def _families(self) -> Iterator[Family]:
        def policies(world: World) -> admission.NamespacePolicies:
            return world.policies(self.classes)

        odd = (0.0, 0.3, 0.6)
        yield Family(
            name="pods",
            path=lambda world: f"{world.path}/pods",
            kind=Pod,
            judge=lambda world, pod: admission.possible_answers(pod, policies(world)),
            generate=generate_pod,
            messages=covering.POD_ERRORS,
            facts=covering.POD_FACTS,
        )
        yield Family(
            name="claims",
            path=lambda world: f"{world.path}/persistentvolumeclaims",
            kind=PersistentVolumeClaim,
            judge=lambda world, claim: admission.admit_claim(claim, policies(world)),
            generate=generate_claim,
            messages=covering.CLAIM_ERRORS,
        )
        yield Family(
            name="limit ranges",
            path=lambda world: f"{world.path}/limitranges",
            kind=LimitRange,
            judge=lambda world, value: admission.admit_limit_range(value, policies(world)),
            generate=lambda random: generate_limit_range(random, "asked", oddness=random.choice(odd)),
            messages=covering.LIMIT_RANGE_ERRORS,
        )
        yield Family(
            name="quotas",
            path=lambda world: f"{world.path}/resourcequotas",
            kind=ResourceQuota,
            judge=lambda world, value: admission.admit_quota(value, policies(world)),
            generate=lambda random: generate_quota(random, "asked", oddness=random.choice(odd)),
            messages=covering.QUOTA_ERRORS,
        )
        yield Family(
            name="priority classes",
            path=lambda _: _CLASSES,
            kind=PriorityClass,
            judge=lambda _, value: admission.admit_priority_class(value, self.classes),
            generate=lambda random: generate_priority_class(random, "asked"),
            messages=covering.CLASS_ERRORS,
        )

    def _ask(self, family: Family, tally: Tally, worlds: list[World], cases: int) -> None:
        questions = [
            Question(world=worlds[index % len(worlds)], body=family.generate(self.random))
            for index in range(cases)
        ]
        for question, answer in self._steady_answers(family, questions):
            self._compare(family, tally, question, answer)

    def _steady_answers(self, family: Family, questions: list[Question]) -> Iterator[tuple[Question, Answer]]:
        """Answers given while the quotas stood as believed; where they were recounted, we ask again."""
        for _ in range(4):
            answers = list(in_parallel(lambda q: self._put(family, q.world, q.body), questions))
            worlds = {question.world.namespace: question.world for question in questions}
            moved = set(in_parallel(self._moved, worlds.values())) - {None}
            again = []
            for question, answer in zip(questions, answers, strict=True):
                if question.world.namespace in moved:
                    again.append(question)
                else:
                    yield question, answer
            if not again:
                return
            for name in moved:
                set_status(self.api, worlds[str(name)])
            questions = again
        raise RuntimeError("the quotas' status does not stay as it was set")

    def _moved(self, world: World) -> str | None:
        """The world's name if its quotas are no longer as they were."""
        same = status_of(read_quotas(self.api, world)) == status_of(world.quotas)
        return None if same else world.namespace

    def _put(self, family: Family, world: World, body: Json) -> Answer:
        return self.api.create(family.path(world), body, dry_run=True)

    def _compare(self, family: Family, tally: Tally, question: Question, answer: Answer) -> None:
        tally.cases += 1
        theirs = real(answer, family.kind)
        possible = [ours(each) for each in self._judge(family, question.world, question.body)]
        tally.coverage.update(self._covered(family, question, possible))
        if theirs in possible:
            tally.agreed += 1
            return

        def still_differs(body: Any) -> bool:
            try:
                mine = [ours(each) for each in self._judge(family, question.world, body)]
            except (msgspec.ValidationError, KeyError):
                return False
            return real(self._put(family, question.world, body), family.kind) not in mine

        small = shrink(question.body, still_differs)
        tally.disagreements.append(
            Disagreement(
                question={"object": small, **_rules_of(question.world)},
                ours=[ours(each) for each in self._judge(family, question.world, small)],
                real=real(self._put(family, question.world, small), family.kind),
            )
        )

    def _judge(self, family: Family, world: World, body: Json) -> list[Any]:
        return family.judge(world, msgspec.convert(body, family.kind))

    def _covered(self, family: Family, question: Question, possible: list[Form]) -> Counter[str]:
        names = set(
            covering.errors_covered([e for f in possible for e in f.get("errors", ())], family.messages)
        )
        if family.name == "pods":
            if "qosClass" in possible[0]:
                count = len(question.world.limit_ranges)
                names.update(covering.pod_facts_covered(question.body, possible[0], count))
            names.update(self._quota_facts(question, possible))
        return Counter(names)

    def _quota_facts(self, question: Question, possible: list[Form]) -> Iterator[str]:
        judged = self._judge_pod_only(question)
        if judged is None:
            return
        for each in msgspec.convert(question.world.quotas, list[ResourceQuota]):
            if quota.pod_meets(judged, each):
                yield from (f"quota: scope {scope.scope_name}" for scope in scopes(each))
            if quota.unenforced_keys(each):
                yield "quota: unenforced key"
        if sum("exceeded quota" in str(form.get("errors")) for form in possible) > 1:
            yield "quota: several refuse"

    def _judge_pod_only(self, question: Question) -> Pod | None:
        """The pod as it is when quotas look at it; nothing if it does not get that far."""
        policies = question.world.policies(self.classes)
        free = admission.NamespacePolicies(
            limit_ranges=policies.limit_ranges,
            priority_classes=policies.priority_classes,
            runtime_classes=policies.runtime_classes,
        )
        answer = admission.admit(msgspec.convert(question.body, Pod), free)
        return answer.pod if isinstance(answer, admission.Admitted) else None

    def _quantities(self, cases: int) -> Tally:
        """One quota per literal, under a name that Kubernetes owns, so that no rule but parsing applies."""
        tally = Tally(name="quantities", target=_TARGET)
        literals = [any_quantity(self.random) for _ in range(cases)]
        for text, theirs in zip(literals, in_parallel(self._ask_quantity, literals), strict=True):
            tally.cases += 1
            mine = _our_quantity(text)
            tally.coverage[mine[0]] += 1
            if mine == theirs:
                tally.agreed += 1
            else:
                tally.disagreements.append(Disagreement(question=text, ours=mine, real=theirs))
        tally.must_cover = ("stored", "negative", "unreadable")
        return tally

    def _ask_quantity(self, text: str) -> tuple[str, str]:
        body = {"metadata": {"name": "asked"}, "spec": {"hard": {"kubernetes.io/any": text}}}
        answer = self.api.create("/api/v1/namespaces/default/resourcequotas", body, dry_run=True)
        if answer.ok:
            return "stored", answer.body["spec"]["hard"]["kubernetes.io/any"]
        if answer.status == 422:
            return "negative", answer.body["details"]["causes"][0]["message"].split('"')[1]
        return "unreadable", answer.message.rpartition("ResourceQuota: ")[2]

    def _usage(self, worlds: list[World]) -> Tally:
        """What the controller counted in worlds with real pods and claims, against our count."""
        tally = Tally(name="usage counted by the controller", target=_TARGET)
        tally.must_cover = ("pods counted", "claims counted", "finished pods", "scoped")
        for world in worlds:
            pods = msgspec.convert(self.api.get(f"{world.path}/pods").body["items"], list[Pod])
            claims_path = f"{world.path}/persistentvolumeclaims"
            claims = msgspec.convert(self.api.get(claims_path).body["items"], list[PersistentVolumeClaim])
            if not pods:
                continue
            for each in msgspec.convert(world.quotas, list[ResourceQuota]):
                mine = {key: str(value) for key, value in quota.namespace_usage(each, pods, claims).items()}
                theirs = {key: each.status.used[key] for key in mine if key in each.status.used}
                tally.cases += 1
                _cover_usage(tally, each, pods, mine)
                if mine == theirs:
                    tally.agreed += 1
                else:
                    question = {"quota": msgspec.to_builtins(each.spec), "namespace": world.namespace}
                    tally.disagreements.append(Disagreement(question=question, ours=mine, real=theirs))
        return tally

    def _learn_classes(self) -> None:
        items = self.api.get(_CLASSES).body["items"]
        self.classes = msgspec.convert(items, list[PriorityClass])

    def _await_default(self) -> None:
        """Wait until admission has heard of the default class."""
        pod = {"metadata": {"name": "asked"}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
        path = f"{_CLASSES}/usual"
        self.api.wait_for(path, lambda answer: answer.ok)
        while True:
            answer = self.api.create("/api/v1/namespaces/default/pods", pod, dry_run=True)
            if answer.ok and answer.body["spec"].get("priorityClassName") == "usual":
                return


@contextmanager
def _cluster(kubeconfig: Path | None) -> Iterator[Path]:
    if kubeconfig is not None:
        yield kubeconfig
        return
    from tonnage.sandbox import SandboxRequest, down, up

    sandbox = up(SandboxRequest(name=f"admission-{os.getpid()}"))
    try:
        yield sandbox.kubeconfig
    finally:
        down(sandbox.name)


def _tally(family: Family) -> Tally:
    tally = Tally(name=family.name, target=_TARGET)
    tally.must_cover = (*family.messages, *family.facts)
    return tally


def _our_quantity(text: str) -> tuple[str, str]:
    try:
        quantity = parse_quantity(text).rounded_to_milli()
    except QuantityError as error:
        return "unreadable", str(error)
    return ("negative" if quantity.nano < 0 else "stored"), str(quantity)


def _rules_of(world: World) -> Json:
    quotas = [
        {"name": q["metadata"]["name"], "spec": q["spec"], "status": q.get("status", {})}
        for q in world.quotas
    ]
    return {"limitRanges": [lr["spec"] for lr in world.limit_ranges], "quotas": quotas}


def _cover_usage(tally: Tally, each: ResourceQuota, pods: list[Pod], mine: dict[str, str]) -> None:
    tally.coverage["pods counted"] += any(quota.is_pod_key(key) for key in mine)
    tally.coverage["claims counted"] += any(quota.is_claim_key(key) for key in mine)
    tally.coverage["finished pods"] += any(pod.status.phase in {"Succeeded", "Failed"} for pod in pods)
    tally.coverage["scoped"] += bool(scopes(each))
