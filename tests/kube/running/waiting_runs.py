"""Runs on a cluster of simulated nodes: planned by the command's own planning, launched by the place."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tonnage.cli.run_planning import Planned, plan_run
from tonnage.kube.running.api import RunApi
from tonnage.kube.running.place import KubePlace
from tonnage.running.observing import Observation

DOCUMENT = """
apiVersion: tonnage.dev/v1alpha1
kind: Run
metadata: {{name: {name}}}
spec:
  image: registry.example/train:1
  command: [python3, train.py]
  framework: torch
  nodes: {nodes}
  gpus: {gpus}
  cpu: 8
  memory: {memory}
  disk: 10Gi
  env: {{}}
{extra}"""


def planned(folder: Path, on: str, namespace: str, **values: Any) -> Planned:
    """One document, at any size."""
    filled = {"name": "waits", "nodes": 1, "gpus": 1, "memory": "32Gi", "extra": "", **values}
    path = folder / f"{filled['name']}.yaml"
    path.write_text(DOCUMENT.format(**filled))
    return plan_run(str(path), on=on, namespace=namespace, probe=None)


def wait(place: KubePlace, until: Callable[[Observation], bool], seconds: float = 40.0) -> Observation:
    give_up = time.monotonic() + seconds
    while True:
        seen = place.observe(1)
        if until(seen):
            return seen
        assert time.monotonic() < give_up, f"still {seen}"
        time.sleep(0.3)


def make(api: RunApi, kind: str, name: str, api_version: str = "v1", **body: Any) -> None:
    namespaced = (
        {"namespace": api.namespace} if kind not in ("Namespace", "ClusterQueue", "ResourceFlavor") else {}
    )
    api.apply({"apiVersion": api_version, "kind": kind, "metadata": {"name": name, **namespaced}, **body})
