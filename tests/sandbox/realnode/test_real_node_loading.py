"""`load` brings an image file into every node, and answers every other file with one clear error."""

from __future__ import annotations

import io
import tarfile
from pathlib import Path

import pytest
from real_node_cluster import LiveCluster, a_pod

from tonnage.errors import TonnageError
from tonnage.sandbox import realnode
from tonnage.sandbox.realnode.loading import images_in
from tonnage.sandbox.realnode.packing import image_archive

pytestmark = [pytest.mark.realnode, pytest.mark.sandbox, pytest.mark.xdist_group("realnode")]


def test_a_loaded_image_runs_on_every_node(cluster: LiveCluster, tmp_path: Path) -> None:
    archive = tmp_path / "mine.tar"
    with image_archive(archive, tags=("team/mine:v1",), command=("/busybox", "cat", "/hello")) as layer:
        layer.file("busybox", Path("/bin/busybox").read_bytes(), mode=0o755)
        layer.file("hello", b"from my own image\n")

    assert realnode.load_image(cluster.sandbox, archive) == ["team/mine:v1"]

    for node in cluster.nodes:
        assert "team/mine:v1" in images_in(node)
        cluster.run(a_pod(f"mine-{node.index}", image="team/mine:v1", nodeName=node.name))
        assert cluster.logs(f"mine-{node.index}") == "from my own image\n"


def test_standard_images_come_back_after_the_kubelet_deleted_them(cluster: LiveCluster) -> None:
    node = cluster.nodes[0]
    realnode.enter(node, ["ctr", "--namespace", "k8s.io", "images", "remove", "docker.io/local/python:3"])

    assert realnode.ensure_images(node) == ["local/python:3"]
    assert realnode.ensure_images(node) == []


def _a_tar_of_something_else(path: Path) -> Path:
    with tarfile.open(path, "w") as archive:
        archive.addfile(tarfile.TarInfo("readme"), io.BytesIO())
    return path


@pytest.mark.parametrize(("kind", "code"), [("missing", "BOX-221"), ("text", "BOX-222"), ("tar", "BOX-222")])
def test_what_is_not_an_image_is_refused(cluster: LiveCluster, tmp_path: Path, kind: str, code: str) -> None:
    path = tmp_path / f"{kind}.tar"
    if kind == "text":
        path.write_text("not an image")
    if kind == "tar":
        _a_tar_of_something_else(path)

    with pytest.raises(TonnageError) as raised:
        realnode.load_image(cluster.sandbox, path)

    assert raised.value.problem.code == code
    assert raised.value.problem.where == str(path)
