"""Ask a batch of questions, compare each answer with ours, and make small what divides us."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from random import Random
from typing import Any

import msgspec

from conformance.admission import covering
from conformance.admission.comparing import Form, apart, ours, real
from conformance.admission.families import Classes, Family, Json
from conformance.admission.worlds import World, read_quotas, set_status, status_of
from conformance.apiserver import Answer, ApiServer, in_parallel
from conformance.shrinking import shrink
from conformance.suite import Disagreement, Tally
from tonnage.cluster.admission import admitting as admission
from tonnage.cluster.admission import quota
from tonnage.cluster.admission.quota_scopes import scopes
from tonnage.cluster.messages.limiting import parse_limits_broken
from tonnage.cluster.objects import Pod, ResourceQuota
from tonnage.units import parse_quantity


@dataclass(frozen=True, kw_only=True)
class Question:
    """One object to be created in one world."""

    world: World
    body: Json


@dataclass(frozen=True, kw_only=True)
class Asker:
    """One family, asked of one server while certain priority classes exist."""

    api: ApiServer
    family: Family
    classes: Classes

    def ask(self, tally: Tally, random: Random, worlds: list[World], cases: int) -> None:
        """Generate questions over all worlds and count the answers."""
        questions = [
            Question(world=worlds[index % len(worlds)], body=self.family.generate(random))
            for index in range(cases)
        ]
        for question, answer in self._steady_answers(questions):
            self._compare(tally, question, answer)

    def _steady_answers(self, questions: list[Question]) -> Iterator[tuple[Question, Answer]]:
        """Answers given while the quotas stood as believed; where they were recounted, we ask again."""
        for _ in range(4):
            answers = list(in_parallel(lambda q: self._real(q.world, q.body), questions))
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

    def _compare(self, tally: Tally, question: Question, answer: Answer) -> None:
        tally.cases += 1
        possible, theirs = self._ours(question.world, question.body), real(answer, self.family.kind)
        if theirs in possible:
            tally.agreed += 1
            tally.coverage.update(self._covered(question, theirs, possible))
        else:
            tally.disagreements.append(self._smallest(question))

    def _smallest(self, question: Question) -> Disagreement:
        world = question.world

        def still_differs(body: Any) -> bool:
            try:
                possible = self._ours(world, body)
            except (msgspec.ValidationError, KeyError):
                return False
            return real(self._real(world, body), self.family.kind) not in possible

        body = shrink(question.body, still_differs)
        said, done = apart(self._ours(world, body), real(self._real(world, body), self.family.kind))
        return Disagreement(question={"object": body, **world.rules()}, ours=said, real=done)

    def _real(self, world: World, body: Json) -> Answer:
        return self.api.create(self.family.path(world), body, dry_run=True)

    def _ours(self, world: World, body: Json) -> list[Form]:
        value = msgspec.convert(body, self.family.kind)
        return [ours(answer) for answer in self.family.judge(value, world, self.classes)]

    def _covered(self, question: Question, theirs: Form, possible: list[Form]) -> Counter[str]:
        """The rules and messages that the server's own answer, which we foretold, has exercised."""
        names = set(covering.errors_covered(theirs.get("errors", ()), self.family.messages))
        if self.family.kind is Pod:
            if "qosClass" in theirs:
                count = len(question.world.limit_ranges)
                names.update(covering.pod_facts_covered(question.body, theirs, count))
            else:
                names.update(covering.order_covered(question.body, theirs["errors"]))
                if any(map(parse_limits_broken, theirs["errors"])) and _has_no_room_for_a_pod(question.world):
                    names.add("order: limits of a LimitRange before quotas")
            names.update(self._quota_facts(question, possible))
        return Counter(names)

    def _quota_facts(self, question: Question, possible: list[Form]) -> Iterator[str]:
        pod = self._as_quotas_see_it(question)
        if pod is None:
            return
        for each in msgspec.convert(question.world.quotas, list[ResourceQuota]):
            if quota.pod_meets(pod, each):
                yield from (f"quota: scope {scope.scope_name}" for scope in scopes(each))
            if quota.unenforced_keys(each):
                yield "quota: unenforced key"
        if sum("exceeded quota" in str(form.get("errors")) for form in possible) > 1:
            yield "quota: several refuse"

    def _as_quotas_see_it(self, question: Question) -> Pod | None:
        """The pod as it is when quotas look at it; nothing if it does not get that far."""
        policies = question.world.policies(self.classes)
        free = admission.NamespacePolicies(
            limit_ranges=policies.limit_ranges,
            priority_classes=policies.priority_classes,
            runtime_classes=policies.runtime_classes,
        )
        answer = admission.admit(msgspec.convert(question.body, Pod), free)
        return answer.pod if isinstance(answer, admission.Admitted) else None


def _has_no_room_for_a_pod(world: World) -> bool:
    """Whether a quota over all pods is used up, so that it would refuse any."""
    return any(
        not scopes(each)
        and {"pods"} <= each.status.hard.keys() & each.status.used.keys()
        and parse_quantity(each.status.used["pods"]) >= parse_quantity(each.status.hard["pods"])
        for each in msgspec.convert(world.quotas, list[ResourceQuota])
    )
