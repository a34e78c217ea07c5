"""Which files of a folder are shipped: all but what its ignore files name, and what never belongs in a pod.

`.gitignore` and `.tonnageignore` are read in every folder, with git's own rules (a later and deeper line wins, `!`
takes a file back). Links that lead out of the folder are refused rather than followed: they would ship what nobody
meant to ship.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from pathspec import GitIgnoreSpec

from tonnage.errors import DocumentError, Problem

IGNORE_FILES = (".gitignore", ".tonnageignore")
NEVER = (".git", ".hg", ".svn", "__pycache__", ".venv", "venv", "node_modules", ".ipynb_checkpoints", ".DS_Store",
         ".mypy_cache", ".ruff_cache", ".pytest_cache", "*.pyc")  # fmt: skip
"""Left out whatever the ignore files say; `!name` in one of them takes it back."""


@dataclass(frozen=True, slots=True)
class ShippedFile:
    """One file: its name in the pod, where it is here, and whether it may be run."""

    name: str
    path: Path
    size: int
    is_executable: bool = False


def files_to_ship(folder: Path, ignore: Iterable[str] = ()) -> list[ShippedFile]:
    """The files of a folder that belong into the pod, in order of their names."""
    if not folder.is_dir():
        raise DocumentError(
            Problem(
                code="CODE-001",
                what=f"there is no folder {folder} to ship",
                where="spec.code.path",
                hint="the path is relative to the document",
            )
        )
    root = folder.resolve()
    first = GitIgnoreSpec.from_lines(NEVER)
    last = GitIgnoreSpec.from_lines(ignore)
    found = _walk(root, root, [(root, first)], (root, last))
    return sorted(found, key=lambda file: file.name)


Rules = tuple[Path, GitIgnoreSpec]


def _walk(root: Path, folder: Path, rules: list[Rules], said: Rules) -> Iterator[ShippedFile]:
    rules = [*rules, *_own_rules(folder)]
    with os.scandir(folder) as entries:
        for entry in sorted(entries, key=lambda one: one.name):
            path = Path(entry.path)
            is_folder = entry.is_dir(follow_symlinks=False)
            if _is_ignored(path, is_folder, [*rules, said]):
                continue
            if is_folder:
                yield from _walk(root, path, rules, said)
            elif entry.is_symlink():
                yield from _linked(root, path, rules, said)
            elif entry.is_file():
                yield _file(root, path)


def _linked(root: Path, path: Path, rules: list[Rules], said: Rules) -> Iterator[ShippedFile]:
    """A link to a file inside is shipped as that file; one that leads out, or nowhere, is refused."""
    target = path.resolve()
    if not target.is_relative_to(root):
        raise DocumentError(
            Problem(
                code="CODE-002",
                what=f"{path.relative_to(root)} is a link that leads out of the folder",
                where="spec.code",
                found=str(target),
                expected=f"something inside {root}",
                hint="copy it into the folder, mount it as a volume, or name it in .tonnageignore",
            )
        )
    if target.is_file():
        yield _file(root, path)
    elif target.is_dir() and not path.is_relative_to(target):
        for inner in _walk(root, target, rules, said):
            name = path.relative_to(root) / inner.path.relative_to(target)
            yield ShippedFile(name.as_posix(), inner.path, inner.size, inner.is_executable)


def _own_rules(folder: Path) -> list[Rules]:
    lines: list[str] = []
    for name in IGNORE_FILES:
        file = folder / name
        if file.is_file():
            lines += file.read_text(errors="replace").splitlines()
    return [(folder, GitIgnoreSpec.from_lines(lines))] if lines else []


def _is_ignored(path: Path, is_folder: bool, rules: list[Rules]) -> bool:
    """What the last rule that speaks of the path says."""
    answer = False
    for base, spec in rules:
        name = path.relative_to(base).as_posix() + ("/" if is_folder else "")
        said = spec.check_file(name).include
        if said is not None:
            answer = said
    return answer


def _file(root: Path, path: Path) -> ShippedFile:
    facts = path.stat()
    return ShippedFile(path.relative_to(root).as_posix(), path, facts.st_size, bool(facts.st_mode & 0o111))
