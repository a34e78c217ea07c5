"""Saved snapshots: a cluster in a file, and that file as a cluster.

The file keeps API objects as they were, minus what `scrubbing` removes, because the scheduler, Kueue and a
diagnosis written years from now read fields that our slim values leave out. It is one JSON document:

    {"apiVersion": "tonnage.dev/v1alpha1", "kind": "Snapshot", "metadata": {...},
     "resources": {"pods": {"apiVersion": "v1", "kind": "Pod", "items": [...]}, ...}}

gzipped when its name ends in `.gz`. It is written page by page, so that saving a large cluster needs little
memory, and appears under its name only when it is whole.
"""

from __future__ import annotations

import datetime as dt
import gzip
import io
import os
import tempfile
import zlib
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import msgspec

from tonnage.cluster.port import Answer, Change, ChangeKind, Permission, Target
from tonnage.cluster.snapshot import Gap, Snapshot
from tonnage.errors import DocumentError, Problem, RefusedError
from tonnage.kube.assembling import assemble
from tonnage.kube.decoding import Decoder, without_collecting
from tonnage.kube.kinds import KINDS, Kind, find_kind
from tonnage.kube.scrubbing import scrub
from tonnage.units import format_bytes

API_VERSION = "tonnage.dev/v1alpha1"
KIND = "Snapshot"
_GZIP_MAGIC = b"\x1f\x8b"
_UNPACKED_AT_LEAST = 64 * 2**20
_MOST_PACKING = 400
_MOST_UNPACKED = 4 * 2**30


