"""The workbench: one real node in a sandbox of its own, and the few moves every case is made of.

Pods are bound to the node by name unless a case is about scheduling, so that what is judged is the node's
own doing. Everything read comes from the API server, the kubelet's statistics through it, or the node's
cgroups.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from conformance.apiserver import Answer, ApiServer
from tonnage.cluster.node.usage import PodUsage, StatsSummary
from tonnage.cluster.objects import Event, Job, Node, Pod, PodDisruptionBudget
from tonnage.sandbox import realnode
from tonnage.sandbox.state import Sandbox

Json = dict[str, Any]
CLASSES = {"urgent": 1000, "usual": 0, "spare": -10}
HOLD = "tonnage.dev/hold"
"""A finalizer that keeps a deleted pod readable until we have read it."""


@dataclass(frozen=True)
class Bench:
    """What a case may use."""

    sandbox: Sandbox
    api: ApiServer
    node_name: str
    namespace: str
    """One per run, so that no event of an earlier one is mistaken for ours."""

    @classmethod
    def on(cls, sandbox: Sandbox) -> Bench:
        """Prepare the sandbox's first real node: a namespace and three priority classes."""
        # msgspec learns a type at its first use, and crashes when two threads make it learn at the same time.
        for kind in (Pod, Node, Job, Event, PodDisruptionBudget, StatsSummary, PodUsage):
            msgspec.convert({}, kind)
        namespace = f"nodes-{int(time.time()):x}"
        bench = cls(sandbox, ApiServer(sandbox.kubeconfig), realnode.nodes_of(sandbox)[0].name, namespace)
        bench.must(bench.api.create("/api/v1/namespaces", {"metadata": {"name": namespace}}))
        for name, value in CLASSES.items():
            body = {"metadata": {"name": name}, "value": value}
            bench.must(bench.api.create("/apis/scheduling.k8s.io/v1/priorityclasses", body), 409)
        account = f"/api/v1/namespaces/{namespace}/serviceaccounts/default"
        bench.api.wait_for(account, lambda answer: answer.ok)
        return bench

    @property
    def pods(self) -> str:
        return f"/api/v1/namespaces/{self.namespace}/pods"

    @property
    def jobs(self) -> str:
        return f"/apis/batch/v1/namespaces/{self.namespace}/jobs"

    @property
    def budgets(self) -> str:
        return f"/apis/policy/v1/namespaces/{self.namespace}/poddisruptionbudgets"

    @property
    def real_node(self) -> realnode.RealNode:
        return realnode.node_called(self.sandbox, self.node_name)

    @property
    def cgroup_version(self) -> int:
        return 2 if Path("/sys/fs/cgroup/cgroup.controllers").exists() else 1

    def node(self) -> Node:
        return msgspec.convert(self.must(self.api.get(f"/api/v1/nodes/{self.node_name}")).body, Node)

    def pods_here(self) -> list[Pod]:
        """Every pod bound to the node, in any namespace."""
        body = self.must(self.api.get(f"/api/v1/pods?fieldSelector=spec.nodeName={self.node_name}")).body
        return [msgspec.convert(item, Pod) for item in body["items"]]

    def summary(self) -> StatsSummary:
        """The kubelet's statistics, as eviction sees them."""
        body = self.must(self.api.get(f"/api/v1/nodes/{self.node_name}/proxy/stats/summary")).body
        return msgspec.convert(body, StatsSummary)

    def create(self, manifest: Json) -> Pod:
        """Create a pod on the node."""
        return msgspec.convert(self.must(self.api.create(self.pods, manifest)).body, Pod)

    def pod(self, name: str) -> Pod:
        return msgspec.convert(self.must(self.api.get(f"{self.pods}/{name}")).body, Pod)

    def await_pod(self, name: str, done: Callable[[Pod], bool], *, seconds: float = 60) -> Pod:
        """Read the pod until it is as wanted; a pod that never is comes back as it last was."""
        give_up = time.monotonic() + seconds
        while not done(pod := self.pod(name)) and time.monotonic() < give_up:
            time.sleep(0.2)
        return pod

    def run(self, manifest: Json, *, seconds: float = 60) -> Pod:
        """Create a pod and wait for its end."""
        created = self.create(manifest)
        return self.await_pod(created.metadata.name, finished, seconds=seconds)

    def job(self, manifest: Json, *, seconds: float = 90) -> tuple[Job, list[Pod]]:
        """Create a Job, wait for its end, return it with all its pods."""
        name = manifest["metadata"]["name"]
        self.must(self.api.create(self.jobs, manifest))
        return self.await_job(name, seconds=seconds), self.pods_of(name)

    def await_job(self, name: str, *, seconds: float = 90) -> Job:
        """Read the Job until it is over; one that never is comes back as it last was."""
        give_up = time.monotonic() + seconds
        while not _job_over(job := self.read_job(name)) and time.monotonic() < give_up:
            time.sleep(0.3)
        return job

    def read_job(self, name: str) -> Job:
        return msgspec.convert(self.must(self.api.get(f"{self.jobs}/{name}")).body, Job)

    def pods_of(self, job: str) -> list[Pod]:
        body = self.must(self.api.get(f"{self.pods}?labelSelector=job-name={job}")).body
        return [msgspec.convert(item, Pod) for item in body["items"]]

    def budget(self, name: str) -> PodDisruptionBudget:
        return msgspec.convert(self.must(self.api.get(f"{self.budgets}/{name}")).body, PodDisruptionBudget)

    def events(self, about: str, *, namespace: str | None = None) -> list[Event]:
        """Events about an object, oldest first."""
        folder = f"/api/v1/namespaces/{namespace or self.namespace}/events"
        path = f"{folder}?fieldSelector=involvedObject.name={about}"
        found = [msgspec.convert(item, Event) for item in self.must(self.api.get(path)).body["items"]]
        return sorted(found, key=lambda event: event.first_timestamp or event.event_time or "")

    def await_event(self, about: str, reason: str, *, seconds: float = 10) -> Event | None:
        """The first event of that reason; events are written a little after what they tell of."""
        give_up = time.monotonic() + seconds
        while time.monotonic() < give_up:
            for event in self.events(about):
                if event.reason == reason:
                    return event
            time.sleep(0.2)
        return None

    def resize(self, name: str, *containers: Json) -> Answer:
        """Ask for an in-place resize."""
        body = {"spec": {"containers": list(containers)}}
        kind = "application/strategic-merge-patch+json"
        return self.api.ask("PATCH", f"{self.pods}/{name}/resize", body, kind)

    def evict(self, name: str) -> Answer:
        """Ask the Eviction API."""
        body = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": name}}
        return self.api.create(f"{self.pods}/{name}/eviction", body)

    def delete(self, *names: str) -> None:
        """Remove pods now, finalizers and all."""
        for name in names:
            self.api.patch(f"{self.pods}/{name}", {"metadata": {"finalizers": None}})
            self.api.ask("DELETE", f"{self.pods}/{name}", {"gracePeriodSeconds": 0})

    def clear(self) -> None:
        """Empty the namespace and wait until the node holds no pod of ours."""
        for path in (self.jobs, self.budgets):
            self.api.ask("DELETE", path, {"propagationPolicy": "Background"})
        for item in self.must(self.api.get(self.pods)).body["items"]:
            self.delete(item["metadata"]["name"])
        self.api.wait_for(self.pods, lambda answer: not answer.body.get("items"), seconds=60)

    def leave(self) -> None:
        """Empty the namespace and remove it."""
        self.clear()
        self.api.delete(f"/api/v1/namespaces/{self.namespace}")

    def settle(self, *, seconds: float = 30) -> None:
        """Wait until the kubelet too has forgotten our pods."""
        give_up = time.monotonic() + seconds
        while time.monotonic() < give_up:
            if not any(usage.pod_ref.namespace == self.namespace for usage in self.summary().pods):
                return
            time.sleep(0.5)

    def must(self, answer: Answer, *allowed: int) -> Answer:
        """The answer, or an error that says what was refused."""
        if not answer.ok and answer.status not in allowed:
            raise RuntimeError(f"the API server answered {answer.status}: {answer.message}")
        return answer


def finished(pod: Pod) -> bool:
    return pod.status.phase in {"Succeeded", "Failed"}


def is_running(pod: Pod) -> bool:
    return pod.status.phase == "Running" and all(s.state.running for s in pod.status.container_statuses)


def _job_over(job: Job) -> bool:
    return any(c.type in {"Complete", "Failed"} and c.status == "True" for c in job.status.conditions)


def warnings(events: Iterable[Event], *reasons: str) -> list[str]:
    """Texts of the events with these reasons, each once, oldest first."""
    return list(dict.fromkeys(event.message for event in events if event.reason in reasons))
