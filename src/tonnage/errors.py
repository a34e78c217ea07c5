"""What can go wrong, drawn by what the reader can do about it.

    TonnageError                   exit  the reader should ...
    ├── UsageError                   2   call the command differently
    ├── DocumentError                1   fix the document (carries every mistake, not the first)
    ├── RefusedError                 1   change the request: we, or the cluster, said no
    │   └── ForbiddenError           1   get a permission (names verb and resource)
    ├── UnreachableError             3   get to the cluster: address, network
    │   └── UnauthorizedError        3   log in again
    ├── EnvironmentProblem           1   install or free something on this machine
    └── InternalError               70   report our bug

Every message has five parts: what happened, where, found versus expected, what to try, and a stable code.
A `Problem` holds them as data, so the terminal and `-o json` cannot drift apart.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar


@dataclass(frozen=True, kw_only=True)
class Problem:
    """One mistake or refusal, in the five parts a reader needs."""

    code: str
    what: str
    where: str | None = None
    found: str | None = None
    expected: str | None = None
    hint: str | None = None

    def as_json(self) -> dict[str, str]:
        """The stable JSON shape; absent parts are left out."""
        parts = {
            "code": self.code,
            "what": self.what,
            "where": self.where,
            "found": self.found,
            "expected": self.expected,
            "try": self.hint,
        }
        return {name: value for name, value in parts.items() if value is not None}

    def as_text(self) -> str:
        """Two or three lines: where and what with the code, found versus expected, what to try."""
        first = f"{self.where}  {self.what}" if self.where else self.what
        lines = [f"{first}  {self.code}"]
        if self.found is not None and self.expected is not None:
            lines.append(f"    found {self.found}; expected {self.expected}")
        elif self.found is not None:
            lines.append(f"    found {self.found}")
        elif self.expected is not None:
            lines.append(f"    expected {self.expected}")
        if self.hint is not None:
            lines.append(f"    {self.hint}")
        return "\n".join(lines)


class TonnageError(Exception):
    """Root of everything we raise on purpose; `problems` is never empty."""

    exit_code: ClassVar[int] = 1

    def __init__(self, *problems: Problem) -> None:
        if not problems:
            raise ValueError("an error without a problem explains nothing")
        super().__init__("\n".join(problem.as_text() for problem in problems))
        self.problems = problems

    @property
    def problem(self) -> Problem:
        return self.problems[0]


class UsageError(TonnageError):
    """The command was called in a way that has no meaning."""

    exit_code = 2


class DocumentError(TonnageError):
    """A document does not say what it must; every mistake is listed."""


class RefusedError(TonnageError):
    """We, or the cluster, will not do this as asked."""


class ForbiddenError(RefusedError):
    """The cluster knows who asks and does not allow it."""


class UnreachableError(TonnageError):
    """No answer, or no usable answer, from the cluster."""

    exit_code = 3


class UnauthorizedError(UnreachableError):
    """The cluster does not know who asks."""


class EnvironmentProblem(TonnageError):  # noqa: N818 - "problem with this machine", not a Python environment error
    """This machine lacks something we need: a tool, a port, disk, a permission."""


class InternalError(TonnageError):
    """A promise of our own was broken: this is our bug."""

    exit_code = 70
