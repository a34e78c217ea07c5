"""`tonnage snapshot` and `tonnage doctor` as people and scripts call them, on files and on a real cluster."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import httpx2
import pytest

from tonnage.cli.snapshot import print_all
from tonnage.cli.target import Looking
from tonnage.errors import ForbiddenError
from tonnage.kube.client import KubeClient
from tonnage.kube.kubeconfig import Access
from tonnage.kube.port import KubeCluster
from tonnage.kube.saved import API_VERSION
from tonnage.sandbox import Sandbox

MESSAGE = "0/3 nodes are available: 3 Insufficient nvidia.com/gpu."


def tonnage(*words: str, **environment: str) -> subprocess.CompletedProcess[str]:
    inherited = {name: value for name, value in os.environ.items() if name != "KUBECONFIG"}
    env = {**inherited, "COLUMNS": "80", "HOME": "/nonexistent", **environment}
    return subprocess.run(
        [sys.executable, "-m", "tonnage", *words],
        capture_output=True,
        text=True,
        env=env,
        check=False,
        timeout=120,
    )


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    """A cluster of three nodes: one busy, one free, one cordoned; two pods wait."""
    path = tmp_path / "monday.json"
    node: dict[str, Any] = {"allocatable": {"cpu": "96", "memory": "1Ti", "nvidia.com/gpu": "8"}}
    node["conditions"] = [{"type": "Ready", "status": "True"}]
    labels = {"nvidia.com/gpu.product": "NVIDIA-H100-80GB-HBM3"}
    nodes = [
        {
            "metadata": {"name": f"gpu-{i}", "labels": labels},
            "spec": {"unschedulable": i == 2},
            "status": node,
        }
        for i in range(3)
    ]
    pods = [
        a_pod("busy", {"phase": "Running"}, "gpu-0"),
        *(a_pod(f"waits-{i}", waiting(), "") for i in range(2)),
    ]
    resources = {
        "nodes": {"apiVersion": "v1", "kind": "Node", "items": nodes},
        "pods": {"apiVersion": "v1", "kind": "Pod", "items": pods},
    }
    header = {"takenAt": "2026-01-01T12:00:00Z", "source": "context prod", "serverVersion": "v1.36.4"}
    document = {"apiVersion": API_VERSION, "kind": "Snapshot", "metadata": header, "resources": resources}
    path.write_text(json.dumps(document))
    return path


def a_pod(name: str, status: dict[str, Any], node: str) -> dict[str, Any]:
    meta = {"name": name, "namespace": "ml", "creationTimestamp": "2026-01-01T10:00:00Z"}
    container = {
        "name": "main",
        "resources": {"limits": {"nvidia.com/gpu": "8"}, "requests": {"nvidia.com/gpu": "8"}},
    }
    return {"metadata": meta, "spec": {"nodeName": node, "containers": [container]}, "status": status}


def waiting() -> dict[str, Any]:
    condition = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": MESSAGE}
    return {"phase": "Pending", "conditions": [condition]}


def test_the_view_says_what_is_free_and_why_pods_wait(saved: Path) -> None:
    done = tonnage("snapshot", "--on", str(saved))

    assert done.returncode == 0
    assert done.stderr.startswith(f"looking at snapshot {saved}, taken ")
    assert "8 of 24 GPUs in use, 8 free" in done.stdout
    assert "0/3 nodes: 3 insufficient nvidia.com/gpu" in done.stdout
    assert "ml/waits-0 and 1 more, waiting 2 h" in done.stdout
    assert all(len(line) <= 80 for line in done.stdout.splitlines()[1:])


def test_the_summary_is_the_same_view_as_json(saved: Path) -> None:
    view = json.loads(tonnage("snapshot", "--on", str(saved), "-o", "summary").stdout)

    assert view["gpus"] == {"total": 24, "used": 8, "free": 8}
    assert view["waiting"][0]["pods"] == 2


def test_a_snapshot_printed_to_a_file_is_a_snapshot(saved: Path, tmp_path: Path) -> None:
    again = tmp_path / "again.json"
    again.write_text(tonnage("snapshot", "--on", str(saved), "-o", "json").stdout)

    assert (
        tonnage("snapshot", "--on", str(again)).stdout.splitlines()[1:]
        == (tonnage("snapshot", "--on", str(saved)).stdout.splitlines()[1:])
    )


def test_a_refusal_on_the_way_prints_no_half_snapshot(capsysbinary: pytest.CaptureFixture[bytes]) -> None:
    def answer(request: httpx2.Request) -> httpx2.Response:
        """Everything may be listed but pods."""
        if request.url.path == "/version":
            return httpx2.Response(200, json={"gitVersion": "v1.36.4"})
        if request.url.path.endswith("/pods"):
            return httpx2.Response(403, json={"kind": "Status", "message": 'User "a" cannot list pods'})
        return httpx2.Response(200, json={"items": [], "metadata": {}})

    access = Access(context="c", server="https://c.test")
    cluster = KubeCluster(KubeClient(access, transport=httpx2.MockTransport(answer)))

    with pytest.raises(ForbiddenError):
        print_all(Looking(cluster, "ml"))
    assert capsysbinary.readouterr().out == b""


def test_a_cluster_document_printed_to_a_file_is_a_snapshot(tmp_path: Path) -> None:
    document = Path(__file__).parents[2] / "examples" / "04-cluster" / "cluster.yaml"
    saved = tmp_path / "lab.json"

    saved.write_text(tonnage("snapshot", "--on", str(document), "-o", "json").stdout)

    drawn = [tonnage("snapshot", "--on", str(file)).stdout.split("nodes", 1)[1] for file in (document, saved)]
    assert drawn[0] == drawn[1]


@pytest.mark.parametrize("command", ["snapshot", "doctor"])
def test_a_namespace_that_is_not_there_is_said_to_be_missing(saved: Path, command: str) -> None:
    document = json.loads(saved.read_text())
    items = [{"metadata": {"name": name}} for name in ("default", "ml")]
    document["resources"]["namespaces"] = {"apiVersion": "v1", "kind": "Namespace", "items": items}
    saved.write_text(json.dumps(document))

    done = tonnage(command, "--on", str(saved), "-n", "mll")

    assert (done.returncode, done.stdout) == (1, "")
    assert "there is no namespace 'mll'" in done.stderr
    assert "did you mean 'ml'?" in done.stderr
    assert "there is no namespace" not in tonnage(command, "--on", str(saved), "-n", "ml").stderr


def test_a_reader_that_leaves_early_sees_no_traceback(saved: Path) -> None:
    call = f"{sys.executable} -m tonnage snapshot --on {saved} -o json | head -c 10"
    done = subprocess.run(["bash", "-c", call], capture_output=True, text=True, check=False, timeout=120)

    assert "Traceback" not in done.stderr
    assert "Broken" not in done.stderr


def test_a_broken_file_is_one_clear_error(tmp_path: Path) -> None:
    (tmp_path / "s.json").write_text('{"kind": "Snapshot"')

    done = tonnage("snapshot", "--on", str(tmp_path / "s.json"))

    assert done.returncode == 1
    assert "cut off" in done.stderr
    assert "Traceback" not in done.stderr


def test_no_cluster_at_all_is_exit_code_three(tmp_path: Path) -> None:
    done = tonnage("snapshot", KUBECONFIG=str(tmp_path / "none"))

    assert done.returncode == 3
    assert "tonnage sandbox up" in done.stderr


def test_errors_are_json_for_those_who_asked_for_json(tmp_path: Path) -> None:
    done = tonnage("doctor", "--on", str(tmp_path / "gone.json"), "-o", "json")

    assert done.returncode == 2
    assert json.loads(done.stdout)["errors"][0]["code"] == "TARGET-003"


def test_the_doctor_looks_at_files_too(saved: Path) -> None:
    done = tonnage("doctor", "--on", str(saved), "-o", "json")

    report = json.loads(done.stdout)
    assert done.returncode == 1
    assert report["problems"] >= 1
    problem = next(check for check in report["checks"] if check["state"] == "problem")
    assert problem["remedy"]


@pytest.mark.sandbox
def test_a_real_cluster_is_seen_saved_and_seen_again(sandbox: Sandbox, tmp_path: Path) -> None:
    target = f"sandbox:{sandbox.name}"
    home = {"HOME": os.environ["HOME"]}
    file = tmp_path / "box.json.gz"

    live = json.loads(tonnage("snapshot", "--on", target, "-o", "summary", **home).stdout)
    done = tonnage("snapshot", "--on", target, "--save", str(file), **home)
    again = json.loads(tonnage("snapshot", "--on", str(file), "-o", "summary").stdout)

    assert done.returncode == 0
    assert live["gpus"]["total"] >= 8
    assert [pool["nodes"] for pool in live["pools"]] == [pool["nodes"] for pool in again["pools"]]
    assert file.stat().st_mode & 0o077 == 0


@pytest.mark.sandbox
def test_the_doctor_knows_version_gates_and_permissions_of_a_real_cluster(sandbox: Sandbox) -> None:
    done = tonnage("doctor", "--on", f"sandbox:{sandbox.name}", "-o", "json", HOME=os.environ["HOME"])

    states = {check["subject"]: check["state"] for check in json.loads(done.stdout)["checks"]}
    assert states["Kubernetes"] == "ok"
    assert states["InPlacePodVerticalScaling"] == "ok"
    assert states["GPUs"] == states["GPU labels"] == "ok"
    assert states["see runs"] == states["start and stop runs"] == "ok"
    assert states["Kueue"] == "absent"
