"""What a plain YAML scalar means: the core schema of YAML 1.2, not the surprises of 1.1.

Under 1.1 (PyYAML's default) `no` is false, `0755` is 493, `12:30:45` is 45045 and `2024-01-01` a date; in
training documents each of those was meant as the text it is. Numbers remember how they were written, so
that an environment value `1e-5` or a label `1.10` reaches the container as the author wrote it.
"""

from __future__ import annotations

import re
from typing import Any, Self

_NULL = frozenset(("", "~", "null", "Null", "NULL"))
_TRUE = frozenset(("true", "True", "TRUE"))
_FALSE = frozenset(("false", "False", "FALSE"))
_INT = re.compile(r"[-+]?[0-9]{1,400}", re.ASCII)
_OCTAL = re.compile(r"0o[0-7]{1,100}", re.ASCII)
_HEX = re.compile(r"0x[0-9a-fA-F]{1,100}", re.ASCII)
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]{1,6})?", re.ASCII)
_INF = re.compile(r"([-+]?)\.(inf|Inf|INF)", re.ASCII)
_NAN = frozenset((".nan", ".NaN", ".NAN"))

Scalar = str | int | float | bool | None


class WrittenInt(int):
    """A whole number and the characters it was written with."""

    text: str

    @classmethod
    def of(cls, value: int, text: str) -> Self:
        number = cls(value)
        number.text = text
        return number


class WrittenFloat(float):
    """A number and the characters it was written with."""

    text: str

    @classmethod
    def of(cls, value: float, text: str) -> Self:
        number = cls(value)
        number.text = text
        return number


def plain_scalar(text: str) -> Scalar:
    """The value of an unquoted scalar.

    >>> plain_scalar("no"), plain_scalar("0755"), plain_scalar("1e3"), plain_scalar("12:30")
    ('no', 755, 1000.0, '12:30')
    """
    if text in _NULL:
        return None
    if text[0] not in "+-.0123456789tTfF":
        return text
    if text in _TRUE or text in _FALSE:
        return text in _TRUE
    if _INT.fullmatch(text):
        return WrittenInt.of(int(text), text)
    if _FLOAT.fullmatch(text) and len(text) <= 400:
        return WrittenFloat.of(float(text), text)
    if _OCTAL.fullmatch(text) or _HEX.fullmatch(text):
        return WrittenInt.of(int(text, 0), text)
    if inf := _INF.fullmatch(text):
        return WrittenFloat.of(float(f"{inf[1]}inf"), text)
    return WrittenFloat.of(float("nan"), text) if text in _NAN else text


def forgetting_how(value: Any) -> Any:
    """The same tree with numbers that are only numbers: for parts that are handed on as they are.

    >>> type(forgetting_how({"maxSkew": [plain_scalar("1")]})["maxSkew"][0]).__name__
    'int'
    """
    if isinstance(value, dict):
        return {name: forgetting_how(each) for name, each in value.items()}
    if isinstance(value, list):
        return [forgetting_how(each) for each in value]
    if isinstance(value, WrittenInt):
        return int(value)
    return float(value) if isinstance(value, WrittenFloat) else value
