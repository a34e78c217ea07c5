"""CPU: `8`, `0.5`, `500m`; and shares of it: `auto`, `8`, `8..16` (request..limit)."""

from __future__ import annotations

import re
from dataclasses import dataclass
from decimal import Decimal

from tonnage.spec.literals.refusals import LiteralError, shown
from tonnage.spec.literals.shares import Share

CODE = "DOC-015"
EXPECTED = "cores like 8, 0.5 or 500m"
EXPECTED_SHARE = "auto, cores like 8 or 500m, or request..limit like 8..16"
PATTERN = r"\d+m|\d+(\.\d{1,3})?"
SHARE_PATTERN = rf"auto|({PATTERN})(\s?\.\.\s?({PATTERN}))?"

_MILLI = re.compile(r"\d{1,12}m", re.ASCII)
_CORES = re.compile(r"\d{1,9}(\.\d{1,3}0*)?", re.ASCII)


@dataclass(frozen=True, slots=True, order=True)
class Cpus:
    """An exact number of thousandths of a core."""

    milli: int

    @classmethod
    def parse(cls, value: object) -> Cpus:
        """Read cores or millicores.

        >>> Cpus.parse(8).milli, Cpus.parse("500m").milli, str(Cpus.parse(0.5))
        (8000, 500, '0.5')
        """
        text = _text(value)
        if text is not None and _MILLI.fullmatch(text):
            return cls(int(text[:-1]))
        if text is not None and _CORES.fullmatch(text):
            return cls(int(Decimal(text) * 1000))
        raise LiteralError(CODE, f"{shown(value)} is not a number of cores", expected=EXPECTED)

    def __str__(self) -> str:
        whole, rest = divmod(self.milli, 1000)
        return f"{whole}.{rest:03d}".rstrip("0").rstrip(".") if rest else str(whole)


class CpuShare(Share[Cpus]):
    """Cores a pod asks for."""

    __slots__ = ()
    code = CODE
    expected = EXPECTED_SHARE
    amount = Cpus


def _text(value: object) -> str | None:
    if isinstance(value, bool):
        return None
    if isinstance(value, float):
        return format(value, "f") if abs(value) < 1e9 else None
    if isinstance(value, int):
        return str(value) if 0 <= value < 10**9 else None
    return value.strip() if isinstance(value, str) else None
