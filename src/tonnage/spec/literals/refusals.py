"""Why a literal was not understood, in the parts a reader needs."""

from __future__ import annotations

SHOWN = 40


class LiteralError(ValueError):
    """A text that is not the amount its field wants."""

    def __init__(self, code: str, what: str, *, expected: str | None = None, hint: str | None = None) -> None:
        super().__init__(what)
        self.code = code
        self.what = what
        self.expected = expected
        self.hint = hint


def shown(value: object) -> str:
    """How a found value is quoted in a message: short, on one line, never megabytes of it.

    >>> shown("20 mins"), shown(64), shown(True), shown(None)
    ("'20 mins'", '64', 'true', 'nothing')
    """
    if value is None:
        return "nothing"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return f"'{_short(value)}'"
    if isinstance(value, int | float):
        return _short(getattr(value, "text", None) or _number_text(value))
    if isinstance(value, dict):
        return "a mapping"
    if isinstance(value, list | tuple):
        return "a list"
    return _short(str(value))


def _number_text(value: int | float) -> str:
    if isinstance(value, int) and value.bit_length() > 1024:
        return "a number of over 300 digits"
    return str(value)


def _short(text: str) -> str:
    line = "".join(character if character.isprintable() else " " for character in text[: SHOWN * 2])
    return line if len(line) <= SHOWN else f"{line[: SHOWN - 3]}..."
