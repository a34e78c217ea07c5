"""A real kube-scheduler on a bench: clusters are laid out for it, a pod is given to it, and its answer is
read.

The scheduler knows a cluster only through API objects, so nodes are plain objects that say Ready, and
pods are bound and given a status by hand. The controller manager is stopped once the namespaces have
their service accounts: its controllers would bind the claims, count the budgets anew and collect the
ownerless while the question is being asked, and what the answer refers to would be anyone's guess. The
scheduler is the released program with its default configuration.
"""

from __future__ import annotations

import http.client
import threading
import time
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from conformance.apiserver import Answer, ApiServer
from conformance.scheduling.questions import KINDS, NAMESPACES, PRIORITIES, Object, Scenario
from tonnage.sandbox import SandboxRequest, down, up
from tonnage.sandbox.processes import stop

HOLD = [{"name": "tonnage.dev/hold"}]
SETTLE_SECONDS = 0.12
"""What the scheduler's watches need to hear of objects just made; they are not ordered among each other."""
BINDING_SECONDS = 1.3
"""A placed pod has its claims bound in the background; once a second it is checked that it still exists."""
ANSWER_SECONDS = 30
VICTIM_SECONDS = 5
CHANGING = frozenset({"pods", "claims", "volumes"})
_BOTTOM_UP = (
    "classes",
    "csiDrivers",
    "csiNodes",
    "capacities",
    "volumes",
    "claims",
    "services",
    "replicaSets",
    "budgets",
)


class Refused(Exception):  # noqa: N818 - it says what happened, not that something is wrong with us
    """The API server does not take an object."""


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """What the real scheduler did: a node, or a message, or victims and a promise."""

    node: str = ""
    reason: str = ""
    message: str = ""
    nominated: str = ""
    victims: frozenset[str] = frozenset()


@dataclass
class Heard:
    """Everything the watch has told about one pod, newest last."""

    versions: list[Object] = field(default_factory=list)


