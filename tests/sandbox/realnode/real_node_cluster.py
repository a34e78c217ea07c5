"""A sandbox with two real nodes, as tests speak to it: run a pod, wait for its end, read what it said."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

from tonnage.sandbox import realnode
from tonnage.sandbox.realnode import RealNode
from tonnage.sandbox.realnode.requirements import missing_packages
from tonnage.sandbox.state import Sandbox

Object = dict[str, Any]
PODS = "/api/v1/namespaces/default/pods"


def a_pod(name: str, *command: str, image: str = "local/python:3", **spec: Any) -> Object:
    """A pod of one container that runs once; `resources` and `mounts` go to the container."""
    container: Object = {"name": "main", "image": image, **({"command": list(command)} if command else {})}
    for field, key in (("resources", "resources"), ("mounts", "volumeMounts"), ("env", "env")):
        if field in spec:
            container[key] = spec.pop(field)
    spec = {"restartPolicy": "Never", "terminationGracePeriodSeconds": 0, "containers": [container], **spec}
    labels = {"app": name}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "labels": labels}, "spec": spec}


def python(*lines: str) -> tuple[str, ...]:
    """The command that runs these lines."""
    return ("python3", "-c", "\n".join(lines))


@dataclass(frozen=True)
class LiveCluster:
    """The sandbox and the few things tests do with it."""

    sandbox: Sandbox
    seconds_to_start: float

    @property
    def nodes(self) -> tuple[RealNode, ...]:
        return realnode.nodes_of(self.sandbox)

    def create(self, *objects: Object) -> None:
        for item in objects:
            self.sandbox.api.create(item)

    def run(self, pod: Object, seconds: float = 40) -> Object:
        """Create a pod and return it when it has ended."""
        self.create(pod)
        return self.finished(pod["metadata"]["name"], seconds)

    def finished(self, name: str, seconds: float = 40) -> Object:
        return self.pod_when(name, lambda pod: pod["status"].get("phase") in ("Succeeded", "Failed"), seconds)

    def running(self, name: str, seconds: float = 40) -> Object:
        return self.pod_when(name, is_ready, seconds)

    def pod_when(self, name: str, holds: Callable[[Object], bool], seconds: float = 40) -> Object:
        try:
            return self.sandbox.api.wait(f"{PODS}/{name}", holds, seconds=seconds)
        except TimeoutError as late:
            events = self.sandbox.api.get(
                f"/api/v1/namespaces/default/events?fieldSelector=involvedObject.name={name}"
            )
            said = [f"{event['reason']}: {event['message']}" for event in events["items"]]
            raise AssertionError(f"{late}\n" + "\n".join(said)) from late

    def node_when(self, name: str, holds: Callable[[Object], bool], seconds: float = 60) -> Object:
        return self.sandbox.api.wait(f"/api/v1/nodes/{name}", holds, seconds=seconds)

    def logs(self, name: str) -> str:
        return self.kubectl("logs", name)

    def delete(self, name: str) -> None:
        """Delete a pod and return when it is gone."""
        self.sandbox.api.delete(f"{PODS}/{name}")
        deadline = time.monotonic() + 30
        while self.sandbox.api.exists(f"{PODS}/{name}"):
            assert time.monotonic() < deadline, f"pod {name} is still there"
            time.sleep(0.1)

    def kubectl(self, *arguments: str) -> str:
        command = [
            str(self.sandbox.binary("kubectl")),
            "--kubeconfig",
            str(self.sandbox.kubeconfig),
            *arguments,
        ]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout


def is_ready(thing: Object) -> bool:
    """Whether a pod or a node reports Ready."""
    conditions = thing.get("status", {}).get("conditions", [])
    return any(condition["type"] == "Ready" and condition["status"] == "True" for condition in conditions)


def ended(pod: Object) -> Object:
    """How the pod's only container ended."""
    state: Object = pod["status"]["containerStatuses"][0]["state"]["terminated"]
    return state


def require_a_machine_for_real_nodes() -> None:
    """Skip without root, which a machine has or has not; fail without the packages, which it can have."""
    if os.geteuid() != 0:
        pytest.skip("real nodes need root")
    assert not missing_packages(), f"install these packages first: {sorted(set(missing_packages().values()))}"
