"""Sizes in bytes: `64Gi`, `64GB`, `1.5TiB`; and shares of them: `auto`, `64Gi`, `64Gi..128Gi`.

Two families are read and kept apart, as Kubernetes and data sheets do: `Ki Mi Gi Ti` (and `KiB MiB ...`)
are powers of 1024, `k M G T` (and `kB MB GB TB`) powers of 1000. A bare small number is refused: people who
write `memory: 64` mean 64 Gi and Kubernetes would give them 64 bytes. `512m` is refused for the same
reason: Kubernetes reads milli-bytes.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from fractions import Fraction

from tonnage.spec.literals.refusals import LiteralError, shown
from tonnage.spec.literals.shares import Share

CODE = "DOC-011"
EXPECTED = "a size like 64Gi or 64GB"
EXPECTED_SHARE = "auto, a size like 64Gi, or request..limit like 64Gi..128Gi"
PATTERN = r"\d+(\.\d+)?\s?([kKMGTPE]i?)B?|\d{7,}"
SHARE_PATTERN = rf"auto|({PATTERN})(\s?\.\.\s?({PATTERN}))?"

_BINARY = {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50, "Ei": 60}
_DECIMAL = {"k": 3, "K": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_SHAPE = re.compile(r"(\d{1,18}(?:\.\d{1,12})?)\s?([kKMGTPE]i?)B?", re.ASCII)
_SLIP = re.compile(r"(\d+(?:\.\d+)?)\s?([kmgt]i?b?)", re.ASCII | re.IGNORECASE)
_LARGEST = 2**63 - 1
_SMALLEST_BARE = 2**20  # below a mebibyte a bare number is a forgotten unit, not a size


@dataclass(frozen=True, slots=True, order=True)
class Size:
    """An exact number of bytes."""

    bytes: int

    @classmethod
    def parse(cls, value: object) -> Size:
        """Read a size; say what is wrong with anything else.

        >>> Size.parse("64Gi").bytes, str(Size.parse("64 GB")), str(Size.parse("1.5Ti"))
        (68719476736, '64GB', '1536Gi')
        """
        if isinstance(value, int) and not isinstance(value, bool):
            return cls(_bare(value))
        if not isinstance(value, str):
            raise LiteralError(CODE, f"{shown(value)} is not a size", expected=EXPECTED)
        text = value.strip()
        match = _SHAPE.fullmatch(text)
        if match is None:
            if text.isascii() and text.isdigit() and len(text) < 20:
                return cls(_bare(int(text)))
            raise LiteralError(CODE, f"{shown(value)} is not a size", expected=EXPECTED, hint=_hint(text))
        number, unit = match.groups()
        factor = 1 << _BINARY[unit] if unit in _BINARY else 10 ** _DECIMAL[unit]
        exact = Fraction(number) * factor
        count = -(-exact.numerator // exact.denominator)
        if count > _LARGEST:
            raise LiteralError(
                CODE, f"{shown(value)} is more than Kubernetes can count", expected="at most 8Ei"
            )
        return cls(count)

    def __str__(self) -> str:
        forms = [str(self.bytes)] if self.bytes >= _SMALLEST_BARE else []
        if self.bytes < _SMALLEST_BARE:
            forms.append(_in_thousandths(self.bytes))
        for unit, shift in _BINARY.items():
            if self.bytes % (1 << shift) == 0 and self.bytes:
                forms.append(f"{self.bytes >> shift}{unit}")
        for unit in ("k", "M", "G", "T", "P", "E"):
            if self.bytes % 10 ** _DECIMAL[unit] == 0 and self.bytes:
                forms.append(f"{self.bytes // 10 ** _DECIMAL[unit]}{unit}B")
        return min(forms, key=len)


class SizeShare(Share[Size]):
    """How much memory or disk a pod asks for."""

    __slots__ = ()
    code = CODE
    expected = EXPECTED_SHARE
    amount = Size


def _bare(value: int) -> int:
    if value < 0 or value > _LARGEST:
        raise LiteralError(CODE, f"{shown(value)} is not a size", expected=EXPECTED)
    if value < _SMALLEST_BARE:
        hint = f"a bare number is bytes; did you mean {value}Gi?" if 0 < value <= 4096 else None
        raise LiteralError(CODE, f"{shown(value)} has no unit", expected=EXPECTED, hint=hint)
    return value


def _hint(text: str) -> str | None:
    slip = _SLIP.fullmatch(text)
    if slip is None:
        return None
    number, unit = slip.groups()
    if unit == "m":
        return f"m means thousandths to Kubernetes; did you mean {number}Mi?"
    return f"did you mean {number}{unit[0].upper()}{'i' if 'i' in unit[1:].lower() else 'B'}?"


def _in_thousandths(count: int) -> str:
    """Less than a mebibyte in kilobytes: bare small numbers are not read back."""
    whole, rest = divmod(count, 1000)
    return f"{whole}.{rest:03d}".rstrip("0").rstrip(".") + "kB"
