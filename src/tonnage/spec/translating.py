"""From what the validator says to what the reader needs: code, found, expected, what to try."""

from __future__ import annotations

from difflib import get_close_matches
from typing import Any

from tonnage.spec.describing import fields_of, part_at
from tonnage.spec.literals.refusals import SHOWN, LiteralError, shown
from tonnage.spec.mistakes import Mistake, Path, field_text
from tonnage.spec.parts import Part
from tonnage.spec.reading import RawDocument
from tonnage.spec.suggesting import suggestion

MOST_SUGGESTIONS = 40
"""Looking for near names costs time; past this many unknown fields the file is not a document with slips."""

MOST_FIELDS = 6
LONGEST_HINT = 200
"""A proposal longer than this repeats a value that nobody wrote by hand."""

_TYPES = {
    "string_type": "text",
    "int_type": "a whole number",
    "int_from_float": "a whole number",
    "float_type": "a number",
    "float_parsing": "a number",
    "finite_number": "a finite number",
    "bool_type": "true or false",
    "dict_type": "a mapping (name: value lines)",
    "tuple_type": "a list (lines that start with '- ')",
    "model_type": "a mapping (name: value lines)",
    "model_attributes_type": "a mapping (name: value lines)",
}
_BOUNDS = {
    "greater_than": ("gt", "more than"),
    "greater_than_equal": ("ge", "at least"),
    "less_than": ("lt", "less than"),
    "less_than_equal": ("le", "at most"),
}


class Translator:
    """Turns the validator's errors about one document into mistakes."""

    def __init__(self, root: type[Part], raw: RawDocument) -> None:
        self.root = root
        self.raw = raw
        self.unknown = 0

    def mistake(self, error: Any) -> Mistake:
        """One error of the validator as a mistake."""
        path: Path = tuple(step for step in error["loc"] if step != "[key]")
        kind, context = error["type"], error.get("ctx", {})
        if kind == "extra_forbidden":
            return self._unknown_field(path)
        if kind == "missing":
            return self._missing(path)
        given = error["input"]
        if given is None:
            return self._at(path, "DOC-007", "has no value", hint="give it a value, or remove the line")
        if kind == "value_error" and isinstance(context.get("error"), LiteralError):
            return self._literal(path, context["error"], given)
        if kind == "literal_error":
            return self._choice(path, given, context["expected"])
        if kind in _BOUNDS:
            name, words = _BOUNDS[kind]
            return self._at(
                path,
                "DOC-021",
                f"{shown(given)} is out of bounds",
                found=given,
                expected=f"{words} {context[name]}",
            )
        if kind in _TYPES:
            return self._wrong_type(path, given, _TYPES[kind])
        return self._at(path, "DOC-025", error["msg"][:1].lower() + error["msg"][1:], found=given)

    def _unknown_field(self, path: Path) -> Mistake:
        self.unknown += 1
        hint = suggestion(self.root, path) if self.unknown <= MOST_SUGGESTIONS else None
        return self._at(path, "DOC-004", "unknown field", hint=hint)

    def _missing(self, path: Path) -> Mistake:
        parent = self.raw.written(path[:-1])
        return self._at(
            path,
            "DOC-006",
            "missing",
            expected=f"{path[-1]} under {field_text(parent)}" if parent else str(path[-1]),
        )

    def _literal(self, path: Path, error: LiteralError, given: Any) -> Mistake:
        quiet = error.code == "DOC-019"  # what is not a reference may be the secret itself: never repeat it
        return self._at(
            path,
            error.code,
            error.what,
            found=None if quiet else given,
            expected=error.expected,
            hint=error.hint,
        )

    def _choice(self, path: Path, given: Any, expected: str) -> Mistake:
        choices = [word.strip("'") for word in expected.replace(" or ", ", ").split(", ")]
        by_lower = {choice.lower(): choice for choice in choices}
        close = (
            get_close_matches(str(given)[:60].lower(), by_lower, n=1, cutoff=0.6) if given is not None else []
        )
        return self._at(
            path,
            "DOC-016",
            f"{shown(given)} is not one of the choices",
            expected=_or(choices),
            hint=f"did you mean {by_lower[close[0]]}?" if close else None,
        )

    def _wrong_type(self, path: Path, given: Any, expected: str) -> Mistake:
        hint = None
        if expected == "true or false" and isinstance(given, str):
            hint = "without quotes" if given.lower() in ("true", "false") else None
            hint = "write true or false" if given.lower() in ("yes", "no", "on", "off") else hint
        if expected == "a whole number" and isinstance(given, str) and given.strip().isdigit():
            hint = f"without quotes: {given.strip()}"
        if path and path[-1] == "env" and isinstance(given, list):
            hint = "write NAME: value lines, not a list of name and value"
        elif expected == _TYPES["tuple_type"]:
            hint = _as_list(given)
        elif expected == _TYPES["model_type"]:
            hint = self._fields_at(path)
        return self._at(
            path, "DOC-007", f"{shown(given)} where {expected} belongs", expected=expected, hint=hint
        )

    def _fields_at(self, path: Path) -> str | None:
        """The fields to write where a bare value was given."""
        part = part_at(self.root, path)
        names = list(fields_of(part)) if part is not None else []
        more = ", ..." if len(names) > MOST_FIELDS else ""
        return f"write it by its fields: {', '.join(names[:MOST_FIELDS])}{more}" if names else None

    def _at(
        self,
        path: Path,
        code: str,
        what: str,
        *,
        found: Any = None,
        expected: str | None = None,
        hint: str | None = None,
    ) -> Mistake:
        line, column = self.raw.locate(path)
        field = path if code in ("DOC-004", "DOC-006") else self.raw.written(path)
        return Mistake(
            code=code,
            what=what,
            path=field,
            file=self.raw.file,
            line=line,
            column=column,
            found=None if found is None else shown(found),
            expected=expected,
            hint=hint if hint is None or len(hint) <= LONGEST_HINT else None,
        )


def _as_list(given: Any) -> str:
    """How to write one thing where a list belongs."""
    if isinstance(given, dict):
        return "begin its first line with '- '"
    text = str(getattr(given, "text", given))
    is_plain = (
        isinstance(given, str)
        and len(text) <= SHOWN
        and text.isprintable()
        and not set(text) & set(",[]{}#'\"")
    )
    return f"write it as a list: [{text}]" if is_plain else "write it as a list of one"


def _or(choices: list[str]) -> str:
    return choices[0] if len(choices) == 1 else f"{', '.join(choices[:-1])} or {choices[-1]}"
