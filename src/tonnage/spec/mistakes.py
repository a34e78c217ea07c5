"""A mistake in a document: a `Problem` that knows its file, line and field.

The five parts of every message stay those of `tonnage.errors.Problem`; a document adds where in the file it
was written, which field it was about, and whether it stops anything (a mistake) or is only worth a look (a
remark).
"""

from __future__ import annotations

import msgspec

from tonnage.errors import Problem

Path = tuple[str | int, ...]


class Mistake(msgspec.Struct, frozen=True, kw_only=True):
    """One thing to mend (or, as a remark, to know) in a document."""

    code: str
    what: str
    path: Path = ()
    file: str = ""
    line: int | None = None
    column: int | None = None
    found: str | None = None
    expected: str | None = None
    hint: str | None = None
    is_remark: bool = False

    @property
    def place(self) -> str:
        """`run.yaml:14`, or the file alone where no line is to blame."""
        return self.file if self.line is None else f"{self.file}:{self.line}"

    @property
    def field(self) -> str:
        return field_text(self.path)

    @property
    def headline(self) -> str:
        return f"{self.field}: {self.what}" if self.path else self.what

    def as_problem(self) -> Problem:
        """The same mistake in the shape that every error of Tonnage has."""
        return Problem(
            code=self.code,
            what=self.headline,
            where=self.place or None,
            found=self.found,
            expected=self.expected,
            hint=self.hint,
        )

    def as_json(self) -> dict[str, str | int]:
        """The stable JSON shape; absent parts are left out."""
        parts: dict[str, str | int | None] = {
            "severity": "remark" if self.is_remark else "mistake",
            "code": self.code,
            "file": self.file,
            "line": self.line,
            "column": self.column,
            "field": self.field or None,
            "what": self.what,
            "found": self.found,
            "expected": self.expected,
            "try": self.hint,
        }
        return {name: value for name, value in parts.items() if value is not None}


def field_text(path: Path) -> str:
    """A field path as people write it.

    >>> field_text(("spec", "volumes", 0, "mount")), field_text(("metadata", "labels", "a.b/c"))
    ('spec.volumes[0].mount', 'metadata.labels[a.b/c]')
    """
    text = ""
    for part in path:
        if isinstance(part, int):
            text += f"[{part}]"
            continue
        name = part if len(part) <= 60 else f"{part[:57]}..."
        name = "".join(character if character.isprintable() else "?" for character in name)
        plain = all(character.isalnum() or character in "_-$" for character in name) and name
        text += (f".{name}" if text else name) if plain else f"[{name}]"
    return text
