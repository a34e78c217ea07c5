"""Saved snapshots: written whole or not at all, read back the same, and clear when broken."""

from __future__ import annotations

import datetime as dt
import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from tonnage.cluster.snapshot import Gap
from tonnage.errors import DocumentError, RefusedError
from tonnage.kube.kinds import find_kind
from tonnage.kube.saved import API_VERSION, Header, SavedCluster, Section, read_saved, whole_file, write_saved

NOW = dt.datetime(2026, 1, 1, 12, tzinfo=dt.UTC)
PODS = find_kind("pods")
NODES = find_kind("nodes")
assert PODS is not None
assert NODES is not None


def save(path: Path, pods: list[dict[str, Any]]) -> None:
    header = Header(taken_at=NOW - dt.timedelta(hours=3), source="context prod", server_version="v1.36.4")
    sections = [
        Section(NODES, "v1", [json.dumps({"metadata": {"name": "n"}}).encode()]),
        Section(PODS, "v1", [json.dumps(pod).encode() for pod in pods]),
    ]
    with whole_file(path) as file:
        write_saved(file, header, sections, [Gap(resource="jobsets", reason="not installed")])


def pod(name: str, namespace: str = "ml") -> dict[str, Any]:
    return {"metadata": {"name": name, "namespace": namespace}, "status": {"phase": "Running"}}


@pytest.mark.parametrize("name", ["s.json", "s.json.gz"])
def test_what_was_saved_is_read_back(tmp_path: Path, name: str) -> None:
    save(tmp_path / name, [pod("a"), pod("b", "other")])

    cluster = SavedCluster.open(tmp_path / name, now=NOW)
    found = cluster.observe()

    assert [one.metadata.name for one in found.pods] == ["a", "b"]
    assert (found.server_version, found.taken_at, found.gaps[0].resource) == (
        "v1.36.4",
        NOW - dt.timedelta(hours=3),
        "jobsets",
    )
    assert str(cluster.target) == f"snapshot {tmp_path / name}, taken 3 h ago"
    assert ((tmp_path / name).read_bytes()[:2] == b"\x1f\x8b") == name.endswith(".gz")


def test_one_namespace_can_be_looked_at(tmp_path: Path) -> None:
    save(tmp_path / "s.json", [pod("a"), pod("b", "other")])

    found = SavedCluster.open(tmp_path / "s.json", now=NOW).observe("other")

    assert [one.metadata.name for one in found.pods] == ["b"]
    assert len(found.nodes) == 1


def test_a_snapshot_saved_again_is_the_same(tmp_path: Path) -> None:
    save(tmp_path / "s.json", [pod("a"), pod("b")])
    first = SavedCluster.open(tmp_path / "s.json", now=NOW)
    with whole_file(tmp_path / "t.json") as file:
        first.save(file)

    second = SavedCluster.open(tmp_path / "t.json", now=NOW)

    assert second.observe().pods == first.observe().pods


def test_a_failed_save_leaves_the_old_file_and_no_rubbish(tmp_path: Path) -> None:
    path = tmp_path / "s.json"
    path.write_text("old")

    def save_half() -> None:
        with whole_file(path) as file:
            file.write(b"half")
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        save_half()
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_folder_that_is_not_there_is_a_clear_error(tmp_path: Path) -> None:
    with pytest.raises(RefusedError, match="SNAP-005"), whole_file(tmp_path / "no" / "s.json"):
        pass


def good() -> bytes:
    header = {"takenAt": "2026-01-01T00:00:00Z", "source": "x"}
    return json.dumps(
        {"apiVersion": API_VERSION, "kind": "Snapshot", "metadata": header, "resources": {}}
    ).encode()


@pytest.mark.parametrize(
    ("data", "code", "says"),
    [
        (b"", "SNAP-001", "empty"),
        (good()[:-20], "SNAP-002", "cut off"),
        (gzip.compress(good(), mtime=0)[:-9], "SNAP-002", "cut off"),
        (b"hello", "SNAP-002", "not JSON"),
        (b"[1]", "SNAP-003", "not a snapshot"),
        (b'{"kind":"List","apiVersion":"v1"}', "SNAP-003", "List"),
        (b'{"kind":"Run","apiVersion":"tonnage.dev/v1alpha1"}', "SNAP-003", "Run"),
        (good().replace(b"v1alpha1", b"v7"), "SNAP-004", "upgrade"),
        (good().replace(b'"takenAt"', b'"taken"'), "SNAP-002", "takenAt"),
        (good().replace(b'"resources": {}', b'"resources": []'), "SNAP-002", "resources"),
    ],
)
def test_a_broken_file_says_what_is_wrong_with_it(tmp_path: Path, data: bytes, code: str, says: str) -> None:
    path = tmp_path / "s.json"
    path.write_bytes(data)

    with pytest.raises(DocumentError) as broken:
        read_saved(path)

    assert broken.value.problem.code == code
    assert says in str(broken.value)
    assert str(path) in str(broken.value)


def test_an_odd_object_in_a_file_is_a_gap_not_a_crash(tmp_path: Path) -> None:
    save(tmp_path / "s.json", [pod("a"), {"metadata": {"name": "odd"}, "spec": "?"}])

    found = SavedCluster.open(tmp_path / "s.json", now=NOW).observe()

    assert len(found.pods) == 1
    assert any("odd" in gap.message for gap in found.gaps)


def test_a_file_that_unpacks_to_far_more_than_a_snapshot_is_refused(tmp_path: Path) -> None:
    bomb = tmp_path / "bomb.json.gz"
    bomb.write_bytes(gzip.compress(b" " * 2**28))

    with pytest.raises(DocumentError, match="far more than a snapshot") as refused:
        read_saved(bomb)

    assert refused.value.problem.code == "SNAP-009"