class Header(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """Where and when a snapshot was taken."""

    taken_at: dt.datetime
    source: str
    server_version: str = ""
    namespace: str = ""
    written_by: str = ""


class SavedList(msgspec.Struct, frozen=True, rename="camel"):
    """All saved objects of one kind, still as JSON."""

    api_version: str
    kind: str
    items: list[msgspec.Raw]


class Saved(msgspec.Struct, frozen=True, rename="camel"):
    """A saved snapshot as read from its file."""

    api_version: str
    kind: str
    metadata: Header
    resources: dict[str, SavedList] = {}
    gaps: tuple[Gap, ...] = ()


class _Kindness(msgspec.Struct, rename="camel"):
    """Enough of any document to say what it is."""

    api_version: str = ""
    kind: str = ""


@dataclass(frozen=True)
class Section:
    """One kind on its way into a file: its API version and pages of scrubbed, comma-separated JSON."""

    kind: Kind
    api_version: str
    pages: Iterable[bytes]


def write_saved(file: IO[bytes], header: Header, sections: Iterable[Section], gaps: Iterable[Gap]) -> None:
    """Write a snapshot to an open file, page by page. `gaps` is read after the last section."""
    encode = msgspec.json.encode
    file.write(
        b'{"apiVersion":%s,"kind":%s,"metadata":%s' % (encode(API_VERSION), encode(KIND), encode(header))
    )
    file.write(b',"resources":{')
    for index, section in enumerate(sections):
        start = (encode(section.kind.full_name), encode(section.api_version), encode(section.kind.kind))
        file.write((b"," if index else b"") + b'%s:{"apiVersion":%s,"kind":%s,"items":[' % start)
        for number, page in enumerate(section.pages):
            file.write(b",\n" + page if number else page)
        file.write(b"]}")
    file.write(b'},"gaps":%s}\n' % encode(list(gaps)))


@contextmanager
def whole_file(path: Path) -> Iterator[IO[bytes]]:
    """A file that appears under its name only when writing it has succeeded; gzipped for `.gz`."""
    try:
        descriptor, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    except OSError as error:
        problem = Problem(code="SNAP-005", what=f"cannot write here: {error.strerror}", where=str(path))
        raise RefusedError(problem) from error
    try:
        with os.fdopen(descriptor, "wb") as raw:
            if path.suffix == ".gz":
                with gzip.GzipFile(fileobj=raw, mode="wb", compresslevel=6, mtime=0) as packed:
                    yield packed  # type: ignore[misc]
            else:
                yield raw
            raw.flush()
            os.fsync(raw.fileno())
        Path(name).chmod(0o600)
        Path(name).replace(path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def read_saved(path: Path) -> Saved:
    """Read a saved snapshot; every way it can be broken has its own message."""
    try:
        data = path.read_bytes()
    except OSError as error:
        raise _broken("SNAP-001", f"cannot read it: {error.strerror}", path) from error
    return parse_saved(data, path)


def parse_saved(data: bytes, path: Path) -> Saved:
    """Read a saved snapshot from its bytes; `path` is for messages."""
    if data[:2] == _GZIP_MAGIC:
        data = _unpack(data, path)
    if not data.strip():
        raise _broken("SNAP-001", "the file is empty", path, hint=_SAVE_AGAIN)
    try:
        what = msgspec.json.decode(data, type=_Kindness)
    except msgspec.ValidationError:
        what = _Kindness()
    except msgspec.DecodeError as error:
        cut = (
            "the file is cut off: it ends in the middle"
            if "truncated" in str(error)
            else f"not JSON: {error}"
        )
        raise _broken("SNAP-002", cut, path, hint=_SAVE_AGAIN) from None
    _check_kind(what, path)
    try:
        return msgspec.json.decode(data, type=Saved)
    except msgspec.ValidationError as error:
        raise _broken("SNAP-002", f"not a well-formed snapshot: {error}", path, hint=_SAVE_AGAIN) from None


class SavedCluster:
    """A saved snapshot behind the cluster port: everything can be read, nothing can be changed."""

    def __init__(self, saved: Saved, target: Target) -> None:
        self.saved = saved
        self._target = target

    @classmethod
    def open(cls, path: Path, *, now: dt.datetime) -> SavedCluster:
        """Read a file as a cluster."""
        from tonnage.reporting.text import format_age

        saved = read_saved(path)
        age = format_age(now - saved.metadata.taken_at)
        return cls(saved, Target("snapshot", str(path), f"taken {age} ago"))

    @property
    def target(self) -> Target:
        return self._target

    def observe(self, namespace: str = "") -> Snapshot:
        header = self.saved.metadata
        gaps = list(self.saved.gaps)
        found: dict[str, list[Any]] = {}
        with without_collecting():
            for kind in KINDS:
                values, broken = self._values(kind, namespace)
                found.setdefault(kind.field, []).extend(values)
                gaps.extend(broken)
        return assemble(
            found,
            taken_at=header.taken_at,
            source=f"{self._target.kind} {self._target.name}",
            server_version=header.server_version,
            namespace=namespace or header.namespace,
            gaps=gaps,
        )

    def save(self, file: IO[bytes], namespace: str = "") -> None:
        """Write it again: all of it, or one namespace."""
        header = msgspec.structs.replace(
            self.saved.metadata, namespace=namespace or self.saved.metadata.namespace
        )
        sections = (
            Section(kind, held.api_version, _kept(held.items, kind, namespace))
            for kind in KINDS
            if (held := self.saved.resources.get(kind.full_name)) is not None
        )
        write_saved(file, header, sections, self.saved.gaps)

    async def follow(self, resources: Sequence[str], namespace: str = "") -> AsyncIterator[Change]:
        for resource in resources:
            kind = find_kind(resource)
            for value in self._values(kind, namespace)[0] if kind else ():
                yield Change(ChangeKind.ADDED, kind.full_name if kind else resource, value)
            yield Change(ChangeKind.SYNCED, kind.full_name if kind else resource)

    def fetch(self, resource: str, name: str, namespace: str = "") -> Mapping[str, Any] | None:
        kind = find_kind(resource)
        for document in self.documents(kind) if kind else ():
            meta = document.get("metadata") or {}
            if meta.get("name") == name and meta.get("namespace", "") == namespace:
                return document
        return None

    def apply(
        self,
        manifest: Mapping[str, Any],
        *,
        dry_run: bool = False,  # noqa: ARG002 - the port's signature; there is nothing to evaluate it against
        force: bool = False,  # noqa: ARG002
    ) -> Mapping[str, Any]:
        what = f"{manifest.get('kind', 'an object')} was not applied: a {self._target.kind} cannot be changed"
        raise RefusedError(
            Problem(
                code="SNAP-006",
                what=what,
                where=self._target.name,
                hint="make a twin with `tonnage sandbox up --from FILE` and try it there",
            )
        )

    def may(self, permissions: Sequence[Permission]) -> Sequence[Answer]:
        return [Answer(None, f"a {self._target.kind} knows no users") for _ in permissions]

    def documents(self, kind: Kind) -> Iterator[dict[str, Any]]:
        """The saved API objects of a kind, as plain maps with apiVersion and kind filled in."""
        held = self.saved.resources.get(kind.full_name)
        for item in held.items if held else ():
            document = msgspec.json.decode(item)
            if isinstance(document, dict) and held:
                yield {"apiVersion": held.api_version, "kind": held.kind, **document}

    def _values(self, kind: Kind, namespace: str) -> tuple[list[Any], list[Gap]]:
        held = self.saved.resources.get(kind.full_name)
        decoder: Decoder[Any] = Decoder(kind.type, kind.full_name)
        values, gaps = decoder.many(held.items if held else ())
        if namespace and kind.namespaced:
            values = [value for value in values if value.metadata.namespace == namespace]
        return values, gaps


_SAVE_AGAIN = "save it again with `tonnage snapshot --save FILE`"


def _kept(items: Iterable[msgspec.Raw], kind: Kind, namespace: str) -> Iterator[bytes]:
    # Scrubbed once more: the file may come from somebody else's hands.
    for item in items:
        document = scrub(msgspec.json.decode(item))
        place = (document.get("metadata") or {}).get("namespace", "") if isinstance(document, dict) else ""
        if not (namespace and kind.namespaced) or place == namespace:
            yield msgspec.json.encode(document)


def _unpack(data: bytes, path: Path) -> bytes:
    # A file may come from other hands. Pods of one gang pack well, but not this well.
    bound = min(_MOST_UNPACKED, _UNPACKED_AT_LEAST + _MOST_PACKING * len(data))
    try:
        with gzip.GzipFile(fileobj=io.BytesIO(data)) as packed:
            unpacked = packed.read(bound + 1)
            if len(unpacked) <= bound:
                return unpacked
        raise _broken(
            "SNAP-009",
            "the file unpacks to far more than a snapshot would",
            path,
            found=f"{format_bytes(len(data))} that unpack to more than {format_bytes(bound)}",
            hint="do not trust it; unpack it with gunzip where there is room, and look",
        )
    except (OSError, EOFError, zlib.error) as error:
        raise _broken(
            "SNAP-002", f"the file is cut off or damaged: {error}", path, hint=_SAVE_AGAIN
        ) from None


def _check_kind(what: _Kindness, path: Path) -> None:
    if what.kind != KIND or not what.api_version.startswith("tonnage.dev/"):
        found = f"{what.kind or 'no kind'} ({what.api_version or 'no apiVersion'})"
        hint = _SAVE_AGAIN if what.kind != "List" else f"`kubectl get -o json` is not enough: {_SAVE_AGAIN}"
        raise _broken("SNAP-003", "the file is not a snapshot", path, found=found, hint=hint)
    if what.api_version != API_VERSION:
        raise _broken(
            "SNAP-004",
            "the snapshot was written in another version of the format",
            path,
            found=what.api_version,
            hint="upgrade tonnage to read it",
        )


def _broken(
    code: str, what: str, path: Path, *, found: str | None = None, hint: str | None = None
) -> DocumentError:
    expected = f"kind {KIND} of {API_VERSION}" if found else None
    return DocumentError(
        Problem(code=code, what=what, where=str(path), found=found, expected=expected, hint=hint)
    )
