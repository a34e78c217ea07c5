"""Field errors, worded as the API server words them.

A rejected object lists every mistake as `path: Kind of mistake: value: detail`. People paste these lines
into search engines and chats, so a prediction must use the very same words. Two quotings exist side by side
because Go prints plain strings with `%q` and everything else, named string types included, as JSON.
"""

from __future__ import annotations

import json
from collections.abc import Iterable

_ESCAPES = {'"': '\\"', "\\": "\\\\"} | {
    chr(code): f"\\{letter}" for code, letter in zip(range(7, 14), "abtnvfr", strict=True)
}
NEGATIVE = "must be greater than or equal to 0"
NOT_INTEGER = "must be an integer"
NOT_POSITIVE = "must be greater than zero"


def invalid(path: str, value: object, detail: str, *, plain: bool = False) -> str:
    """A value that breaks a rule; `plain` where Kubernetes holds it as a mere string."""
    return f"{path}: Invalid value: {_shown(value, plain=plain)}: {detail}"


def required(path: str, detail: str = "") -> str:
    """A value that must be there and is not."""
    return f"{path}: Required value: {detail}" if detail else f"{path}: Required value"


def forbidden(path: str, detail: str) -> str:
    """A value that is well formed and not allowed here."""
    return f"{path}: Forbidden: {detail}"


def duplicate(path: str, value: str, *, plain: bool = False) -> str:
    """A value that must be unique and is not."""
    return f"{path}: Duplicate value: {_shown(value, plain=plain)}"


def unsupported(path: str, value: str, supported: Iterable[str]) -> str:
    """A value outside a closed set."""
    choices = ", ".join(as_go_string(choice) for choice in supported)
    return f"{path}: Unsupported value: {as_go_json(value)}: supported values: {choices}"


def merged(errors: Iterable[str]) -> str:
    """Several errors as Kubernetes joins them: one stays bare, repeated ones are said once."""
    unique = list(dict.fromkeys(errors))
    return unique[0] if len(unique) == 1 else f"[{', '.join(unique)}]"


def as_go_json(value: object) -> str:
    """JSON as Go prints it: no blanks, and what could break out of HTML or JavaScript escaped."""
    text = json.dumps(value, separators=(",", ":"), ensure_ascii=False)
    return "".join(f"\\u{ord(char):04x}" if char in "<>&\u2028\u2029" else char for char in text)


def as_go_string(text: str) -> str:
    """A string as Go's `%q` prints it."""
    return f'"{"".join(map(_escaped, text))}"'


def _shown(value: object, *, plain: bool) -> str:
    return as_go_string(str(value)) if plain else as_go_json(value)


def _escaped(character: str) -> str:
    if character in _ESCAPES:
        return _ESCAPES[character]
    if character.isprintable():
        return character
    code = ord(character)
    return f"\\x{code:02x}" if code < 0x80 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
