"""Volumes and mounts of a container as the short forms of a Run; what has no short form stays in the pod."""

from __future__ import annotations

import re
from typing import Any

from tonnage.spec.adopting.taking import Notes
from tonnage.spec.literals.sizes import Size
from tonnage.units import try_quantity

SHM = "/dev/shm"
_CHECKPOINTS = re.compile(r"ckpt|checkpoint", re.IGNORECASE)


def take_volumes(container: dict[str, Any], pod: dict[str, Any], words: str, notes: Notes) -> dict[str, Any]:
    """`volumes` and `shm` of the Run; a volume that others mount too, or that says more, stays in the pod.

    `words` is what the container runs: it may name the folder that checkpoints go to.
    """
    volumes, mounts = _named(pod.get("volumes")), container.get("volumeMounts")
    if not isinstance(mounts, list) or not volumes:
        return {}
    run: dict[str, Any] = {}
    kept: list[Any] = []
    used: set[str] = set()
    for mount in mounts:
        name = mount.get("name") if isinstance(mount, dict) else None
        volume = volumes.get(name) if isinstance(name, str) else None
        short = _short(mount, volume) if isinstance(mount, dict) and volume is not None else None
        if short is None or _is_mounted_elsewhere(str(name), container, pod):
            kept.append(mount)
            continue
        used.add(str(name))
        if "shm" in short:
            run["shm"] = short["shm"]
        else:
            run.setdefault("volumes", []).append(short)
    _tell_about_checkpoints(run.get("volumes", []), kept, volumes, words, notes)
    still = {mount.get("name") for mount in kept if isinstance(mount, dict)}
    container["volumeMounts"] = kept
    pod["volumes"] = [volume for name, volume in volumes.items() if name not in used or name in still]
    return run


def _named(volumes: Any) -> dict[str, dict[str, Any]]:
    if not isinstance(volumes, list):
        return {}
    return {
        str(volume["name"]): volume for volume in volumes if isinstance(volume, dict) and "name" in volume
    }


def _short(mount: dict[str, Any], volume: dict[str, Any]) -> dict[str, Any] | None:
    """The volume in one line; None where a line cannot say all of it."""
    path = mount.get("mountPath")
    if not isinstance(path, str) or not set(mount) <= {"name", "mountPath", "readOnly", "subPath"}:
        return None
    source = {name: value for name, value in volume.items() if name != "name"}
    if path == SHM:
        return _shm(source)
    said = _source(source)
    if said is None:
        return None
    line: dict[str, Any] = {"mount": path, **said}
    if isinstance(mount.get("subPath"), str):
        line["subPath"] = mount["subPath"]
    if mount.get("readOnly") is True:
        line["readOnly"] = True
    return line


def _shm(source: dict[str, Any]) -> dict[str, Any] | None:
    empty = source.get("emptyDir")
    if set(source) != {"emptyDir"} or not isinstance(empty, dict) or empty.get("medium") != "Memory":
        return None
    if set(empty) == {"medium"}:
        return {"shm": "auto"}
    size = _size(empty.get("sizeLimit"))
    return {"shm": size} if set(empty) == {"medium", "sizeLimit"} and size else None


def _source(source: dict[str, Any]) -> dict[str, Any] | None:
    if len(source) != 1:
        return None
    kind, detail = next(iter(source.items()))
    if not isinstance(detail, dict):
        return None
    match kind, detail:
        case "persistentVolumeClaim", {"claimName": str(name), **rest} if not rest or rest == {
            "readOnly": False
        }:
            return {"pvc": name}
        case "persistentVolumeClaim", {"claimName": str(name), "readOnly": True, **rest} if not rest:
            return {"pvc": name, "readOnly": True}
        case "nfs", {"server": str(server), "path": str(path), **rest} if not rest:
            return {"nfs": f"{server}:{path}"}
        case "secret", {"secretName": str(name), **rest} if not rest:
            return {"secret": name}
        case "configMap", {"name": str(name), **rest} if not rest:
            return {"configMap": name}
        case "hostPath", {"path": str(path), **rest} if not rest:
            return {"hostPath": path}
        case "emptyDir", {"sizeLimit": limit, **rest} if not rest and _size(limit):
            return {"emptyDir": _size(limit)}
    return None


def _size(value: Any) -> str | None:
    amount = try_quantity(str(getattr(value, "text", value))) if value is not None else None
    return str(Size(amount.value())) if amount is not None and amount.value() >= 2**20 else None


def _is_mounted_elsewhere(name: str, container: dict[str, Any], pod: dict[str, Any]) -> bool:
    others = [*_list(pod.get("containers")), *_list(pod.get("initContainers"))]
    return any(
        mount.get("name") == name
        for other in others
        if other is not container
        for mount in _list(other.get("volumeMounts"))
    )


def _list(value: Any) -> list[dict[str, Any]]:
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def _tell_about_checkpoints(
    lines: list[dict[str, Any]],
    kept: list[Any],
    volumes: dict[str, dict[str, Any]],
    words: str,
    notes: Notes,
) -> None:
    for line in lines:
        if "pvc" in line and _CHECKPOINTS.search(f"{line['mount']} {line['pvc']}"):
            notes.hints.append(
                f"{line['mount']} looks like checkpoints; to resume from them: "
                f"checkpoints: {{to: pvc/{line['pvc']}, mount: {line['mount']}}} instead of the volume"
            )
    scratch = [line["mount"] for line in lines if "emptyDir" in line]
    scratch += [
        str(mount.get("mountPath"))
        for mount in kept
        if isinstance(mount, dict) and "emptyDir" in volumes.get(str(mount.get("name")), {})
    ]
    for path in scratch:
        if path != SHM and (_CHECKPOINTS.search(path) or (_CHECKPOINTS.search(words) and path in words)):
            notes.truths.append(
                f"checkpoints at {path} are on an emptyDir and die with the pod; "
                "checkpoints: pvc/NAME keeps them"
            )
