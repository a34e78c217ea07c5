"""Reading a long list in pages, as a small machine without a network.

The driver (a blocking client or an asynchronous one) asks `params()`, sends, and tells the machine what
came back. Two things can go wrong half way: the server forgets the list's beginning (410 on a `continue`
token; then we start again, and the third time we ask for everything at once, which cannot expire), and a
page makes no sense.
"""

from __future__ import annotations

from typing import Generic, Protocol, TypeVar

from tonnage.cluster.snapshot import Gap
from tonnage.kube.decoding import ListMeta

PAGE_SIZE = 500
PATIENCE = 2
"""How often a list may expire half way before we ask for all of it in one answer."""

T = TypeVar("T")


class ReadPage(Protocol[T]):
    """What a page reader gives: items, where the list stands, what could not be read."""

    items: list[T]
    meta: ListMeta
    gaps: tuple[Gap, ...]


class Paging(Generic[T]):
    """One list in progress."""

    def __init__(self, limit: int = PAGE_SIZE) -> None:
        self.items: list[T] = []
        self.gaps: list[Gap] = []
        self.resource_version = ""
        self.is_done = False
        self._limit = limit
        self._continue = ""
        self._expired = 0

    def params(self) -> dict[str, str]:
        """Query parameters of the next request."""
        params: dict[str, str] = {}
        if self._expired <= PATIENCE:
            params["limit"] = str(self._limit)
        if self._continue:
            params["continue"] = self._continue
        return params

    def accept(self, page: ReadPage[T]) -> None:
        """Take a page that arrived."""
        self.items.extend(page.items)
        self.gaps.extend(page.gaps)
        self.resource_version = page.meta.resource_version
        self._continue = page.meta.continue_
        self.is_done = not self._continue

    def restart(self) -> None:
        """The server forgot the list's beginning: what we have may no longer fit together."""
        self._expired += 1
        self._continue = ""
        self.items, self.gaps = [], []

    @property
    def can_restart(self) -> bool:
        return bool(self._continue)
