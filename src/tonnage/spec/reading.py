"""Read a file's bytes into documents whose every value knows its line.

Pure: it takes bytes or text and a name, and opens nothing. What cannot be read is a `Mistake`, never an
exception, and a file that breaks off half-way still gives the documents before the break. Whoever opens the
file should read at most `MAX_BYTES + 1` bytes: one more than we accept is enough to refuse it.
"""

from __future__ import annotations

import codecs
from collections.abc import Iterator
from typing import Any

import msgspec

from tonnage.spec.composing import ComposeError, Node, compose
from tonnage.spec.mistakes import Mistake, Path
from tonnage.spec.scalars import plain_scalar

MAX_BYTES = 1_000_000
"""Kubernetes refuses objects above about 1.5 MB; no document a person writes comes near."""

_WIDE_MARKS = (codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE, codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
_NUMBERS = ("int", "float", "bool", "null")


class RawDocument(msgspec.Struct, frozen=True):
    """One document of a file as plain values, and where each of them was written."""

    file: str
    value: Any
    line: int
    marks: dict[Path, tuple[int, int]] = msgspec.field(default_factory=dict)

    def locate(self, path: Path) -> tuple[int, int]:
        """Line and column of a field, or of the nearest thing around it that was written."""
        for length in range(len(path), -1, -1):
            if path[:length] in self.marks:
                return self.marks[path[:length]]
        return self.line, 1

    def written(self, path: Path) -> Path:
        """The part of a path that is really in the file (a short form has no inner fields)."""
        for length in range(len(path), 0, -1):
            if path[:length] in self.marks:
                return path[:length]
        return path


class Reading(msgspec.Struct, frozen=True):
    """What a file held, and what was wrong with it as a file."""

    documents: list[RawDocument]
    mistakes: list[Mistake]


def read(content: bytes | str, file: str) -> Reading:
    """Every document in the file, and one clear mistake where it cannot be read (on)."""
    text, mistake = _decode(content, file)
    if mistake is not None:
        return Reading([], [mistake])
    documents: list[RawDocument] = []
    mistakes: list[Mistake] = []
    try:
        for root in compose(text):
            if root is None or _is_empty(root):
                continue
            builder = _Values(file, root)
            documents.append(RawDocument(file, builder.value(root, ()), root.line, builder.marks))
            mistakes.extend(builder.mistakes)
    except ComposeError as error:
        if (
            error.code == "DOC-008"
        ):  # built to hurt, or not written by a person: nothing in it is worth a word
            documents, mistakes = [], []
        mistakes.append(
            Mistake(
                code=error.code,
                what=error.what,
                file=file,
                line=error.line,
                expected=error.expected,
                hint=error.hint,
            )
        )
    if not documents and not mistakes:
        mistakes.append(empty(file, text))
    return Reading(documents, mistakes)


def too_large(file: str, size: int | None = None) -> Mistake:
    """The refusal of a file that nobody wrote by hand."""
    return Mistake(
        code="DOC-008",
        what="the file is too large to be a document",
        file=file,
        found=f"{size / 1e6:,.1f} MB" if size is not None else f"over {MAX_BYTES / 1e6:,.0f} MB",
        expected=f"at most {MAX_BYTES / 1e6:,.0f} MB",
        hint="data belongs in a volume or a bucket; name it under spec.data",
    )


def empty(file: str, text: str = "") -> Mistake:
    """The remark that nothing was written."""
    return Mistake(
        code="DOC-009",
        what="only comments here, no document" if text.strip() else "the file is empty",
        file=file,
        expected="a Run, Team or Cluster",
        hint="`tonnage init` writes a starter to fill in",
    )


def _decode(content: bytes | str, file: str) -> tuple[str, Mistake | None]:
    size = len(content)
    if size > MAX_BYTES:
        return "", too_large(file, None if size == MAX_BYTES + 1 else size)
    if isinstance(content, str):
        text = content
    elif content.startswith(_WIDE_MARKS):
        return "", _not_text(file, "UTF-16 or UTF-32 text", None)
    else:
        try:
            text = content.decode("utf-8-sig")
        except UnicodeDecodeError as error:
            line = content.count(b"\n", 0, error.start) + 1
            binary = b"\0" in content
            found = "a binary file" if binary else f"byte 0x{content[error.start]:02X}"
            return "", _not_text(file, found, None if binary else line)
    if "\0" in text:
        return "", _not_text(file, "a binary file", None)
    return text.removeprefix("\ufeff"), None


def _not_text(file: str, found: str, line: int | None) -> Mistake:
    return Mistake(
        code="DOC-002",
        what="the file is not UTF-8 text",
        file=file,
        line=line,
        found=found,
        expected="YAML or JSON saved as UTF-8",
        hint="save it as UTF-8 in your editor, or `iconv -t utf-8`" if "binary" not in found else None,
    )


def _is_empty(root: Node) -> bool:
    return root.kind == "scalar" and root.is_plain and root.text in ("", "~", "null")


class _Values:
    """Turns nodes into plain values, noting where each field was written and every key written twice."""

    def __init__(self, file: str, root: Node) -> None:
        self.file = file
        self.marks: dict[Path, tuple[int, int]] = {(): (root.line, root.column)}
        self.mistakes: list[Mistake] = []

    def value(self, node: Node, path: Path) -> Any:
        if node.kind == "scalar":
            return _scalar_value(node)
        if node.kind == "list":
            return [self._item(item, (*path, index)) for index, item in enumerate(node.items)]
        return self._mapping(node, path)

    def _item(self, node: Node, path: Path) -> Any:
        self.marks[path] = (node.line, node.column)
        return self.value(node, path)

    def _mapping(self, node: Node, path: Path) -> dict[str, Any]:
        result: dict[str, Any] = {}
        for key, value in self._entries(node, path):
            result[key.text] = None  # keeps the author's order when a merged value is overridden later
            self.marks[(*path, key.text)] = (key.line, key.column)
            result[key.text] = self.value(value, (*path, key.text))
        return result

    def _entries(self, node: Node, path: Path) -> Iterator[tuple[Node, Node]]:
        """Keys and values of a mapping; merged ones (`<<`) give way to those written here."""
        pairs = list(zip(node.items[::2], node.items[1::2], strict=True))
        own: dict[str, tuple[Node, Node]] = {}
        merged: dict[str, tuple[Node, Node]] = {}
        for key, value in pairs:
            if key.kind != "scalar":
                raise ComposeError("DOC-003", "a list or mapping cannot be a field name", key.line)
            if key.is_plain and key.text == "<<":
                for inner_key, inner_value in self._merged(value, path):
                    merged.setdefault(inner_key.text, (inner_key, inner_value))
            elif key.text in own:
                self._twice(own[key.text][0], key, (*path, key.text))
            else:
                own[key.text] = (key, value)
        yield from (merged | own).values()

    def _merged(self, value: Node, path: Path) -> Iterator[tuple[Node, Node]]:
        sources = value.items if value.kind == "list" else [value]
        for source in sources:
            if source.kind != "mapping":
                raise ComposeError("DOC-003", "<< can only merge a mapping", value.line)
            yield from self._entries(source, path)

    def _twice(self, first: Node, second: Node, path: Path) -> None:
        self.mistakes.append(
            Mistake(
                code="DOC-005",
                what="written twice",
                file=self.file,
                path=path,
                line=second.line,
                column=second.column,
                found=f"line {first.line} and line {second.line}",
                expected="each field once",
                hint="remove one of the two",
            )
        )


def _scalar_value(node: Node) -> Any:
    if node.tag == "str" or (not node.is_plain and node.tag is None):
        return node.text
    if node.tag is not None and node.tag not in _NUMBERS:
        raise ComposeError("DOC-003", f"!!{node.tag} does not fit this value", node.line)
    return plain_scalar(node.text)
