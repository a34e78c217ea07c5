"""Two benches for one suite: a small script run on this machine, and the same on a real node of a sandbox."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, Protocol

import msgspec

from tonnage.cluster.port import Target
from tonnage.kube.client import KubeClient
from tonnage.kube.kubeconfig import find_access
from tonnage.kube.running.api import Ref, RunApi
from tonnage.kube.running.place import KubePlace
from tonnage.kube.running.setting import KubeSetting
from tonnage.local.place import LocalPlace
from tonnage.local.starting import Setting
from tonnage.manifests import ClusterFacts, Planned
from tonnage.running.history import Launching
from tonnage.running.observing import Observation
from tonnage.running.port import RunPlace
from tonnage.shipping import files_to_ship, pack
from tonnage.spec.loading import load_one
from tonnage.spec.run import Run
from tonnage.supervising.opening import agent_archive
from tonnage_agent.packing import packed

MIB = 1024**2


class Bench(Protocol):
    """A place to try a script at."""

    seconds: float

    def run(self, script: str, *, nodes: int = 1, grace: float = 5.0) -> RunPlace:
        """The place of a run whose command is this script."""

    def again(self) -> RunPlace:
        """The same place, as the next supervisor makes it."""

    def lose(self) -> None:
        """Take the running attempt away without a word, as a node that dies would."""

    def close(self) -> None:
        """Leave nothing."""


def document(command: str, nodes: int, image: str = "") -> str:
    return f"""
apiVersion: tonnage.dev/v1alpha1
kind: Run
metadata: {{name: bench}}
spec:
  command: [{command}, train.py]
  code: .
  image: {image or '""'}
  nodes: {nodes}
  env: {{TONNAGE_SAMPLE_SECONDS: "0.1"}}
  checkpoints: {{to: pvc/ckpt, every: 1s, grace: 5s}}
"""


def launching(text: str, folder: Path, grace: float) -> Launching:
    return Launching(
        document=text, folder=str(folder), lineage="bench-1", grace_seconds=grace, checkpoint_every=0.2
    )


class LocalBench:
    """This machine."""

    seconds = 30.0

    def __init__(self, folder: Path) -> None:
        self.folder, self.home = folder, folder / "home"
        self._setting: Setting | None = None

    def run(self, script: str, *, nodes: int = 1, grace: float = 5.0) -> RunPlace:
        (self.folder / "train.py").write_text(script)
        text = document(sys.executable, nodes).replace('  image: ""\n', "")
        archive = agent_archive(self.home)
        self._setting = Setting(
            run_id=1,
            run=load_one(text, "run.yaml", Run),
            launching=launching(text, self.folder, grace),
            home=self.home,
            agent=(sys.executable, str(archive), "run", "--"),
            agent_path=str(archive),
            environment={"PATH": os.environ["PATH"]},
        )
        return self.again()

    def again(self) -> RunPlace:
        assert self._setting is not None
        return LocalPlace(self._setting)

    def lose(self) -> None:
        import json
        import signal

        who = json.loads((self.home / "runs/1/attempt-1/node-0/shim.json").read_text())
        for name in ("shim", "main"):
            os.kill(who[name]["pid"], signal.SIGKILL)

    def close(self) -> None:
        for folder in (self.home / "runs" / "1").glob("attempt-*"):
            number = int(folder.name.rpartition("-")[2])
            place = self.again()
            place.stop(number, 0.0)
            wait(place, number, lambda seen: seen.state in ("ended", "absent"), 20.0)


class KubeBench:
    """A namespace of a sandbox with real nodes."""

    seconds = 90.0

    def __init__(self, folder: Path, kubeconfig: Path, namespace: str) -> None:
        self.folder, self.namespace = folder, namespace
        self.client = KubeClient(find_access(os.environ, kubeconfig=kubeconfig))
        self.api = RunApi(self.client, namespace)
        self.api.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}})
        claim = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
        self.api.apply(self._object("PersistentVolumeClaim", "ckpt", spec=claim))
        self._setting: KubeSetting | None = None
        self._places: list[KubePlace] = []

    def _object(self, kind: str, name: str, **body: Any) -> dict[str, Any]:
        meta = {"name": name, "namespace": self.namespace}
        return {"apiVersion": "v1", "kind": kind, "metadata": meta, **body}

    def run(self, script: str, *, nodes: int = 1, grace: float = 5.0) -> RunPlace:
        (self.folder / "train.py").write_text(script)
        text = document("python3", nodes, "local/python:3")
        planned = Planned(
            memory=256 * MIB, memory_request=64 * MIB, cpu=1000, cpu_request=50, shm=16 * MIB, nodes=nodes
        )
        rendering = {"planned": msgspec.to_builtins(planned), "facts": msgspec.to_builtins(ClusterFacts())}
        self._setting = KubeSetting(
            run=load_one(text, "run.yaml", Run),
            launching=replace(
                launching(text, self.folder, grace), rendering=rendering, namespace=self.namespace
            ),
            target=Target("sandbox", "bench"),
            folder=self.folder / "seen",
            agent=packed(),
            code=pack(files_to_ship(self.folder, ("seen/", "home/"))).content,
            identity="bench",
        )
        return self.again()

    def again(self) -> RunPlace:
        assert self._setting is not None
        for place in self._places:
            place.let_go()
        self._places = [KubePlace(self.client, self._setting, acts=True)]
        return self._places[0]

    def lose(self) -> None:
        for pod in self.api.pods({"tonnage.dev/run": "bench"}):
            self.api.delete(Ref("v1", "Pod", pod["metadata"]["name"]), grace=0)

    def close(self) -> None:
        for place in self._places:
            place.let_go()
        self.api.delete(Ref("v1", "Namespace", self.namespace))
        self.client.close()


def wait(
    place: RunPlace, number: int, until: Callable[[Observation], bool], seconds: float = 30.0
) -> Observation:
    """Look until something is so."""
    give_up = time.monotonic() + seconds
    while True:
        seen = place.observe(number)
        if until(seen):
            return seen
        assert time.monotonic() < give_up, f"still {seen}; {place.logs(number)}"
        time.sleep(0.1)
