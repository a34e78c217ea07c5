"""Checkpoints in a folder: a local disk, a mounted volume, a network file system.

    ROOT/step-0000000120.attempt-0002/manifest.json, ...    committed
    ROOT/.draft-step-0000000240.attempt-0002-9f3c/          being written, or left by a writer that was killed
    ROOT/.trash-...                                         being removed

A draft is written, made lasting (fsync of every file and folder), read back, and renamed: the rename is the commit,
and renaming onto an existing folder fails, so a name has one writer. Removal renames first as well: a writer killed
while it removes leaves no half checkpoint under a name, and a draft swept away under a writer that was only slow can
no longer be committed.
"""

from __future__ import annotations

import errno
import os
import shutil
import time
import uuid
from collections.abc import Iterator, Sequence
from pathlib import Path

from tonnage_agent.keeper.failing import PlaceError, SaveFailed, TornCheckpoint, unreadable
from tonnage_agent.keeper.hashing import check_files, hash_files
from tonnage_agent.keeper.manifest import MANIFEST, FileEntry, Manifest, read_manifest
from tonnage_agent.keeper.naming import Name, parse_label, parse_name

_DRAFT = ".draft-"
_TRASH = ".trash-"
_RANK = ".rank-"
IDLE_SECONDS = 600.0
"""A draft of our own attempt that nobody has written to for so long has lost its writer."""


class FolderPlace:
    """A `Place` in a folder, which is made when first written to."""

    def __init__(self, root: Path) -> None:
        self.root = root

    @property
    def url(self) -> str:
        return str(self.root)

    def names(self) -> list[Name]:
        found = (parse_name(entry) for entry in self._entries())
        return sorted(name for name in found if name is not None)

    def draft(self, label: str, rank: int | None = None) -> FolderDraft:
        home = self.root / f"{_DRAFT}{label}"
        folder = home if rank is None else home / f"{_RANK}{rank}"
        folder.mkdir(parents=True, exist_ok=True)
        return FolderDraft(self.root, home, folder, is_owner=not rank)

    def manifest(self, name: Name) -> Manifest:
        try:
            content = (self.root / str(name) / MANIFEST).read_bytes()
        except (FileNotFoundError, NotADirectoryError) as error:
            raise TornCheckpoint("it has no manifest") from error
        except OSError as error:
            raise unreadable(self.root / str(name) / MANIFEST, error) from error
        return read_manifest(content)

    def fetch(self, name: Name, manifest: Manifest, *, check: bool = True) -> Path:
        folder = self.root / str(name)
        check_files(folder, manifest.files, sizes_only=not check)
        return folder

    def local(self, name: Name) -> Path | None:
        return self.root / str(name)

    def path(self, name: Name) -> str:
        return str(self.root / str(name))

    def remove(self, name: Name) -> None:
        _remove(self.root, str(name))

    def sweep(self, attempt: int) -> list[str]:
        swept = []
        for entry in self._entries():
            if entry.startswith(_TRASH):
                shutil.rmtree(self.root / entry, ignore_errors=True)
            elif entry.startswith(_DRAFT) and self._is_left(entry, attempt):
                _remove(self.root, entry)
                swept.append(entry)
        return swept

    def _is_left(self, entry: str, attempt: int) -> bool:
        """Whether a draft has lost its writer; one of a newer attempt never has."""
        meant = parse_label(entry[len(_DRAFT) :])
        if meant is None or meant.attempt > attempt:
            return False
        return meant.attempt < attempt or time.time() - _touched(self.root / entry) > IDLE_SECONDS

    def _entries(self) -> list[str]:
        try:
            return sorted(entry.name for entry in self.root.iterdir())
        except FileNotFoundError:
            return []
        except OSError as error:
            raise PlaceError(f"checkpoints cannot be listed ({error}); nothing was begun anew") from error


class FolderDraft:
    """A `Draft` that becomes a checkpoint by being renamed."""

    data = ""

    def __init__(self, root: Path, home: Path, folder: Path, *, is_owner: bool) -> None:
        self._is_owner = is_owner
        self._root = root
        self._home = home
        self.folder = folder

    def seal(self) -> list[FileEntry]:
        paths = sorted(files_of(self.folder))
        entries = hash_files(self.folder, paths)
        for path in paths:
            _sync(self.folder / path)
        if self.folder != self._home:
            self._move_up(paths)
        return entries

    def prove(self, files: Sequence[FileEntry]) -> None:
        check_files(self._home, files, from_disk=True)

    def commit(self, name: Name, manifest: Manifest) -> bool:
        for left in self._home.glob(f"{_RANK}*"):  # emptied by the ranks that wrote there
            shutil.rmtree(left, ignore_errors=True)
        written = self._home / MANIFEST
        written.write_bytes(manifest.as_bytes())
        _sync(written)
        for folder, _, _ in os.walk(self._home):
            _sync(Path(folder))
        try:
            self._home.rename(self._root / str(name))
        except OSError as error:
            if error.errno in (errno.ENOTEMPTY, errno.EEXIST, errno.ENOTDIR):
                return False
            raise
        _sync(self._root)
        return True

    def discard(self) -> None:
        if self._is_owner:
            _remove(self._root, self._home.name)

    def forget(self) -> None:
        """Nothing lies outside the checkpoint itself."""

    def _move_up(self, paths: Sequence[str]) -> None:
        """From this rank's folder to the checkpoint's own; two ranks must not write the same file."""
        for path in paths:
            target = self._home / path
            target.parent.mkdir(parents=True, exist_ok=True)
            try:
                os.link(self.folder / path, target)
            except FileExistsError as error:
                raise SaveFailed(
                    f"two ranks wrote the same file {path}; give each rank's file its own name"
                ) from error
            (self.folder / path).unlink()


def files_of(folder: Path) -> Iterator[str]:
    """Relative paths of all files; a link becomes what it points at, for that may be gone tomorrow."""
    for parent, folders, files in os.walk(folder):
        here = Path(parent)
        for each in [*folders, *files]:
            if (here / each).is_symlink():
                _materialize(here / each)
        for each in files:
            path = here / each
            if path.is_file():
                yield path.relative_to(folder).as_posix()
            elif not path.is_dir():
                raise SaveFailed(f"{path.name} is neither a file nor a folder: it cannot be kept")
        for each in folders:
            if each.startswith(_RANK):
                raise SaveFailed(f"{each} is a name the keeper needs for itself")


def _materialize(link: Path) -> None:
    target = link.resolve()
    if not target.exists():
        raise SaveFailed(f"{link.name} is a link to {target}, which does not exist")
    if target in link.parents:
        raise SaveFailed(f"{link.name} is a link to a folder it lies in: it cannot be kept")
    link.unlink()
    if target.is_dir():
        shutil.copytree(target, link)
    else:
        shutil.copy2(target, link)


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.EBADF) or not path.is_dir():  # some mounts sync no folders
            raise
    finally:
        os.close(descriptor)


def _remove(root: Path, entry: str) -> None:
    """Out of sight in one step, then away; what cannot be removed now is swept later."""
    trash = root / f"{_TRASH}{uuid.uuid4().hex[:12]}"
    try:
        (root / entry).rename(trash)
    except OSError:
        return
    shutil.rmtree(trash, ignore_errors=True)


def _touched(folder: Path) -> float:
    """When anything in a draft was last written to."""
    latest = 0.0
    for parent, _, files in os.walk(folder):
        for path in (Path(parent), *(Path(parent) / name for name in files)):
            try:
                latest = max(latest, path.lstat().st_mtime)
            except OSError:
                continue
    return latest
