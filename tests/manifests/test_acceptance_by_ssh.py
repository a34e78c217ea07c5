"""The golden file for the MPI Operator, applied to a real API server that has its definition of MPIJob.

Its kind has the same name as the Training Operator's, so it needs a cluster of its own. The operator itself does not
run there: its pods are made of the templates by hand, and the API server says what class each has.
"""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from manifest_cases import BY_NAME
from manifest_reading import pods as planned_pods
from manifest_reading import templates

from tonnage.cluster.qos import BEST_EFFORT, compute_qos_class
from tonnage.sandbox import Sandbox, SandboxRequest, down, up
from tonnage.sandbox.building import go_environment
from tonnage.sandbox.components import MODULES
from tonnage.sandbox.golang import find_go
from tonnage.sandbox.showing import QUIET

pytestmark = [pytest.mark.sandbox, pytest.mark.xdist_group("manifests")]

GOLDEN = Path(__file__).parent / "golden" / "mpijob-by-ssh.yaml"
NAME = "mpijob-by-ssh"
OPERATOR = "github.com/kubeflow/mpi-operator"


@pytest.fixture(scope="module")
def sandbox() -> Iterator[Sandbox]:
    name = f"ssh-{os.getpid()}"
    made = up(SandboxRequest(name=name, nodes="8xh100=2"))
    try:
        made.api.create(definition())
        made.api.wait("/apis/kubeflow.org/v2beta1", lambda found: bool(found["resources"]), seconds=60)
        yield made
    finally:
        down(name)


def definition() -> dict[str, Any]:
    """As its own module ships it, which Kueue's pins: the version our golden file was written for."""
    command = [str(find_go(QUIET)), "mod", "download", "-json", OPERATOR]
    answer = subprocess.run(
        command, cwd=MODULES / "kueue", env=go_environment(), capture_output=True, text=True, check=True
    )
    folder = Path(json.loads(answer.stdout)["Dir"])
    found: dict[str, Any] = yaml.load(
        (folder / "manifests" / "base" / "kubeflow.org_mpijobs.yaml").read_text(), yaml.CSafeLoader
    )
    return found


def test_it_is_accepted_and_nothing_of_it_is_dropped(sandbox: Sandbox) -> None:
    for item in yaml.safe_load_all(GOLDEN.read_text()):
        stored = sandbox.api.apply_one(item)
        if item["kind"] == "MPIJob":
            assert stored["apiVersion"] == "kubeflow.org/v2beta1"
            assert _is_within(item["spec"], stored["spec"])


def test_its_pods_have_the_class_we_promised(sandbox: Sandbox) -> None:
    rendered = BY_NAME[NAME].rendered()
    found = set()
    for number, (template, _) in enumerate(templates(rendered)):
        meta = {**template["metadata"], "name": f"by-hand-{number}", "namespace": "default"}
        pod = {"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": template["spec"]}
        found.add(sandbox.api.apply_one(pod)["status"]["qosClass"])
    assert found == {compute_qos_class(pod) for pod in planned_pods(rendered)}
    assert BEST_EFFORT not in found


def _is_within(part: Any, whole: Any) -> bool:
    """Whether everything that is said in one is said in the other."""
    if isinstance(part, dict):
        return all(name in whole and _is_within(value, whole[name]) for name, value in part.items())
    if isinstance(part, list):
        return len(part) == len(whole) and all(map(_is_within, part, whole))
    return bool(part == whole)
