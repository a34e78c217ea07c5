"""`tonnage sandbox load IMAGE.tar`: an image file into every real node, with no registry between.

Takes what `docker save` and `podman save` write (docker-archive) and OCI archives with a reference name. The
archive is streamed into the node's containerd, so it may lie anywhere and is not copied first.
"""

from __future__ import annotations

import re
import tarfile
from collections.abc import Sequence
from pathlib import Path

from tonnage.errors import EnvironmentProblem, Problem, RefusedError, UsageError
from tonnage.sandbox.realnode.layout import RealNode
from tonnage.sandbox.realnode.operating import enter
from tonnage.sandbox.realnode.packing import tags_in

_IMPORTED = re.compile(r"^unpacking (?P<name>\S+) \(sha256:", re.MULTILINE)
_CTR = ("ctr", "--namespace", "k8s.io", "images")


def load_into(nodes: Sequence[RealNode], archive: Path) -> list[str]:
    """Import the archive into each node and return the names of its images, as a pod would write them."""
    if not nodes:
        raise RefusedError(
            Problem(
                code="BOX-220",
                what="this sandbox has no real node to load an image into",
                hint="start one with: tonnage sandbox up --real-nodes 1; simulated nodes take any image",
            )
        )
    _check_archive(archive)
    names: list[str] = []
    for node in nodes:
        try:
            printed = enter(node, [*_CTR, "import", "-"], stdin=archive)
        except EnvironmentProblem as failed:
            raise _not_an_image(archive, failed.problem.found or "") from failed
        names = [short_name(name) for name in _IMPORTED.findall(printed)]
        if not names:
            raise _not_an_image(archive, "no image name in the archive")
    return names


def ensure_images(node: RealNode) -> list[str]:
    """Import again the standard images that disk pressure made the kubelet delete; returns their names."""
    present = set(images_in(node))
    missing: list[str] = []
    for archive in sorted((node.root / "images").glob("*.tar")):
        names = tags_in(archive)
        if not set(names) <= present:
            enter(node, [*_CTR, "import", "-"], stdin=archive)
            missing += [name for name in names if name not in present]
    return missing


def images_in(node: RealNode) -> list[str]:
    """The images a node has, as a pod would write them."""
    listed = enter(node, [*_CTR, "list", "--quiet"]).splitlines()
    return sorted(short_name(name) for name in listed if not name.startswith("sha256:"))


def short_name(name: str) -> str:
    """`docker.io/local/python:3` as people write it.

    >>> short_name("docker.io/library/debian:12"), short_name("ghcr.io/a/b:1")
    ('debian:12', 'ghcr.io/a/b:1')
    """
    return name.removeprefix("docker.io/").removeprefix("library/") if name.startswith("docker.io/") else name


def _check_archive(archive: Path) -> None:
    if not archive.is_file():
        raise UsageError(
            Problem(
                code="BOX-221",
                what="there is no such image archive",
                where=str(archive),
                hint="write one with: docker save NAME -o IMAGE.tar",
            )
        )
    if not tarfile.is_tarfile(archive):
        raise _not_an_image(archive, "not a tar archive")


def _not_an_image(archive: Path, found: str) -> RefusedError:
    return RefusedError(
        Problem(
            code="BOX-222",
            what="this file is not an image archive that can be loaded",
            where=str(archive),
            found=found,
            expected="what `docker save NAME` writes, or an OCI archive with a reference name",
            hint="save it by name, not by id: docker save NAME:TAG -o IMAGE.tar",
        )
    )
