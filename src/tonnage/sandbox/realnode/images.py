"""The images every real node has without a registry: `local/pause:1`, `local/busybox:1` and `local/python`.

A sandbox must work where no registry is reachable and no container engine is installed, so the images are
made by hand from Debian's own packages: each package's file tree is streamed from its archive into one
layer. That needs neither root nor a scratch folder, and it runs no maintainer script.

    local/pause:1, local/busybox:1   a static busybox with its applets: holds a pod's namespaces, runs a shell
    local/python                     Python with its whole standard library, sh, coreutils, libstdc++
                                     (enough for the wheels of numpy or torch mounted from the host)

Images are kept in the user's cache, named by what went in, and are rebuilt when Debian's versions change.
Not here: importing them into a node (`loading`).
"""

from __future__ import annotations

import hashlib
import io
import json
import subprocess
import tarfile
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tonnage.errors import EnvironmentProblem, Problem

PAUSE = "local/pause:1"
BUSYBOX = "local/busybox:1"
PYTHON = "local/python:latest"
# A tag other than `latest` matters: Kubernetes pulls `latest` at every start unless the pod says otherwise.
PYTHON_TAGS = (PYTHON, "local/python:3")
# What goes in is part of the cache's key; raise this when the recipe changes.
RECIPE = 1
_PYTHON_PACKAGES = ("python3", "dash", "coreutils", "libstdc++6", "media-types")
_NOT_NEEDED = (
    "usr/share/doc/",
    "usr/share/man/",
    "usr/share/locale/",
    "usr/share/lintian/",
    "usr/share/info/",
)
_MERGED = ("bin", "sbin", "lib", "lib64")
_ACCOUNTS = {
    "etc/passwd": "root:x:0:0:root:/root:/bin/sh\nnobody:x:65534:65534:nobody:/nonexistent:/bin/sh\n",
    "etc/group": "root:x:0:\nnogroup:x:65534:\n",
    "etc/nsswitch.conf": "passwd: files\ngroup: files\nhosts: files dns\n",
}


def ready_images(cache: Path) -> tuple[Path, ...]:
    """The archives to import into a node, built first if the cache lacks them."""
    cache.mkdir(parents=True, exist_ok=True)
    return (_busybox_image(cache), _python_image(cache))


def _busybox_image(cache: Path) -> Path:
    busybox = _static_busybox()
    digest = hashlib.sha256(busybox.read_bytes()).hexdigest()[:12]
    archive = cache / f"busybox-{digest}-r{RECIPE}.tar"
    if not archive.exists():
        with _layer() as (layer, path):
            _add_skeleton(layer)
            _add_file(layer, "usr/bin/busybox", busybox.read_bytes(), mode=0o755)
            for applet in _run_text([str(busybox), "--list"]).split():
                if applet != "busybox":
                    _add_link(layer, f"usr/bin/{applet}", "busybox")
            layer.close()
            _write_archive(archive, path, (PAUSE, BUSYBOX), command=["/bin/sleep", "2147483647"])
    return archive


def _python_image(cache: Path) -> Path:
    packages = _package_closure()
    digest = hashlib.sha256("\n".join(packages).encode()).hexdigest()[:12]
    archive = cache / f"python-{digest}-r{RECIPE}.tar"
    if not archive.exists():
        with _layer() as (layer, path), tempfile.TemporaryDirectory() as scratch:
            _add_skeleton(layer)
            seen: set[str] = set()
            for package in _download(packages, Path(scratch)):
                _add_package(layer, package, seen)
            if "usr/bin/sh" not in seen:
                _add_link(layer, "usr/bin/sh", "dash")
            _add_link(layer, "usr/bin/python", "python3")
            layer.close()
            _write_archive(archive, path, PYTHON_TAGS, command=["/usr/bin/python3"])
    return archive


def _static_busybox() -> Path:
    path = Path("/bin/busybox")
    if not path.exists():
        raise EnvironmentProblem(
            Problem(
                code="BOX-210",
                what="no static busybox on this machine; the pause image is made from it",
                found="no /bin/busybox",
                expected="Debian's package busybox-static",
                hint="apt-get install -y busybox-static",
            )
        )
    return path


def _package_closure() -> list[str]:
    """`name=version` of every package the Python image needs, as if nothing were installed."""
    command = ["apt-get", "install", "--print-uris", "-y", "-qq", "--no-install-recommends"]
    text = _run_text([*command, "-o", "Dir::State::status=/dev/null", *_PYTHON_PACKAGES])
    archives = [line.split()[1] for line in text.splitlines() if line.startswith("'")]
    if not archives:
        raise _no_packages("apt-get named no packages")
    # name_version_arch.deb, with the version's colon written as %3a
    parts = [archive.rsplit("_", 2) for archive in archives]
    return [f"{name}={version.replace('%3a', ':')}" for name, version, _ in parts]


def _download(packages: list[str], scratch: Path) -> list[Path]:
    # apt downloads as the user _apt, which must be able to write here.
    scratch.chmod(0o777)
    _run_text(["apt-get", "download", "-qq", *packages], cwd=scratch)
    return sorted(scratch.glob("*.deb"))


