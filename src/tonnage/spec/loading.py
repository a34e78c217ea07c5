"""Load documents for use: values or one error that carries every mistake."""

from __future__ import annotations

from typing import TypeVar

from tonnage.errors import DocumentError
from tonnage.spec.checked import Document
from tonnage.spec.checking import check
from tonnage.spec.mistakes import Mistake

Kind = TypeVar("Kind", bound=Document)


def load(content: bytes | str, file: str) -> list[Document]:
    """Every document of a file; raise DocumentError with all mistakes."""
    checked = check(content, file)
    if checked.mistakes:
        raise DocumentError(*(mistake.as_problem() for mistake in checked.mistakes))
    return checked.values


def load_one(content: bytes | str, file: str, kind: type[Kind]) -> Kind:
    """The one document of this kind in a file; raise DocumentError where there is none, or more than one."""
    documents = load(content, file)
    wanted = [document for document in documents if isinstance(document, kind)]
    if len(wanted) == 1:
        return wanted[0]
    found = ", ".join(f"{document.kind} {document.metadata.name}" for document in documents)
    mistake = Mistake(
        code="DOC-010",
        what=f"{'no' if not wanted else 'more than one'} {kind.__name__} in this file",
        file=file,
        found=found or None,
        expected=f"one {kind.__name__}",
    )
    raise DocumentError(mistake.as_problem())