class Bench:
    """One sandbox with a scheduler and nothing else that acts."""

    def __init__(self, api: ApiServer) -> None:
        self.api = api
        self._pool = ThreadPoolExecutor(8)
        self._known: dict[str, list[Object]] = {}
        self._heard: dict[str, Heard] = {}
        self._news = threading.Condition()
        self._prepare()
        threading.Thread(target=self._listen, daemon=True).start()

    def lay_out(self, scenario: Scenario) -> None:
        """Make the scenario's cluster."""
        for kind in _BOTTOM_UP:
            self._each(lambda item, kind=kind: self._make(kind, item), scenario.objects[kind])
        self._each(self._make_node, scenario.objects["nodes"])
        self._each(lambda pod: self._make("pods", pod), scenario.objects["pods"])
        leaving = [(kind, item) for kind in ("pods", "claims") for item in scenario.objects[kind]]
        self._each(lambda pair: self.api.delete(_path(*pair)), (p for p in leaving if p[1].get("leaving")))
        self._known.clear()
        time.sleep(SETTLE_SECONDS)

    def clear(self) -> None:
        """Remove everything a scenario or a question has made."""
        self._known.clear()
        for namespace in NAMESPACES:
            self._must(self.api.delete(KINDS["pods"].format(ns=namespace) + "?gracePeriodSeconds=0"))
        self._must(self.api.delete(KINDS["nodes"]))
        held = [("claims", item) for item in self.items("claims")] + [
            ("volumes", item) for item in self.items("volumes")
        ]
        self._each(self._remove_held, held)
        for kind in ("classes", "csiDrivers", "csiNodes"):
            self._must(self.api.delete(KINDS[kind]))
        for kind in ("capacities", "budgets", "replicaSets"):
            for namespace in NAMESPACES:
                self._must(self.api.delete(KINDS[kind].format(ns=namespace)))
        self._each(lambda item: self.api.delete(_path("services", item)), self.items("services"))
        with self._news:
            self._heard.clear()

    def items(self, kind: str) -> list[Object]:
        """All objects of a kind; what no question changes is read once per cluster."""
        if kind in self._known:
            return self._known[kind]
        path = "/api/v1/namespaces" if kind == "namespaces" else KINDS[kind].replace("/namespaces/{ns}", "")
        found: list[Object] = self._must(self.api.get(path)).body["items"]
        if kind == "services":
            found = [item for item in found if item["metadata"]["namespace"] in NAMESPACES]
        if kind not in CHANGING:
            self._known[kind] = found
        return found

    def prepare(self, question: Object) -> None:
        """Arrange what must stand before the pod comes: a rival, a promise, claims of its own."""
        rival = question.get("rival")
        if rival:
            self._hold(rival, rival["status"]["nominatedNodeName"], [])
            stored = self._let_go(rival)
            self._hear(stored["metadata"]["uid"], _has_answer, ANSWER_SECONDS)
        if question.get("nominated") or question.get("claims"):
            self._hold(question["pod"], question.get("nominated", ""), question.get("claims", []))
        time.sleep(SETTLE_SECONDS if rival or question.get("nominated") or question.get("claims") else 0)

    def release(self, question: Object) -> Object:
        """Give the pod to the scheduler and return it as stored."""
        pod = question["pod"]
        if question.get("nominated") or question.get("claims"):
            return self._let_go(pod)
        return self._must(self.api.create(_collection("pods", pod), pod)).body

    def verdict(self, pod: Object, expected_victims: Iterable[frozenset[str]]) -> Verdict:
        """Wait for the scheduler's answer about a pod just submitted."""
        meta = pod["metadata"]
        answered = self._hear(meta["uid"], _has_answer, ANSWER_SECONDS)
        if answered is None:
            # A watch may have been closed and opened again in between.
            now = self.api.get(_path("pods", pod)).body
            answered = now if now.get("spec") and _has_answer(now) else None
        if answered is None:
            return Verdict(reason="no answer", message=f"nothing within {ANSWER_SECONDS} s")
        status, condition = answered["status"], _condition(answered)
        if condition is None:
            return Verdict(node=answered["spec"].get("nodeName") or status.get("nominatedNodeName", ""))
        nominated = status.get("nominatedNodeName", "")
        fresh = nominated and "preemption: " not in condition.get("message", "")
        return Verdict(
            reason=condition["reason"],
            message=condition.get("message", ""),
            nominated=nominated,
            victims=self._victims(set(expected_victims)) if fresh else frozenset(),
        )

    def withdraw(self, question: Object, verdict: Verdict) -> None:
        """Take the asked pod (and its rival) away again."""
        for pod in (question["pod"], question.get("rival")):
            if pod:
                self.api.delete(_path("pods", pod) + "?gracePeriodSeconds=0")
        if verdict.node and question["pod"]["spec"].get("volumes"):
            time.sleep(BINDING_SECONDS)

    def preempted(self) -> frozenset[str]:
        """Pods the scheduler has sent away: their names.

        The mark alone is not enough: it is set before the pod is deleted, and if the preempting pod is taken
        away in between, the deletion never comes.
        """
        return frozenset(
            pod["metadata"]["name"]
            for pod in self.items("pods")
            if pod["metadata"].get("deletionTimestamp")
            and any(map(_is_mark, pod["status"].get("conditions", ())))
        )

    def _victims(self, expected: set[frozenset[str]]) -> frozenset[str]:
        """The newly preempted: as soon as they are some expected set, else what they are after a while."""
        give_up = time.monotonic() + VICTIM_SECONDS
        while True:
            now = self.preempted() - self._gone_before
            if now in expected or time.monotonic() > give_up:
                return now
            time.sleep(0.02)

    def remember_victims(self) -> None:
        """Whoever was sent away before this question is not its victim."""
        self._gone_before = self.preempted()

    def _hold(self, pod: Object, nominated: str, claims: list[Object]) -> None:
        """Keep the pod back by a gate while its status and its own claims are arranged."""
        wanted = {key: part for key, part in pod.items() if key != "status"}
        held = {**wanted, "spec": {**pod["spec"], "schedulingGates": HOLD}}
        stored = self._must(self.api.create(_collection("pods", pod), held)).body
        owner = {
            "apiVersion": "v1", "kind": "Pod", "controller": True,
            "name": stored["metadata"]["name"], "uid": stored["metadata"]["uid"],
        }  # fmt: skip
        for claim in claims:
            metadata = claim["metadata"] | ({"ownerReferences": [owner]} if claim.get("own") else {})
            self._make("claims", {**claim, "metadata": metadata})
        if nominated:
            patch = {"status": {"nominatedNodeName": nominated}}
            self._must(self.api.patch(_path("pods", pod) + "/status", patch))

    def _let_go(self, pod: Object) -> Object:
        gates = pod["spec"].get("schedulingGates")
        return self._must(self.api.patch(_path("pods", pod), {"spec": {"schedulingGates": gates}})).body

    def _make(self, kind: str, item: Object) -> None:
        wanted = {key: part for key, part in item.items() if key not in {"leaving", "own", "status"}}
        self._must(self.api.create(_collection(kind, item), wanted))
        if "status" in item:
            self._must(self.api.patch(_path(kind, item) + "/status", {"status": item["status"]}))

    def _make_node(self, node: Object) -> None:
        """Admission taints every new node as not ready; the real taints are laid over it."""
        self._must(self.api.create(KINDS["nodes"], node))
        taints = node.get("spec", {}).get("taints", [])
        self._must(self.api.patch(_path("nodes", node), {"spec": {"taints": taints}}))

    def _remove_held(self, pair: tuple[str, Object]) -> None:
        path = _path(*pair)
        self.api.patch(path, {"metadata": {"finalizers": None}})
        self.api.delete(path)

    def _prepare(self) -> None:
        for name, labels in NAMESPACES.items():
            self.api.create("/api/v1/namespaces", {"metadata": {"name": name, "labels": labels}})
            account = f"/api/v1/namespaces/{name}/serviceaccounts/default"
            self.api.wait_for(account, lambda answer: answer.ok)
        classes: dict[str, Object] = {name: {"value": value} for name, value in PRIORITIES.items()}
        classes["meek"] = {"value": PRIORITIES["top"], "preemptionPolicy": "Never"}
        for name, body in classes.items():
            made = {"metadata": {"name": name}, **body}
            self.api.create("/apis/scheduling.k8s.io/v1/priorityclasses", made)
        heavy = {"cpu": "250m", "memory": "120Mi"}
        runtime = {"metadata": {"name": "heavy"}, "handler": "heavy", "overhead": {"podFixed": heavy}}
        self.api.create("/apis/node.k8s.io/v1/runtimeclasses", runtime)

    def _listen(self) -> None:
        while True:
            try:
                for event in self.api.watch("/api/v1/pods"):
                    pod = event.get("object", {})
                    uid = pod.get("metadata", {}).get("uid")
                    with self._news:
                        if uid:
                            self._heard.setdefault(uid, Heard()).versions.append(pod)
                        self._news.notify_all()
            except (OSError, http.client.HTTPException):
                return  # the sandbox is gone

    def _hear(self, uid: str, wanted: Any, seconds: float) -> Object | None:
        """The first version of the pod that is as wanted."""
        give_up = time.monotonic() + seconds
        with self._news:
            while True:
                for version in self._heard.get(uid, Heard()).versions:
                    if wanted(version):
                        return version
                left = give_up - time.monotonic()
                if left <= 0 or not self._news.wait(left):
                    return None

    def _each(self, do: Any, items: Iterable[Any]) -> None:
        for _ in self._pool.map(do, items):
            pass

    def _must(self, answer: Answer) -> Answer:
        if not answer.ok:
            raise Refused(f"{answer.status} {answer.message}")
        return answer

    _gone_before: frozenset[str] = frozenset()