def _add_package(layer: tarfile.TarFile, package: Path, seen: set[str]) -> None:
    """Copy one package's files into the layer; a file two packages share is kept once."""
    stream = subprocess.Popen(["dpkg-deb", "--fsys-tarfile", str(package)], stdout=subprocess.PIPE)
    assert stream.stdout is not None
    with tarfile.open(fileobj=stream.stdout, mode="r|") as members:
        for member in members:
            member.name = _merged(member.name)
            if member.islnk():
                member.linkname = _merged(member.linkname)
            if not member.name or member.name in seen or member.name.startswith(_NOT_NEEDED):
                continue
            if member.name in _MERGED:
                continue
            seen.add(member.name)
            layer.addfile(member, members.extractfile(member) if member.isreg() else None)
    if stream.wait() != 0:
        raise _no_packages(f"dpkg-deb could not read {package.name}")


def _merged(name: str) -> str:
    """A package's path with /bin, /sbin and /lib taken for the links into /usr that they are."""
    name = name.removeprefix("./").strip("/")
    first, slash, _ = name.partition("/")
    return f"usr/{name}" if slash and first in _MERGED else name.removeprefix(".")


def _add_skeleton(layer: tarfile.TarFile) -> None:
    for folder in ("usr", "usr/bin", "usr/sbin", "usr/lib", "usr/lib64", "etc", "root", "proc", "sys", "dev"):
        _add_folder(layer, folder, 0o755)
    _add_folder(layer, "tmp", 0o1777)
    for name in _MERGED:
        _add_link(layer, name, f"usr/{name}")
    for name, text in _ACCOUNTS.items():
        _add_file(layer, name, text.encode(), mode=0o644)


def _add_folder(layer: tarfile.TarFile, name: str, mode: int) -> None:
    member = tarfile.TarInfo(name)
    member.type, member.mode = tarfile.DIRTYPE, mode
    layer.addfile(member)


def _add_link(layer: tarfile.TarFile, name: str, target: str) -> None:
    member = tarfile.TarInfo(name)
    member.type, member.linkname = tarfile.SYMTYPE, target
    layer.addfile(member)


def _add_file(layer: tarfile.TarFile, name: str, content: bytes, *, mode: int) -> None:
    member = tarfile.TarInfo(name)
    member.size, member.mode = len(content), mode
    layer.addfile(member, io.BytesIO(content))


@contextmanager
def _layer() -> Iterator[tuple[tarfile.TarFile, Path]]:
    with tempfile.NamedTemporaryFile() as file, tarfile.open(fileobj=file, mode="w") as layer:
        yield layer, Path(file.name)


def _write_archive(archive: Path, layer: Path, tags: tuple[str, ...], *, command: list[str]) -> None:
    """Write a docker-archive of one layer; renamed into place, so that a half file is never used."""
    with layer.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    config = json.dumps(_image_config(digest, command)).encode()
    name = hashlib.sha256(config).hexdigest() + ".json"
    manifest = json.dumps([{"Config": name, "RepoTags": list(tags), "Layers": ["layer.tar"]}]).encode()
    with tempfile.NamedTemporaryFile(dir=archive.parent, delete=False) as file:
        try:
            with tarfile.open(fileobj=file, mode="w") as outer:
                _add_file(outer, name, config, mode=0o644)
                outer.add(layer, arcname="layer.tar")
                _add_file(outer, "manifest.json", manifest, mode=0o644)
            Path(file.name).rename(archive)
        except BaseException:
            Path(file.name).unlink(missing_ok=True)
            raise


def _image_config(layer_digest: str, command: list[str]) -> dict[str, object]:
    return {
        "architecture": _architecture(),
        "os": "linux",
        "config": {
            "Cmd": command,
            "Env": [
                "PATH=/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin",
                "LANG=C.UTF-8",
                "PYTHONUNBUFFERED=1",
            ],
            "WorkingDir": "/",
        },
        "rootfs": {"type": "layers", "diff_ids": [f"sha256:{layer_digest}"]},
        "history": [{"created_by": "tonnage sandbox"}],
    }


def _architecture() -> str:
    import platform

    return {"x86_64": "amd64", "aarch64": "arm64"}.get(platform.machine(), platform.machine())


def _run_text(command: list[str], cwd: Path | None = None) -> str:
    try:
        done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=True)
    except FileNotFoundError as missing:
        raise _no_packages(f"{command[0]} is not installed") from missing
    except subprocess.CalledProcessError as failed:
        raise _no_packages(
            failed.stderr.strip().splitlines()[-1] if failed.stderr else str(failed)
        ) from failed
    return done.stdout


def _no_packages(found: str) -> EnvironmentProblem:
    return EnvironmentProblem(
        Problem(
            code="BOX-211",
            what="the image local/python could not be built from Debian's packages",
            found=found,
            expected="apt-get with package lists and a reachable Debian mirror, and dpkg-deb",
            hint="apt-get update, then try again",
        )
    )
