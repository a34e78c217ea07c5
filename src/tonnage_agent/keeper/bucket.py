"""Checkpoints in a bucket.

    PREFIX/step-0000000120.attempt-0002.json             the manifest: created, never replaced; this is the commit
    PREFIX/data/step-0000000120.attempt-0002-9f3c/...    its files, under a prefix only its writer knows

Objects cannot be renamed, so the files lie where their writer put them and the manifest says where. It is created
with `If-None-Match: *`: of two writers one wins, the other takes the next name. Files are staged on this machine's
disk, since frameworks write folders; the server checks every part's SHA-256 as it arrives.
"""

from __future__ import annotations

import datetime as dt
import shutil
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tonnage_agent.keeper.failing import PlaceError, SaveFailed, TornCheckpoint
from tonnage_agent.keeper.folder import files_of
from tonnage_agent.keeper.hashing import check_files
from tonnage_agent.keeper.manifest import FileEntry, Manifest, read_manifest
from tonnage_agent.keeper.naming import Name, parse_label, parse_name
from tonnage_agent.keeper.objects import Listed, Objects
from tonnage_agent.keeper.staging import Staging

_DATA = "data/"
_SUFFIX = ".json"
_FILES_AT_ONCE = 4
IDLE_SECONDS = 3600.0
"""Files without a manifest that nobody has added to for so long have lost their writer."""


def open_bucket(where: str, environment: Mapping[str, str]) -> BucketPlace:
    """The place for `bucket/prefix`."""
    from tonnage_agent.keeper.s3 import open_client

    return BucketPlace(open_client(where, environment))


class BucketPlace:
    """A `Place` under one prefix of a bucket."""

    def __init__(self, objects: Objects, staging: Staging | None = None) -> None:
        self._objects = objects
        self._staging = staging or Staging(objects.url)

    @property
    def url(self) -> str:
        return self._objects.url

    def names(self) -> list[Name]:
        found = (parse_name(each.key[: -len(_SUFFIX)]) for each in self._objects.find("step-", deep=False))
        return sorted(name for name in found if name is not None)

    def draft(self, label: str, rank: int | None = None) -> BucketDraft:
        return BucketDraft(self._objects, self._staging, f"{_DATA}{label}/", is_owner=not rank)

    def manifest(self, name: Name) -> Manifest:
        content = self._objects.get(f"{name}{_SUFFIX}")
        if content is None:
            raise TornCheckpoint("it has no manifest")
        return read_manifest(content)

    def fetch(self, name: Name, manifest: Manifest, *, check: bool = True) -> Path:  # noqa: ARG002
        """Its files, fetched unless another process of this machine has; always checked: they have travelled."""
        self._staging.drop_fetched(keep=str(name))
        with self._staging.fetching(str(name)) as folder:
            try:
                check_files(folder, manifest.files)
            except TornCheckpoint:
                shutil.rmtree(folder, ignore_errors=True)
                self._download(manifest, folder)
                check_files(folder, manifest.files)
        return folder

    def local(self, name: Name) -> Path | None:  # noqa: ARG002 - nothing of a bucket is local
        return None

    def path(self, name: Name) -> str:
        return f"{self.url}/{name}{_SUFFIX}"

    def remove(self, name: Name) -> None:
        try:
            data = self.manifest(name).data
        except TornCheckpoint:
            data = ""
        self._objects.delete([f"{name}{_SUFFIX}"])
        if data.startswith(_DATA) and data.endswith("/"):
            self._objects.delete(each.key for each in self._objects.find(data))

    def sweep(self, attempt: int) -> list[str]:
        """Only what has been idle for long: a slow writer's files must not vanish between its commit and its check."""
        self._staging.sweep()
        used = set()
        for name in self.names():
            try:
                used.add(self.manifest(name).data)
            except TornCheckpoint:
                continue
        swept = []
        for folder in self._objects.find(_DATA, deep=False):
            meant = parse_label(folder.key[len(_DATA) :].rstrip("/"))
            if meant is None or meant.attempt > attempt or folder.key in used:
                continue
            files = self._objects.find(folder.key)
            if files and _is_idle(files, time.time()):
                self._objects.delete(each.key for each in files)
                swept.append(folder.key)
        self._objects.abort_uploads(lambda key: self._is_of_earlier(key, attempt))
        return swept

    def _is_of_earlier(self, key: str, attempt: int) -> bool:
        meant = parse_label(key[len(_DATA) :].partition("/")[0]) if key.startswith(_DATA) else None
        return meant is not None and meant.attempt < attempt

    def _download(self, manifest: Manifest, folder: Path) -> None:
        def fetch(file: FileEntry) -> None:
            target = folder / file.path
            target.parent.mkdir(parents=True, exist_ok=True)
            try:
                self._objects.get_file(manifest.data + file.path, target, file.size)
            except FileNotFoundError as error:
                raise TornCheckpoint(f"{file.path} is missing") from error

        with ThreadPoolExecutor(_FILES_AT_ONCE) as pool:
            list(pool.map(fetch, manifest.files))


class BucketDraft:
    """A `Draft` that becomes a checkpoint when its manifest is created."""

    def __init__(self, objects: Objects, staging: Staging, data: str, *, is_owner: bool) -> None:
        self._objects = objects
        self._staging = staging
        self._is_owner = is_owner
        self.data = data
        self.folder = staging.make()

    def seal(self) -> list[FileEntry]:
        paths = sorted(files_of(self.folder))

        def send(path: str) -> FileEntry:
            size, sha256 = self._objects.put_file(self.data + path, self.folder / path)
            return FileEntry(path, size, sha256)

        with ThreadPoolExecutor(_FILES_AT_ONCE) as pool:
            return list(pool.map(send, paths))

    def prove(self, files: Sequence[FileEntry]) -> None:
        """Every file is there with its size; its content was checked by the server as it arrived."""

        def check(file: FileEntry) -> None:
            found = self._objects.size(self.data + file.path)
            if found != file.size:
                raise TornCheckpoint(f"{file.path} has {found} bytes of {file.size} in the bucket")

        with ThreadPoolExecutor(_FILES_AT_ONCE) as pool:
            list(pool.map(check, files))

    def commit(self, name: Name, manifest: Manifest) -> bool:
        if not self._objects.put_new(f"{name}{_SUFFIX}", manifest.as_bytes()):
            return False
        try:
            self.prove(manifest.files)  # nobody swept them away before the name was there to protect them
        except (TornCheckpoint, PlaceError) as error:
            self._objects.delete([f"{name}{_SUFFIX}"])
            raise SaveFailed(f"{error}; somebody removed it while it was written") from error
        self._staging.drop_fetched()
        self.forget()
        return True

    def discard(self) -> None:
        self.forget()
        if self._is_owner:
            try:
                self._objects.delete(each.key for each in self._objects.find(self.data))
            except (OSError, PlaceError):
                return  # what is left is swept later

    def forget(self) -> None:
        self._staging.drop(self.folder)


def _is_idle(files: Sequence[Listed], now: float) -> bool:
    latest = max(each.modified for each in files)
    try:
        written = dt.datetime.fromisoformat(latest.replace("Z", "+00:00"))
    except ValueError:
        return False
    if written.tzinfo is None:
        written = written.replace(tzinfo=dt.timezone.utc)
    return now - written.timestamp() > IDLE_SECONDS