@contextmanager
def open_bench(name: str) -> Iterator[Bench]:
    """A sandbox with nothing but an API server and a scheduler, for as long as needed."""
    sandbox = up(SandboxRequest(name=name))
    try:
        bench = Bench(ApiServer(sandbox.kubeconfig))
        stop(sandbox, "kube-controller-manager")
        bench.clear()
        yield bench
    finally:
        down(name)


def _has_answer(pod: Object) -> bool:
    condition, gates = _condition(pod), pod["spec"].get("schedulingGates")
    if condition is not None:
        return condition["reason"] != "SchedulingGated" or bool(gates and gates != HOLD)
    return not gates and bool(pod["spec"].get("nodeName") or pod["status"].get("nominatedNodeName"))


def _condition(pod: Object) -> Object | None:
    for condition in pod["status"].get("conditions", ()):
        if condition["type"] == "PodScheduled" and condition["status"] == "False":
            found: Object = condition
            return found
    return None


def _is_mark(condition: Object) -> bool:
    by_scheduler = condition.get("message", "").endswith("to accommodate a higher priority pod")
    return condition["type"] == "DisruptionTarget" and bool(by_scheduler)


def _collection(kind: str, item: Object) -> str:
    return KINDS[kind].format(ns=item["metadata"].get("namespace", ""))


def _path(kind: str, item: Object) -> str:
    return f"{_collection(kind, item)}/{item['metadata']['name']}"
