"""Entries of a kubeconfig file, and their fields: each is what it should be, or a refusal says where it is not."""

from __future__ import annotations

import base64
import binascii
import urllib.parse
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from tonnage.errors import DocumentError, Problem, UnreachableError


@dataclass(frozen=True)
class Entry:
    """A named entry with the file it came from, for relative paths and for messages."""

    body: Mapping[str, Any]
    file: Path


def parse(file: Path, text: str) -> Mapping[str, Any]:
    """A kubeconfig file as a map; an empty file is an empty map."""
    try:
        document = yaml.load(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        where = f"{file}:{mark.line + 1}" if mark else str(file)
        raise DocumentError(
            Problem(
                code="KUBE-001",
                what=f"the kubeconfig is not valid YAML: {getattr(error, 'problem', None) or error}",
                where=where,
                hint="compare with `kubectl config view`, or let your provider write it again",
            )
        ) from None
    if document is None:
        return {}
    if not isinstance(document, Mapping):
        raise malformed(file, "", type(document).__name__, "a map with clusters, users and contexts")
    return document


def named_entries(
    document: Mapping[str, Any], plural: str, file: Path
) -> list[tuple[str, Mapping[str, Any]]]:
    """The named entries of one of a file's lists (`clusters`, `users`, `contexts`)."""
    entries = document.get(plural) or []
    singular = plural.removesuffix("s")
    if not isinstance(entries, list):
        raise malformed(file, plural, type(entries).__name__, "a list")
    found: list[tuple[str, Mapping[str, Any]]] = []
    for index, entry in enumerate(entries):
        if not isinstance(entry, Mapping) or not isinstance(entry.get("name"), str):
            raise malformed(file, f"{plural}[{index}]", repr(entry)[:60], "a map with a `name`")
        body = entry.get(singular)
        if body is not None and not isinstance(body, Mapping):
            raise malformed(file, f"{plural}[{index}].{singular}", repr(body)[:60], "a map")
        found.append((entry["name"], body or {}))
    return found


def text_of(entry: Entry, where: str, key: str) -> str:
    """A field that must be a text."""
    value = entry.body.get(key)
    if not isinstance(value, str) or not value:
        raise malformed(entry.file, f"{where}.{key}", repr(value), "a text")
    return value


def optional_text(value: object, file: Path, where: str) -> str:
    """A text, or nothing."""
    if value is None:
        return ""
    if not isinstance(value, str):
        raise malformed(file, where, repr(value), "a text")
    return value


def list_of(entry: Entry, where: str, value: object) -> list[Any]:
    """A list; nothing is an empty one."""
    if value is None:
        return []
    if not isinstance(value, list):
        raise malformed(entry.file, where, type(value).__name__, "a list")
    return value


def address_of(entry: Entry, where: str, key: str, schemes: tuple[str, ...]) -> str:
    """An address with one of these schemes."""
    address = text_of(entry, where, key)
    expected = f"an address that begins with {' or '.join(f'{scheme}://' for scheme in schemes)}"
    try:
        url = urllib.parse.urlsplit(address)
        is_good = url.scheme in schemes and bool(url.hostname) and url.port != 0 and address.isprintable()
    except ValueError:  # a port or an IPv6 address that is none
        is_good = False
    if not is_good:
        raise malformed(entry.file, f"{where}.{key}", repr(address), expected)
    return address


def data_or_file(entry: Entry, table: str, field_name: str) -> bytes | None:
    """Bytes given in the file itself (base64), or in another file that it names; data beats files."""
    data = entry.body.get(f"{field_name}-data")
    if data:
        try:
            return base64.b64decode("".join(str(data).split()), validate=True)
        except binascii.Error as error:
            where = f"{table}[].{field_name}-data"
            raise malformed(entry.file, where, f"text that is not base64 ({error})", "base64") from None
    path = entry.body.get(field_name)
    if not path:
        return None
    file = beside(entry.file, path)
    try:
        return file.read_bytes()
    except OSError as error:
        raise UnreachableError(
            Problem(
                code="KUBE-004",
                what=f"cannot read the {field_name} file named in the kubeconfig",
                where=f"{entry.file}: {table}[].{field_name}",
                found=f"{file}: {error.strerror}",
                hint="log in again, or correct the path (it is relative to the kubeconfig file)",
            )
        ) from error


def beside(file: Path, path: object) -> Path:
    """A path as a kubeconfig means it: relative to that file."""
    return file.parent / Path(str(path)).expanduser()


def malformed(file: Path, where: str, found: str, expected: str) -> DocumentError:
    """The refusal of a file that is not what a kubeconfig is."""
    return DocumentError(
        Problem(
            code="KUBE-001",
            what="the kubeconfig is not well formed",
            where=f"{file}: {where}" if where else str(file),
            found=found,
            expected=expected,
            hint="compare with `kubectl config view`, or let your provider write it again",
        )
    )
