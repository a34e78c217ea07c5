"""Where a manifest's program saves its progress, as far as flags, variables and mounts say so.

Only what is written counts as evidence: a flag or a variable that names a folder for checkpoints, then one for
output, then a volume that is mounted under such a name. A folder to *resume* from is not one to save to. The
deepest mount that holds the folder decides how long it lasts.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from tonnage.planning.workload.durability import (
    DiesWith,
    Durability,
    container_file_system,
    durability_of_place,
)
from tonnage.planning.workload.launching import words_of
from tonnage.planning.workload.value import CheckpointTarget, Mount
from tonnage.spec.literals import LiteralError, Place

_CHECKPOINT = re.compile(
    r"(ckpt|checkpoint)s?[-_.]?(dir|path|folder|root|to|location|uri|url)?$", re.IGNORECASE
)
_OUTPUT = re.compile(
    r"(output|save|out|result|model|work|log|default[-_]root)s?[-_.]?(dir|path|folder|to)$|^save$",
    re.IGNORECASE,
)
_NOT_A_TARGET = re.compile(r"resume|load|from|restore|init|pretrained|hf[-_]|cache|data|log", re.IGNORECASE)
_LOOKS_LIKE_CHECKPOINTS = re.compile(r"ckpt|checkpoint", re.IGNORECASE)
_KEEP = ("save_total_limit", "keep_last", "keep", "max_to_keep", "keep_latest_k", "num_checkpoints_to_keep")
_URL = re.compile(r"(s3|gs|az|hf|nfs)://\S+")


def checkpoint_target(
    command: Sequence[str], env: Mapping[str, str], mounts: Sequence[Mount]
) -> CheckpointTarget | None:
    """Where checkpoints go; None where nothing says so."""
    words = words_of(command)
    keep = _keep(words)
    for pattern in (_CHECKPOINT, _OUTPUT):
        for name, value, evidence in _said(words, env):
            if pattern.search(name) and not _NOT_A_TARGET.search(name):
                return CheckpointTarget(
                    durability=_durability(value, mounts),
                    mount=value,
                    keep=keep,
                    evidence=evidence,
                )
    for mount in mounts:
        if not mount.read_only and _LOOKS_LIKE_CHECKPOINTS.search(f"{mount.path} {mount.volume}"):
            return CheckpointTarget(
                durability=mount.durability,
                mount=mount.path,
                keep=keep,
                evidence=f"volume {mount.volume} is mounted at {mount.path}",
            )
    return None


def mount_of(path: str, mounts: Sequence[Mount]) -> Mount | None:
    """The mount a path lies in: the deepest one."""
    holding = [mount for mount in mounts if _is_inside(path, mount.path)]
    return max(holding, key=lambda mount: len(mount.path), default=None)


def _durability(value: str, mounts: Sequence[Mount]) -> Durability:
    if _URL.fullmatch(value):
        try:
            return durability_of_place(Place.parse(value))
        except LiteralError:
            return Durability(value, DiesWith.UNKNOWN, "not a place we can read")
    mount = mount_of(value, mounts)
    return mount.durability if mount is not None else container_file_system(value)


def _said(words: Sequence[str], env: Mapping[str, str]) -> list[tuple[str, str, str]]:
    """Flags and variables whose value is a path or a bucket: name, value, how it was written."""
    found = []
    for index, word in enumerate(words):
        name, equals, value = word.partition("=")
        if not equals and name.startswith("-") and index + 1 < len(words):
            value = words[index + 1]
        if (name.startswith("-") or equals) and _is_place(value):
            found.append((name.lstrip("-+"), value, f"{name}{'=' if equals else ' '}{value}"))
    found += [(name, value, f"env {name}={value}") for name, value in env.items() if _is_place(value)]
    return found


def _is_place(value: str) -> bool:
    return value.startswith(("/", "./", "../")) or _URL.fullmatch(value) is not None


def _is_inside(path: str, folder: str) -> bool:
    stem = folder.rstrip("/")
    return path == stem or path.startswith(f"{stem}/")


def _keep(words: Sequence[str]) -> int | None:
    for index, word in enumerate(words):
        name, equals, value = word.partition("=")
        if not equals and index + 1 < len(words):
            value = words[index + 1]
        if (
            name.startswith("-")
            and name.lstrip("-").replace("-", "_") in _KEEP
            and value.isdigit()
            and int(value)
        ):
            return int(value)
    return None
