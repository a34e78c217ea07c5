"""One training on real nodes: a namespace of its own, a volume both nodes reach, the real `tonnage run --on`.

The volume is a folder of this machine that pods of either node mount, as a network file system would be. What a pod
runs is seen from outside as processes of this machine, found by the variables they were started with.
"""

from __future__ import annotations

import json
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from survival.machine.bench import TRAININGS, Bench, NotSeenError, by_order
from tonnage.local.processes import PROC, Identity
from tonnage.sandbox import realnode
from tonnage.sandbox.realnode import RealNode
from tonnage.sandbox.state import Sandbox
from tonnage_agent.contract import RECORD_FILE, attempt_folder

Object = dict[str, Any]
IMAGE = "local/python:3"
CLAIM = "ckpt"
LAUNCHER = 99
"""Stands for the pod that starts ranks and is none."""
SPOT_LABEL = "karpenter.sh/capacity-type"


@dataclass
class NodesBench(Bench):
    """See the module."""

    sandbox: Sandbox = field(kw_only=True)
    namespace: str = field(kw_only=True)
    name: str = "survivor"
    is_spot: bool = False
    """Whether both nodes are spot capacity for the time of this case."""
    seconds: float = 600.0
    _restoring: list[Callable[[], object]] = field(default_factory=list, repr=False)

    # -- setting up

    def prepare(self) -> None:
        """The namespace, and the volume with its claim."""
        self.volume.mkdir(parents=True)
        self.volume.chmod(0o777)
        for item in self._objects():
            self.sandbox.api.create(item)
        claim = f"/api/v1/namespaces/{self.namespace}/persistentvolumeclaims/{CLAIM}"
        self.sandbox.api.wait(claim, lambda found: found["status"].get("phase") == "Bound")
        if self.is_spot:
            self.kubectl("label", "nodes", "-l", "tonnage.dev/real-node", f"{SPOT_LABEL}=spot")

    def _objects(self) -> Iterator[Object]:
        name = f"{self.namespace}-{CLAIM}"
        size, modes = {"storage": "1Gi"}, ["ReadWriteMany"]
        yield {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": self.namespace}}
        yield {
            "apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": name},
            "spec": {
                "capacity": size, "accessModes": modes, "storageClassName": "shared",
                "persistentVolumeReclaimPolicy": "Retain", "hostPath": {"path": str(self.volume)},
                "claimRef": {"namespace": self.namespace, "name": CLAIM},
            },
        }  # fmt: skip
        yield {
            "apiVersion": "v1", "kind": "PersistentVolumeClaim",
            "metadata": {"name": CLAIM, "namespace": self.namespace},
            "spec": {
                "accessModes": modes, "storageClassName": "shared", "volumeName": name,
                "resources": {"requests": size},
            },
        }  # fmt: skip

    @property
    def volume(self) -> Path:
        return self.folder / "volume"

    @property
    def trouble(self) -> Path:
        return self.volume / "trouble"

    @property
    def journal_file(self) -> Path:
        return self.volume / "journal"

    def write(self, spec: Object, env: dict[str, str], script: str = "spirals.py") -> Path:
        """The document, and beside it the code that is shipped."""
        project = self.folder / self.name
        project.mkdir(exist_ok=True)
        (project / script).write_text((TRAININGS / script).read_text())
        self.trouble.mkdir(mode=0o777, exist_ok=True)
        said = {"JOURNAL": "/checkpoints/journal", "TROUBLE": "/checkpoints/trouble", **env}
        document = {
            "apiVersion": "tonnage.dev/v1alpha1",
            "kind": "Run",
            "metadata": {"name": self.name, "namespace": self.namespace},
            "spec": {"code": ".", "image": IMAGE, "cpu": "0.2", "disk": "512Mi", **spec, "env": said},
        }
        path = project / "run.yaml"
        path.write_text(yaml.safe_dump(document, sort_keys=False))
        return path

    def start(self, document: Path, *more: str) -> None:
        words = ("run", str(document), "--on", f"sandbox:{self.sandbox.name}", "--detach", "--yes", *more)
        started = self.tonnage(*words)
        if started.returncode != 0:
            raise NotSeenError(f"it was not started: {started.stderr.strip()}")

    killed = frozenset(("EXT-01",))  # the agent counts, as far as it lives: `both` says otherwise

    # -- looking

    def checkpoints(self) -> list[Path]:
        return sorted((path for path in self.volume.glob("*/step-*") if path.is_dir()), key=by_order)

    def black_box(self, attempt: int, node: int = 0) -> Object | None:
        lineage = self.record().launching.lineage
        path = self.volume / ".tonnage" / lineage / attempt_folder(attempt, node) / RECORD_FILE
        with suppress(OSError, ValueError):
            return dict(json.loads(path.read_text()))
        return None

    def pods(self, attempt: int | None = None) -> list[Object]:
        """Pods of the run, of one attempt or all."""
        found: list[Object] = self.sandbox.api.get(f"/api/v1/namespaces/{self.namespace}/pods")["items"]
        mine = [pod for pod in found if pod["metadata"]["name"].startswith(f"{self.name}-")]
        if attempt is None:
            return mine
        return [pod for pod in mine if f"-a{attempt}-" in f"{pod['metadata']['name']}-"]

    def pod(self, attempt: int, node: int = 0) -> Object:
        """The pod of one rank that is there now."""
        for pod in self.pods(attempt):
            labels = pod["metadata"].get("labels", {})
            index = next((labels[key] for key in _INDICES if key in labels), "0")
            if labels.get(_ROLE) == "launcher":
                index = str(LAUNCHER)
            if int(index) == node and "deletionTimestamp" not in pod["metadata"]:
                return pod
        raise NotSeenError(f"attempt {attempt} has no pod {node}")

    def node_of(self, attempt: int, node: int = 0) -> RealNode:
        name = self.pod(attempt, node)["spec"]["nodeName"]
        return realnode.node_called(self.sandbox, name)

    def family(self, attempt: int, node: int = 0) -> list[Identity]:
        """The processes of one pod, agent first, as this machine sees them."""
        wanted = {
            f"TONNAGE_ATTEMPT={attempt}".encode(),
            f"TONNAGE_RECORD=/checkpoints/.tonnage/{self.record().launching.lineage}".encode(),
        }
        found: dict[int, int] = {}
        name = self.pod(attempt, node)["metadata"]["name"].encode()
        for entry in PROC.iterdir():
            if not entry.name.isdecimal():
                continue
            with suppress(OSError):
                said = set((entry / "environ").read_bytes().split(b"\0"))
                if wanted <= said and b"HOSTNAME=" + name[:63] in said:
                    parent = (entry / "stat").read_text().rpartition(")")[2].split()[1]
                    found[int(entry.name)] = int(parent)
        first = sorted(found, key=lambda pid: (found[pid] in found, pid))
        return [who for pid in first if (who := Identity.of(pid)) is not None]

    def agent(self, attempt: int, node: int = 0) -> Identity | None:
        return next(iter(self.family(attempt, node)), None)

    def trainers(self, attempt: int, node: int = 0) -> list[Identity]:
        return self.family(attempt, node)[1:]

    def kubectl(self, *words: str, check: bool = True) -> str:
        command = [str(self.sandbox.binary("kubectl")), "--kubeconfig", str(self.sandbox.kubeconfig), *words]
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
        if check and done.returncode != 0:
            raise NotSeenError(f"kubectl {words[0]}: {done.stderr.strip()}")
        return done.stdout

    def wait_node(self, name: str, is_so: Callable[[Object], bool]) -> None:
        self.wait(f"node {name}", lambda: is_so(self.sandbox.api.get(f"/api/v1/nodes/{name}")))

    def evict(self, pod: str) -> None:
        """Ask the API server to evict a pod, as a drain does."""
        meta = {"name": pod, "namespace": self.namespace}
        body = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": meta}
        path = f"/api/v1/namespaces/{self.namespace}/pods/{pod}/eviction"
        self.kubectl("create", "--raw", path, "-f", str(self._file("eviction.json", json.dumps(body))))

    def _file(self, name: str, text: str) -> Path:
        path = self.folder / name
        path.write_text(text)
        return path

    # -- leaving

    def later(self, restore: Callable[[], object]) -> None:
        """What puts the cluster right again, once the next attempt runs."""
        self._restoring.append(restore)

    def settle(self, seconds: float = 20.0) -> None:
        """Wait until the last pods are gone."""
        give_up = time.monotonic() + seconds
        while list(self.left()) and time.monotonic() < give_up:
            time.sleep(0.3)

    def put_right(self) -> None:
        """Undo what injuries did to the cluster."""
        while self._restoring:
            self._restoring.pop()()

    def left(self) -> Iterator[str]:
        """Pods that still run when the run is over."""
        for pod in self.pods():
            if pod.get("status", {}).get("phase") in ("Pending", "Running"):
                yield f"pod {pod['metadata']['name']} is {pod['status']['phase']}"

    def close(self) -> None:
        """Stop the supervisor and take the namespace away."""
        self.put_right()
        lock = self.home / "runs" / str(self.run_id) / "lock"
        if lock.exists() and (who := self.supervisor()) is not None:
            who.signal(signal.SIGKILL)
        if self._store is not None:
            self._store.close()
        if self.is_spot:
            self.kubectl("label", "nodes", "-l", "tonnage.dev/real-node", f"{SPOT_LABEL}-", check=False)
        self.kubectl("delete", "namespace", self.namespace, "--wait=false", check=False)
        self.kubectl("delete", "pv", f"{self.namespace}-{CLAIM}", "--wait=false", check=False)
        self.kubectl("delete", "pods", "-n", self.namespace, "--all", "--force", "--wait=false", check=False)
        time.sleep(0.5)


_ROLE = "training.kubeflow.org/replica-type"
_INDICES = (
    "batch.kubernetes.io/job-completion-index",
    "training.kubeflow.org/replica-index",
    "jobset.sigs.k8s.io/job-index",
)


def is_ready(node: Object) -> bool:
    return any(each["type"] == "Ready" and each["status"] == "True" for each in node["status"]["conditions"])
