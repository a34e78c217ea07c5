"""API answers to slim values, forgiving what real clusters write.

The fast path decodes a whole page straight into slim values. When one object in it does not fit (a null
where a list belongs, a number where a text belongs), the page is read again object by object and repaired;
what still makes no sense is reported as a gap instead of blinding us to the rest.
"""

from __future__ import annotations

import gc
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import lru_cache
from typing import Any, Generic, TypeVar

import msgspec

from tonnage.cluster.objects.meta import Value
from tonnage.cluster.snapshot import UNREADABLE, Gap
from tonnage.kube.interning import Interner

V = TypeVar("V", bound=Value)
T = TypeVar("T")

_TEXT_MAPS = frozenset(
    {"requests", "limits", "capacity", "allocatable", "hard", "used", "overhead", "allocatedResources"}
    | {"labels", "annotations", "matchLabels", "nodeSelector"}
    | {"min", "max", "default", "defaultRequest", "maxLimitRequestRatio"}
)


class ListMeta(msgspec.Struct, rename="camel"):
    resource_version: str = ""
    continue_: str = msgspec.field(name="continue", default="")
    remaining_item_count: int | None = None


class RawPage(msgspec.Struct):
    """A page of a list with its items left undecoded."""

    metadata: ListMeta = msgspec.field(default_factory=ListMeta)
    items: list[msgspec.Raw] | None = None


class Page(Generic[T]):
    """A page as read: its items, where the list stands, and what could not be read."""

    __slots__ = ("gaps", "items", "meta")

    def __init__(self, items: list[T], meta: ListMeta, gaps: tuple[Gap, ...] = ()) -> None:
        self.items, self.meta, self.gaps = items, meta, gaps


class Decoder(Generic[V]):
    """Decodes one kind, sharing repeated parts through one interner."""

    def __init__(self, type_: type[V], resource: str, interner: Interner | None = None) -> None:
        self.resource = resource
        self._type = type_
        self._one = msgspec.json.Decoder(type_)
        self._page = _page_decoder(type_)
        self._raw_page = msgspec.json.Decoder(RawPage)
        self._interner = Interner() if interner is None else interner

    def page(self, body: bytes) -> Page[V]:
        """Decode a page of a list; raises `msgspec.DecodeError` when it is not JSON at all."""
        try:
            page = self._page.decode(body)
            return Page([self._interner.shrink(item) for item in page.items or ()], page.metadata)
        except msgspec.ValidationError:
            raw = self._raw_page.decode(body)
            items, gaps = self.many(raw.items or ())
            return Page(items, raw.metadata, tuple(gaps))

    def one(self, body: bytes | memoryview | msgspec.Raw, known: Mapping[str, V] | None = None) -> V:
        """Decode one object, repairing it if need be; raises `msgspec.ValidationError` when that fails.

        `known` holds earlier versions by uid: what has not changed is then shared with them.
        """
        try:
            value = self._one.decode(body)
        except msgspec.ValidationError:
            value = repair(msgspec.json.decode(body), self._type)
        like = known.get(value.metadata.uid) if known else None  # type: ignore[attr-defined]
        return self._interner.shrink(value, like)

    def many(self, raw: Iterable[msgspec.Raw]) -> tuple[list[V], list[Gap]]:
        """Decode objects one by one; those that make no sense become gaps."""
        items: list[V] = []
        gaps: list[Gap] = []
        for item in raw:
            try:
                items.append(self.one(item))
            except msgspec.ValidationError as error:
                message = f"{_name_of(item)} was left out: {error}"
                gaps.append(Gap(resource=self.resource, reason=UNREADABLE, message=message))
        return items, gaps


def repair(document: object, type_: type[V]) -> V:
    """Fit an object that is almost right: nulls count as absent, and numbers may stand for texts."""
    return msgspec.convert(_texts(_without_nulls(document)), type_, strict=False)


def decode_object(document: object, type_: type[V]) -> V:
    """A slim value from an API object or manifest held as plain maps."""
    try:
        return msgspec.convert(document, type_)
    except msgspec.ValidationError:
        return repair(document, type_)


@contextmanager
def without_collecting() -> Iterator[None]:
    """Keep the cycle collector away from a relist: it is most of the cost of bulk decoding, and finds
    nothing.

    What was decoded is then frozen out of later collections too: it lives as long as the store does.
    """
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        if was_on:
            gc.enable()


def _without_nulls(value: object) -> object:
    if isinstance(value, dict):
        return {key: _without_nulls(part) for key, part in value.items() if part is not None}
    if isinstance(value, list):
        return [_without_nulls(part) for part in value if part is not None]
    return value


def _texts(value: object) -> object:
    """Quantities and labels written as bare numbers (`cpu: 1`) are texts to Kubernetes."""
    if isinstance(value, dict):
        return {
            key: {name: _as_text(one) for name, one in part.items()}
            if key in _TEXT_MAPS and isinstance(part, dict)
            else _texts(part)
            for key, part in value.items()
        }
    return [_texts(part) for part in value] if isinstance(value, list) else value


def _as_text(value: object) -> object:
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value) if isinstance(value, int | float) else value


@lru_cache(maxsize=64)
def _page_decoder(type_: type[Any]) -> msgspec.json.Decoder[Any]:
    page = msgspec.defstruct(
        f"{type_.__name__}Page",
        [
            ("metadata", ListMeta, msgspec.field(default_factory=ListMeta)),
            ("items", list[type_] | None, None),  # type: ignore[valid-type]
        ],
    )
    return msgspec.json.Decoder(page)


def _name_of(item: msgspec.Raw) -> str:
    try:
        meta = msgspec.json.decode(item).get("metadata") or {}
        return f"{meta.get('namespace', '')}/{meta.get('name', '?')}".lstrip("/")
    except (AttributeError, msgspec.DecodeError):
        return "an object"
