"""Which cluster `--on` means, and what is said when it means none or two."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
import yaml

from tonnage.cli.main import cli
from tonnage.cli.target import Looking, find_cluster
from tonnage.errors import DocumentError, TonnageError, UsageError
from tonnage.kube.port import KubeCluster
from tonnage.kube.saved import API_VERSION, SavedCluster

CLUSTER = """\
apiVersion: tonnage.dev/v1alpha1
kind: Cluster
metadata: {name: lab}
spec:
  pools:
    - {name: train, nodes: 3, gpus: 8 x h100}
"""


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a kubeconfig of two contexts, as the working directory."""
    document: dict[str, Any] = {
        "clusters": [{"name": "c", "cluster": {"server": "https://prod.test"}}],
        "users": [{"name": "u", "user": {"token": "t"}}],
        "contexts": [
            {"name": name, "context": {"cluster": "c", "user": "u"}} for name in ("prod", "lab.json")
        ],
        "current-context": "prod",
    }
    (tmp_path / "config").write_text(yaml.safe_dump(document))
    monkeypatch.setenv("KUBECONFIG", str(tmp_path / "config"))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def a_snapshot(path: Path) -> Path:
    header = {"takenAt": "2026-01-01T00:00:00Z", "source": "context prod"}
    path.write_text(
        json.dumps({"apiVersion": API_VERSION, "kind": "Snapshot", "metadata": header, "resources": {}})
    )
    return path


def test_without_a_word_it_is_the_current_context() -> None:
    cluster = find_cluster()

    assert isinstance(cluster, KubeCluster)
    assert str(cluster.target) == "context prod (https://prod.test)"


def test_a_word_that_is_no_file_is_a_context() -> None:
    assert find_cluster("prod").target.name == "prod"
    assert find_cluster(context="prod").target.kind == "context"


def test_a_file_is_a_snapshot(home: Path) -> None:
    a_snapshot(home / "monday.json")

    assert isinstance(find_cluster("monday.json"), SavedCluster)


def test_a_snapshot_needs_no_particular_name(home: Path) -> None:
    a_snapshot(home / "monday")

    assert isinstance(find_cluster("monday"), SavedCluster)


def test_a_cluster_document_gives_its_nodes_ready_and_free(home: Path) -> None:
    (home / "lab.yaml").write_text(CLUSTER)

    cluster = find_cluster("lab.yaml")
    found = cluster.observe()

    assert [node.status.allocatable["nvidia.com/gpu"] for node in found.nodes] == ["8", "8", "8"]
    assert str(cluster.target) == "cluster file lab.yaml, nothing runs on it"
    assert found.source == "cluster file lab.yaml"


def test_a_cluster_document_can_be_saved_as_a_snapshot(home: Path) -> None:
    (home / "lab.yaml").write_text(CLUSTER)
    with (home / "lab-saved.json").open("wb") as file:
        find_cluster("lab.yaml").save(file)

    assert find_cluster("lab-saved.json").observe().nodes == find_cluster("lab.yaml").observe().nodes


def test_a_broken_document_is_a_document_error(home: Path) -> None:
    (home / "lab.yaml").write_text(CLUSTER.replace("pools", "pool"))

    with pytest.raises(DocumentError, match="pools"):
        find_cluster("lab.yaml")


def test_a_name_that_is_a_file_and_a_context_is_not_guessed(home: Path) -> None:
    a_snapshot(home / "prod")

    with pytest.raises(UsageError, match=r"\./prod for the file, or --context prod"):
        find_cluster("prod")
    assert isinstance(find_cluster("./prod"), SavedCluster)
    assert isinstance(find_cluster(context="prod"), KubeCluster)


def test_a_context_may_look_like_a_file() -> None:
    assert find_cluster("lab.json").target.kind == "context"


@pytest.mark.parametrize("on", ["./gone.json", "gone.json.gz", "gone.yaml", "/nowhere/x"])
def test_a_file_that_is_not_there_is_said_to_be_missing(on: str) -> None:
    with pytest.raises(UsageError, match="no such file"):
        find_cluster(on)


def test_a_folder_is_not_a_cluster(home: Path) -> None:
    (home / "folder.json").mkdir()

    with pytest.raises(UsageError, match="a folder"):
        find_cluster("./folder.json")
    with pytest.raises(UsageError, match="a folder"):
        find_cluster(".")


def test_a_missing_document_is_begun_by_a_call_that_works(home: Path) -> None:
    with pytest.raises(UsageError, match="tonnage init --kind cluster") as missing:
        find_cluster("gone.yaml")

    words = str(missing.value.problem.hint).split("`")[1].split()[1:]
    assert cli.main(words, standalone_mode=False) == 0
    assert find_cluster(str(home / "cluster.yaml")).observe().nodes


def test_an_unknown_context_suggests_the_nearest() -> None:
    with pytest.raises(UsageError, match="did you mean 'prod'"):
        find_cluster("prdo")


def test_on_and_context_together_are_refused() -> None:
    with pytest.raises(UsageError, match="--on and --context"):
        find_cluster("prod", "prod")


def test_a_sandbox_that_does_not_run_says_how_to_start_it() -> None:
    with pytest.raises(TonnageError, match="tonnage sandbox up --name no-such-box"):
        find_cluster("sandbox:no-such-box")


def test_what_is_looked_at_is_announced_on_stderr(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    a_snapshot(home / "monday.json")
    Looking(find_cluster("monday.json"), "ml").announce()
    Looking(find_cluster("prod")).announce()

    shown = capsys.readouterr()

    assert shown.out == ""
    first, second = shown.err.splitlines()
    assert first.startswith("looking at snapshot monday.json, taken ")
    assert first.endswith(" ago, namespace ml")
    assert second == "looking at context prod (https://prod.test), all namespaces"
    assert os.environ["KUBECONFIG"]
