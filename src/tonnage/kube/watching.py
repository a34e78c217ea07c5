"""Following a kind of object for days: a pure step per line, and the loop that feeds it.

List, then watch from the list's version, and whenever the thread is lost pick it up where it was; when the
server no longer remembers that point (410, as a status or as an ERROR event), list again and report the
difference, deletions included. Three habits keep it alive where plain watches die: bookmarks keep our
version young, an idle limit ends connections that are silently dead (a load balancer forgot them), and
waits between tries are jittered.

`read_line` knows the protocol and nothing of networks; `Reflector` knows networks and nothing of pods.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import httpx2
import msgspec

from tonnage.cluster.objects.meta import Meta, Value
from tonnage.cluster.port import Change, ChangeKind
from tonnage.errors import Problem, TonnageError
from tonnage.kube import failing
from tonnage.kube.client import KubeClient, jittered
from tonnage.kube.decoding import Decoder, without_collecting
from tonnage.kube.failing import Asked, BusyError, ExpiredError
from tonnage.kube.interning import Interner
from tonnage.kube.kinds import Kind
from tonnage.kube.listing import Paging

V = TypeVar("V", bound=Value)

IDLE_SECONDS = 75.0
"""Bookmarks come every minute; silence longer than this means that nobody is at the other end."""
WATCH_SECONDS = (300, 600)
"""How long we ask a watch to last; random, so that many watchers do not reconnect as one."""


class _Line(msgspec.Struct):
    type: str
    object: msgspec.Raw


class _BookmarkObject(msgspec.Struct):
    metadata: Meta


@dataclass(frozen=True, slots=True)
class News(Generic[V]):
    """An object was added, modified or deleted."""

    kind: ChangeKind
    object: V


@dataclass(frozen=True, slots=True)
class Bookmark:
    """Nothing changed up to here."""

    resource_version: str


@dataclass(frozen=True, slots=True)
class Gone:
    """The server forgot our place: list again."""


@dataclass(frozen=True, slots=True)
class Trouble:
    """The server reports a failure, or a line makes no sense: reconnect from the last good place."""

    message: str


_KINDS = {"ADDED": ChangeKind.ADDED, "MODIFIED": ChangeKind.MODIFIED, "DELETED": ChangeKind.DELETED}
_STARTS = tuple((b'{"type":"%s","object":' % name.encode(), kind) for name, kind in _KINDS.items())
_LINE = msgspec.json.Decoder(_Line)
_BOOKMARK = msgspec.json.Decoder(_BookmarkObject)


def read_line(
    line: bytes, decoder: Decoder[V], known: Mapping[str, V] | None = None
) -> News[V] | Bookmark | Gone | Trouble:
    """What one line of a watch says; `known` holds the objects we have, to share what did not change."""
    try:
        quick = _cut(line)
        if quick is not None:
            return News(quick[0], decoder.one(quick[1], known))
        event = _LINE.decode(line)
        kind = _KINDS.get(event.type)
        if kind is not None:
            return News(kind, decoder.one(event.object, known))
        if event.type == "BOOKMARK":
            return Bookmark(_BOOKMARK.decode(event.object).metadata.resource_version)
        status = msgspec.json.decode(event.object)
    except msgspec.DecodeError as error:
        return Trouble(f"a line of the watch makes no sense: {error}")
    if event.type == "ERROR" and isinstance(status, dict):
        if status.get("code") == 410 or status.get("reason") in ("Expired", "Gone"):
            return Gone()
        return Trouble(str(status.get("message") or status))
    return Trouble(f"unknown event type {event.type!r}")


def _cut(line: bytes) -> tuple[ChangeKind, memoryview] | None:
    """The object inside a line as API servers write them; saves reading twelve kilobytes twice."""
    for start, kind in _STARTS:
        if line.startswith(start) and line.endswith(b"}"):
            return kind, memoryview(line)[len(start) : -1]
    return None


class Lines:
    """Cuts a stream of chunks into lines without copying more than the unfinished tail."""

    def __init__(self) -> None:
        self._rest: list[bytes] = []

    def feed(self, chunk: bytes) -> Iterator[bytes]:
        """The lines completed by this chunk."""
        start = 0
        while (end := chunk.find(b"\n", start)) >= 0:
            piece = chunk[start:end]
            if self._rest:
                self._rest.append(piece)
                piece = b"".join(self._rest)
                self._rest = []
            if piece:
                yield piece
            start = end + 1
        if start < len(chunk):
            self._rest.append(chunk[start:])


class Reflector(Generic[V]):
    """Keeps a local copy of all objects of one kind, and tells what changes in it."""

    def __init__(
        self,
        client: KubeClient,
        kind: Kind,
        *,
        namespace: str = "",
        interner: Interner | None = None,
        idle_seconds: float = IDLE_SECONDS,
        longest_wait: float = 30.0,
    ) -> None:
        self.kind = kind
        self.store: dict[str, V] = {}
        """Objects by uid."""
        self.resource_version = ""
        self.is_synced = False
        self.num_lists = 0
        self.trouble: TonnageError | None = None
        """Why we are not up to date, while we are not."""
        self._client = client
        self._namespace = namespace
        self._decoder: Decoder[Any] = Decoder(kind.type, kind.full_name, interner)
        self._idle_seconds = idle_seconds
        self._longest_wait = longest_wait
        self._failures = 0
        self._num_lines = 0

    async def changes(self) -> AsyncGenerator[Change, None]:
        """What exists, then SYNCED, then every change, for ever; raises only while never in sync."""
        async with self._client.watching_client(self._idle_seconds) as http:
            while True:
                try:
                    if not self.resource_version:
                        for change in await self._relist(http):
                            yield change
                    self._num_lines = 0
                    async with contextlib.aclosing(self._watch(http)) as news:
                        async for change in news:
                            yield change
                    if not self._num_lines:
                        await self._pause()  # a server that ends empty watches at once must not be hammered
                except ExpiredError:
                    self.resource_version = ""
                except TonnageError as error:
                    if not self.is_synced and not isinstance(error, BusyError):
                        raise
                    self.trouble = error
                    await self._pause(error)

    async def _pause(self, error: TonnageError | None = None) -> None:
        wait = error.retry_after if isinstance(error, BusyError) else None
        chance = self._client.chance
        await asyncio.sleep(wait or jittered(self._failures, chance, most=self._longest_wait))
        self._failures += 1

    async def _relist(self, http: httpx2.AsyncClient) -> list[Change]:
        """List everything; what has gone since the last list is reported as deleted."""
        version = await asyncio.to_thread(self._client.version_of, self.kind)
        path = self.kind.path(self._namespace, version=version)
        asked = Asked("list", self.kind.resource, self.kind.group, self._namespace)
        paging: Paging[V] = Paging()
        with without_collecting():
            while not paging.is_done:
                try:
                    body = await self._get(http, path, asked, paging.params())
                    page = self._decoder.page(body)
                    page.items = [self._known(item) for item in page.items]
                    paging.accept(page)
                except ExpiredError:
                    if not paging.can_restart:
                        raise
                    paging.restart()
                except msgspec.DecodeError as error:
                    raise failing.not_understood(f"{asked}: {error}", str(http.base_url)) from error
                # A page of 500 pods takes a while to decode: let the other reflectors breathe.
                await asyncio.sleep(0)
        changes = self._difference(paging.items)
        self.num_lists += 1
        self.resource_version = paging.resource_version
        self._recovered()
        self.is_synced = True
        return changes

    def _known(self, item: V) -> V:
        """Our own copy where nothing changed, so that a relist does not hold everything twice."""
        known = self.store.get(key_of(item))
        same = known is not None and meta_of(known).resource_version == meta_of(item).resource_version
        return known if same and known is not None else item

    def _difference(self, items: list[V]) -> list[Change]:
        before, resource = self.store, self.kind.full_name
        self.store = {key_of(item): item for item in items}
        changes: list[Change] = []
        for key, old in before.items():
            if key not in self.store:
                changes.append(Change(ChangeKind.DELETED, resource, old))
        for key, item in self.store.items():
            known = before.get(key)
            if known is None:
                changes.append(Change(ChangeKind.ADDED, resource, item))
            elif meta_of(known).resource_version != meta_of(item).resource_version:
                changes.append(Change(ChangeKind.MODIFIED, resource, item))
        changes.append(Change(ChangeKind.SYNCED, resource))
        return changes

    async def _watch(self, http: httpx2.AsyncClient) -> AsyncGenerator[Change, None]:
        """One watch connection, until it ends for whatever reason."""
        version = await asyncio.to_thread(self._client.version_of, self.kind)
        asked = Asked("watch", self.kind.resource, self.kind.group, self._namespace)
        params = {
            "watch": "true",
            "resourceVersion": self.resource_version,
            "allowWatchBookmarks": "true",
            "timeoutSeconds": str(self._client.chance.randint(*WATCH_SECONDS)),
        }
        lines = Lines()
        try:
            path = self.kind.path(self._namespace, version=version)
            async with http.stream("GET", path, params=params) as response:
                if not response.is_success:
                    body = await response.aread()
                    raise failing.from_answer(response.status_code, body, asked, headers=response.headers)
                async for chunk in response.aiter_bytes():
                    for line in lines.feed(chunk):
                        change = self._apply(line, asked)
                        if change is not None:
                            yield change
        except httpx2.HTTPError as error:
            raise failing.from_network(error, self._client.access.server) from error

    def _apply(self, line: bytes, asked: Asked) -> Change | None:
        self._num_lines += 1
        news = read_line(line, self._decoder, self.store)
        if isinstance(news, Gone):
            raise failing.from_answer(410, b"", asked)
        if isinstance(news, Trouble):
            raise BusyError(Problem(code="KUBE-053", what=f"cannot {asked}: {news.message}"))
        self._recovered()
        if isinstance(news, Bookmark):
            self.resource_version = news.resource_version
            return None
        item = news.object
        self.resource_version = meta_of(item).resource_version
        key = key_of(item)
        if news.kind is ChangeKind.DELETED:
            self.store.pop(key, None)
            return Change(ChangeKind.DELETED, self.kind.full_name, item)
        # The server may call MODIFIED what we have never seen, and ADDED what we have: our store decides.
        kind = ChangeKind.MODIFIED if key in self.store else ChangeKind.ADDED
        self.store[key] = item
        return Change(kind, self.kind.full_name, item)

    def _recovered(self) -> None:
        self._failures = 0
        self.trouble = None

    async def _get(self, http: httpx2.AsyncClient, path: str, asked: Asked, params: dict[str, str]) -> bytes:
        try:
            response = await http.get(path, params=params)
        except httpx2.HTTPError as error:
            raise failing.from_network(error, self._client.access.server) from error
        if response.is_success:
            return response.content
        raise failing.from_answer(response.status_code, response.content, asked, headers=response.headers)


async def merged(sources: list[Callable[[], AsyncIterator[Change]]]) -> AsyncIterator[Change]:
    """Several streams of changes as one; the first failure ends all."""
    queue: asyncio.Queue[Change | BaseException] = asyncio.Queue(maxsize=1000)

    async def pump(source: Callable[[], AsyncIterator[Change]]) -> None:
        try:
            async for change in source():
                await queue.put(change)
        except Exception as error:
            await queue.put(error)

    tasks = [asyncio.create_task(pump(source)) for source in sources]
    try:
        while True:
            item = await queue.get()
            if isinstance(item, BaseException):
                raise item
            yield item
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


def meta_of(item: Any) -> Meta:
    meta: Meta = item.metadata
    return meta


def key_of(item: Any) -> str:
    """The uid; objects without one (hand-made snapshots) go by namespace and name."""
    meta = meta_of(item)
    return meta.uid or f"{meta.namespace}/{meta.name}"
