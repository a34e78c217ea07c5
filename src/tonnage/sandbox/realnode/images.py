"""The images real nodes have without a registry: `local/pause:1`, `local/busybox:1` and `local/python`.

A sandbox must work where no registry is reachable and no container engine is installed, so the images are
made by hand from Debian's own packages: each package's file tree is streamed from its archive into one
layer. No maintainer script runs.

    local/pause:1, local/busybox:1   a static busybox with its applets: holds a pod's namespaces, runs a shell
    local/python                     Python with its whole standard library, sh, coreutils, libstdc++
                                     (enough for the wheels of numpy or torch mounted from the host)
    local/kubectl:1                  what Training Operator v1 brings kubectl into an MPIJob's launcher with; only
                                     beside that operator
    local/openmpi:4                  local/python with Open MPI and mpi4py; packed when asked for, and loaded as
                                     any image is

Images are kept in the user's cache, one for each Debian release; removing the file has it packed anew.
Not here: the archive's format (`packing`), importing it into a node (`loading`).
"""

from __future__ import annotations

import hashlib
import platform
import subprocess
import tempfile
from pathlib import Path

from tonnage.errors import EnvironmentProblem, Problem
from tonnage.sandbox.locking import locked
from tonnage.sandbox.realnode.packing import Layer, image_archive
from tonnage.sandbox.showing import Show

PAUSE = "local/pause:1"
BUSYBOX = "local/busybox:1"
KUBECTL = "local/kubectl:1"
OPEN_MPI = "local/openmpi:4"
# A tag other than `latest` matters: Kubernetes pulls `latest` at every start unless told otherwise.
PYTHON = ("local/python:latest", "local/python:3")
# What goes in is part of the cache's key; raise this when the recipe changes.
RECIPE = 3
_PYTHON_PACKAGES = ("python3", "dash", "coreutils", "libstdc++6")
_OPEN_MPI_PACKAGES = (*_PYTHON_PACKAGES, "openmpi-bin", "python3-mpi4py")
_DELIVER = "cp /bin/kubectl /opt/kube/kubectl"
"""What the operator's own image for this does."""
_NOT_NEEDED = tuple(f"usr/share/{name}/" for name in ("doc", "man", "locale", "lintian", "info"))


def ready_images(cache: Path, show: Show) -> tuple[Path, ...]:
    """The archives to import into a node, built first if the cache lacks them."""
    with locked(cache):
        return (_busybox_image(cache), _python_image(cache, show))


def kubectl_image(cache: Path, program: Path) -> Path:
    """An image that copies this kubectl where the operator wants it."""
    content = program.read_bytes()
    archive = cache / f"kubectl-{hashlib.sha256(content).hexdigest()[:12]}-r{RECIPE}.tar"
    with locked(cache):
        if not archive.exists():
            with image_archive(archive, tags=(KUBECTL,), command=("/bin/sh", "-c", _DELIVER)) as layer:
                _add_busybox(layer, Path("/bin/busybox"))
                layer.file("usr/bin/kubectl", content, mode=0o755)
    return archive


def open_mpi_image(cache: Path, show: Show) -> Path:
    """An image whose ranks mpirun can start, wherever a shell reaches them."""
    with locked(cache):
        return _debian_image(cache, show, "openmpi", (OPEN_MPI,), _OPEN_MPI_PACKAGES)


def _busybox_image(cache: Path) -> Path:
    busybox = Path("/bin/busybox")
    archive = cache / f"busybox-{hashlib.sha256(busybox.read_bytes()).hexdigest()[:12]}-r{RECIPE}.tar"
    if not archive.exists():
        with image_archive(archive, tags=(PAUSE, BUSYBOX), command=("/bin/sleep", "2147483647")) as layer:
            _add_busybox(layer, busybox)
    return archive


