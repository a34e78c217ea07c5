"""Shares of a pod's resources: `auto`, one amount, or `request..limit`; the same words for memory, disk and cores."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Generic, Protocol, Self, TypeVar

from tonnage.spec.literals.refusals import LiteralError, shown


class Amount(Protocol):
    """What a share is a share of: amounts that can be compared."""

    def __lt__(self, other: Any, /) -> bool: ...


A = TypeVar("A", bound=Amount)


@dataclass(frozen=True, slots=True)
class Share(Generic[A]):
    """How much of something a pod asks for: left to us (`auto`), or a request and a limit."""

    request: A | None = None
    limit: A | None = None

    code: ClassVar[str]
    expected: ClassVar[str]
    amount: ClassVar[type[Any]]
    """What is shared; its `parse` reads one amount."""

    @property
    def is_auto(self) -> bool:
        return self.request is None

    @classmethod
    def parse(cls, value: object) -> Self:
        """Read `auto`, one amount (request = limit), or `request..limit`."""
        if isinstance(value, str) and value.strip().lower() == "auto":
            return cls()
        if not isinstance(value, str) or ".." not in value:
            one = cls._read(value)
            return cls(one, one)
        low, _, high = value.partition("..")
        if not low.strip() or not high.strip():
            raise LiteralError(cls.code, f"{shown(value)} is half a range", expected=cls.expected)
        request, limit = cls._read(low.strip()), cls._read(high.strip())
        if limit < request:
            raise LiteralError(
                "DOC-020",
                f"the limit {limit} is below the request {request}",
                expected="request..limit, the smaller first",
                hint=f"try {limit}..{request}",
            )
        return cls(request, limit)

    @classmethod
    def _read(cls, value: object) -> A:
        try:
            found: A = cls.amount.parse(value)
        except LiteralError as error:
            raise LiteralError(error.code, error.what, expected=cls.expected, hint=error.hint) from None
        return found

    def __str__(self) -> str:
        if self.request is None:
            return "auto"
        return str(self.request) if self.request == self.limit else f"{self.request}..{self.limit}"
