"""Rules about what a Run mounts, and where."""

from __future__ import annotations

from collections.abc import Iterator

from tonnage.spec.mistakes import Path
from tonnage.spec.parts import field_name
from tonnage.spec.rules.remarks import Remark
from tonnage.spec.run import Run
from tonnage.spec.run.storage import Volume

_SOURCES = ("pvc", "nfs", "empty_dir", "secret", "config_map", "host_path")


def volume_has_one_source(run: Run) -> Iterator[Remark]:
    """A mount shows exactly one thing."""
    for index, volume in enumerate(run.spec.volumes):
        given = [name for name in _SOURCES if getattr(volume, name) is not None]
        if len(given) != 1:
            yield Remark(
                code="DOC-031",
                path=("spec", "volumes", index),
                what=f"{len(given)} sources for {volume.mount}"
                if given
                else f"nothing to mount at {volume.mount}",
                expected="exactly one of pvc, nfs, emptyDir, secret, configMap and hostPath",
                absent=(("spec", "volumes", index),),
            )
        if volume.nfs is not None and ":/" not in volume.nfs:
            yield Remark(
                code="DOC-022",
                path=("spec", "volumes", index, "nfs"),
                what=f"'{volume.nfs[:40]}' is not an NFS export",
                expected="server:/path",
            )


def mounts_are_apart(run: Run) -> Iterator[Remark]:
    """Two things at one path: one of them would be hidden."""
    seen: dict[str, str] = {}
    for path, mount, what in _mounts(run):
        if mount in seen:
            yield Remark(
                code="DOC-037",
                path=path,
                what=f"{what} and {seen[mount]} are both mounted at {mount}",
                expected="different paths",
                hint=f"try mount: {mount}-2",
            )
        seen.setdefault(mount, what)


def _mounts(run: Run) -> Iterator[tuple[Path, str, str]]:
    spec = run.spec
    if spec.code is not None:
        yield ("spec", "code"), spec.code.mount, "code"
    for index, data in enumerate(spec.data):
        yield ("spec", "data", index, "mount"), data.mount, str(data.source)
    for index, volume in enumerate(spec.volumes):
        yield ("spec", "volumes", index, "mount"), volume.mount, _source_of(volume)
    if spec.checkpoints is not None and spec.checkpoints.to.scheme in ("pvc", "nfs", "emptyDir"):
        yield ("spec", "checkpoints", "mount"), spec.checkpoints.mount, "checkpoints"
    if spec.output is not None and spec.output.to.scheme in ("pvc", "nfs", "emptyDir"):
        yield ("spec", "output", "mount"), spec.output.mount, "output"


def _source_of(volume: Volume) -> str:
    for name in _SOURCES:
        if (source := getattr(volume, name)) is not None:
            return f"{field_name(name)} {source}"
    return "a volume"