def _add_busybox(layer: Layer, busybox: Path) -> None:
    layer.skeleton()
    layer.file("usr/bin/busybox", busybox.read_bytes(), mode=0o755)
    for applet in _output([str(busybox), "--list"]).split():
        layer.link(f"usr/bin/{applet}", "busybox")


def _python_image(cache: Path, show: Show) -> Path:
    return _debian_image(cache, show, "python", PYTHON, _PYTHON_PACKAGES)


def _debian_image(cache: Path, show: Show, name: str, tags: tuple[str, ...], wanted: tuple[str, ...]) -> Path:
    # The release and not the packages' versions: asking for those costs two seconds at every start.
    release = platform.freedesktop_os_release()
    edition = f"{release['ID']}{release.get('VERSION_ID', '')}-{platform.machine()}"
    archive = cache / f"{name}-{edition}-r{RECIPE}.tar"
    if not archive.exists():
        with show.running("images", f"packing local/{name} from Debian's packages", 10):
            packages = _with_what_they_need(wanted)
            _pack_debian(archive, tags, packages)
        show.step("images", f"local/{name} packed from {len(packages)} Debian packages")
    return archive


def _pack_debian(archive: Path, tags: tuple[str, ...], packages: list[str]) -> None:
    with (
        tempfile.TemporaryDirectory() as scratch,
        image_archive(archive, tags=tags, command=("/usr/bin/python3",)) as layer,
    ):
        layer.skeleton()
        for package in _download(packages, Path(scratch)):
            _add_package(layer, package)
        layer.link("usr/bin/sh", "dash")
        layer.link("usr/bin/python", "python3")
        if "usr/bin/mpirun.openmpi" in layer:  # maintainer scripts would make these
            layer.link("usr/bin/mpirun", "mpirun.openmpi")
            layer.link("usr/bin/mpiexec", "mpirun.openmpi")


def _with_what_they_need(wanted: tuple[str, ...]) -> list[str]:
    """`name=version` of every package an image needs, as if nothing were installed."""
    command = ["apt-get", "install", "--print-uris", "-y", "-qq", "--no-install-recommends"]
    text = _output([*command, "-o", "Dir::State::status=/dev/null", *wanted])
    archives = [line.split()[1] for line in text.splitlines() if line.startswith("'")]
    if not archives:
        raise _cannot_build("apt-get named no packages")
    # name_version_arch.deb, with the version's colon written as %3a
    parts = [archive.rsplit("_", 2) for archive in archives]
    return [f"{name}={version.replace('%3a', ':')}" for name, version, _ in parts]


def _download(packages: list[str], scratch: Path) -> list[Path]:
    # apt downloads as the user _apt, which must be able to write here.
    scratch.chmod(0o777)
    _output(["apt-get", "download", "-qq", *packages], cwd=scratch)
    return sorted(scratch.glob("*.deb"))


def _add_package(layer: Layer, package: Path) -> None:
    with subprocess.Popen(["dpkg-deb", "--fsys-tarfile", str(package)], stdout=subprocess.PIPE) as stream:
        assert stream.stdout is not None
        layer.copy_from(stream.stdout, leave_out=_NOT_NEEDED)
    if stream.returncode != 0:
        raise _cannot_build(f"dpkg-deb could not read {package.name}")


def _output(command: list[str], cwd: Path | None = None) -> str:
    try:
        done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False)
    except FileNotFoundError as missing:
        raise _cannot_build(f"{command[0]} is not installed") from missing
    if done.returncode != 0:
        said = done.stderr.strip().splitlines() or [f"exit code {done.returncode}"]
        raise _cannot_build(f"{command[0]}: {said[-1]}")
    return done.stdout


def _cannot_build(found: str) -> EnvironmentProblem:
    return EnvironmentProblem(
        Problem(
            code="BOX-211",
            what="the images of real nodes could not be built from Debian's packages",
            found=found,
            expected="apt-get with package lists and a reachable Debian mirror, and dpkg-deb",
            hint="apt-get update, then try again",
        )
    )
