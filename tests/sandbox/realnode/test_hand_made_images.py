"""Images made without a container engine: what is in them, and what they are called."""

from __future__ import annotations

import json
import tarfile
from pathlib import Path

import pytest

from tonnage.sandbox.realnode.images import KUBECTL, kubectl_image
from tonnage.sandbox.realnode.packing import tags_in

pytestmark = pytest.mark.skipif(not Path("/bin/busybox").exists(), reason="made from this machine's busybox")


def test_the_image_that_brings_kubectl_into_a_launcher_copies_it_where_the_operator_looks(
    tmp_path: Path,
) -> None:
    program = tmp_path / "kubectl"
    program.write_bytes(b"a program")
    archive = kubectl_image(tmp_path, program)

    assert tags_in(archive) == [KUBECTL]
    with tarfile.open(archive) as image:
        (config,) = [name for name in image.getnames() if name.endswith(".json") and name != "manifest.json"]
        said = json.load(image.extractfile(config))  # type: ignore[arg-type]
        assert said["config"]["Cmd"] == ["/bin/sh", "-c", "cp /bin/kubectl /opt/kube/kubectl"]
        with tarfile.open(fileobj=image.extractfile("layer.tar")) as layer:
            kubectl = layer.getmember("usr/bin/kubectl")
            assert (kubectl.mode & 0o111, kubectl.size) == (0o111, len(b"a program"))
            assert "usr/bin/cp" in layer.getnames()


def test_another_kubectl_is_another_image_and_the_same_is_packed_once(tmp_path: Path) -> None:
    program = tmp_path / "kubectl"
    program.write_bytes(b"one")
    first = kubectl_image(tmp_path, program)
    made = first.stat().st_mtime_ns
    assert kubectl_image(tmp_path, program).stat().st_mtime_ns == made
    program.write_bytes(b"two")
    assert kubectl_image(tmp_path, program) != first
