"""Packing an image file by hand: one layer, a configuration and a manifest, as `docker save` writes them.

No container engine is needed, nor root: a layer is a tar archive, and files go straight into it.

    with image_archive(path, tags=("team/tool:v1",), command=["/tool"]) as layer:
        layer.file("tool", program, mode=0o755)
"""

from __future__ import annotations

import hashlib
import io
import json
import platform
import tarfile
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO

_PATH = "PATH=/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin"
_MERGED = ("bin", "sbin", "lib", "lib64")
_ACCOUNTS = {
    "etc/passwd": "root:x:0:0:root:/root:/bin/sh\nnobody:x:65534:65534:nobody:/nonexistent:/bin/sh\n",
    "etc/group": "root:x:0:\nnogroup:x:65534:\n",
    "etc/nsswitch.conf": "passwd: files\ngroup: files\nhosts: files dns\n",
}


class Layer:
    """The files of an image; the first of two with one name is kept."""

    def __init__(self, tar: tarfile.TarFile) -> None:
        self._tar = tar
        self._names: set[str] = set()

    def __contains__(self, name: str) -> bool:
        return name in self._names

    def folder(self, name: str, mode: int = 0o755) -> None:
        self._add(name, tarfile.DIRTYPE, mode)

    def link(self, name: str, target: str) -> None:
        self._add(name, tarfile.SYMTYPE, 0o777, linkname=target)

    def file(self, name: str, content: bytes, mode: int = 0o644) -> None:
        self._add(name, tarfile.REGTYPE, mode, content=content)

    def skeleton(self) -> None:
        """The folders, accounts and links into /usr that every program expects."""
        for name in ("usr", *(f"usr/{part}" for part in _MERGED), "etc", "root", "proc", "sys", "dev"):
            self.folder(name)
        self.folder("tmp", 0o1777)
        for part in _MERGED:
            self.link(part, f"usr/{part}")
        for name, text in _ACCOUNTS.items():
            self.file(name, text.encode())

    def copy_from(self, stream: IO[bytes], leave_out: tuple[str, ...] = ()) -> None:
        """Add every member of a tar stream whose path does not begin with one of `leave_out`."""
        with tarfile.open(fileobj=stream, mode="r|") as members:
            for member in members:
                member.name = _in_usr(member.name)
                if member.islnk():
                    member.linkname = _in_usr(member.linkname)
                if member.name in ("", *_MERGED) or member.name.startswith(leave_out) or member.name in self:
                    continue
                self._names.add(member.name)
                self._tar.addfile(member, members.extractfile(member) if member.isreg() else None)

    def _add(self, name: str, kind: bytes, mode: int, *, linkname: str = "", content: bytes = b"") -> None:
        if name in self:
            return
        self._names.add(name)
        member = tarfile.TarInfo(name)
        member.type, member.mode, member.linkname, member.size = kind, mode, linkname, len(content)
        self._tar.addfile(member, io.BytesIO(content))


@contextmanager
def image_archive(archive: Path, *, tags: Sequence[str], command: Sequence[str]) -> Iterator[Layer]:
    """Write an image of what is put into the layer; it appears under its name only when it is whole."""
    with tempfile.TemporaryDirectory(dir=archive.parent, prefix=".packing-") as scratch:
        layer_file, whole = Path(scratch) / "layer.tar", Path(scratch) / "image.tar"
        with tarfile.open(layer_file, "w") as tar:
            yield Layer(tar)
        with layer_file.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
        config = json.dumps(_config(digest, command)).encode()
        name = hashlib.sha256(config).hexdigest() + ".json"
        manifest = [{"Config": name, "RepoTags": list(tags), "Layers": ["layer.tar"]}]
        with tarfile.open(whole, "w") as tar:
            outer = Layer(tar)
            outer.file(name, config)
            tar.add(layer_file, arcname="layer.tar")
            outer.file("manifest.json", json.dumps(manifest).encode())
        whole.rename(archive)


def tags_in(archive: Path) -> list[str]:
    """The names of the images in an archive that `image_archive` wrote."""
    with tarfile.open(archive) as members:
        manifest = members.extractfile("manifest.json")
        assert manifest is not None, "our own archives have a manifest"
        return [tag for image in json.load(manifest) for tag in image["RepoTags"]]


def _config(layer_digest: str, command: Sequence[str]) -> dict[str, object]:
    machine = platform.machine()
    return {
        "architecture": {"x86_64": "amd64", "aarch64": "arm64"}.get(machine, machine),
        "os": "linux",
        "config": {
            "Cmd": list(command),
            "Env": [_PATH, "LANG=C.UTF-8", "PYTHONUNBUFFERED=1"],
            "WorkingDir": "/",
        },
        "rootfs": {"type": "layers", "diff_ids": [f"sha256:{layer_digest}"]},
        "history": [{"created_by": "tonnage sandbox"}],
    }


def _in_usr(name: str) -> str:
    """A path with /bin, /sbin and /lib taken for the links into /usr that they are.

    >>> _in_usr("./bin/sh"), _in_usr("./usr/bin/env"), _in_usr("./")
    ('usr/bin/sh', 'usr/bin/env', '')
    """
    name = name.removeprefix(".").strip("/")
    first, slash, _ = name.partition("/")
    return f"usr/{name}" if slash and first in _MERGED else name
