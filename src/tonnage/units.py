"""Kubernetes quantities, exactly as Kubernetes parses, rounds and prints them.

A quantity is a whole number of nano-units, a format (how it was written) and sometimes the text it was read
from: the API server gives back the very characters it was sent when it thinks they are canonical already, so
`1.500` stays `1.500` while `1.5` becomes `1500m`. Those quirks are kept, because `tonnage` must show and
compare what the cluster shows and compares. The rules were read in apimachinery's `pkg/api/resource` at
v0.36.4, and the admission conformance suite compares them with the real API server.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import Enum
from functools import lru_cache

NANO = 10**9
_MAX_BINARY = (2**63 - 1) * NANO
_FAST_DIGITS = 18  # what fits an int64 without looking; longer numbers take Kubernetes' slow, rounding path
_MAX_EXPONENT = 1000  # beyond this a literal is an attack on memory, not a size

# Sign, integer digits, fraction, suffix. Wider than sense (`.`, `+`, `1.` are all legal): so is Kubernetes.
_SHAPE = re.compile(r"^([+-]?)(\d*)(?:(\.)(\d*))?([eEinumkKMGTP]*[-+]?\d*)$", re.ASCII)
_DECIMAL = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_BINARY = {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50, "Ei": 60}
_DECIMAL_SUFFIX = {exponent: suffix for suffix, exponent in _DECIMAL.items()}
_BINARY_SUFFIX = {exponent: suffix for suffix, exponent in _BINARY.items()} | {0: ""}
_EXPONENT = re.compile(r"^[eE]([-+]?\d+)$", re.ASCII)


class Format(Enum):
    """How a quantity was written, and so how it will be printed."""

    DECIMAL_SI = "DecimalSI"
    BINARY_SI = "BinarySI"
    DECIMAL_EXPONENT = "DecimalExponent"


class QuantityError(ValueError):
    """Not a quantity; the text is the API server's own."""


WRONG_FORMAT = "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
WRONG_SUFFIX = "unable to parse quantity's suffix"


@dataclass(frozen=True, slots=True, eq=False)
class Quantity:
    """An amount of something: cpu, bytes, devices. Compare, add, subtract; `str` gives the canonical text."""

    nano: int
    format: Format = Format.DECIMAL_SI
    text: str | None = None
    """The original characters where the API server would keep them."""
    scale: int | None = 0
    """The power of ten at which Kubernetes holds it in an int64; none where it takes a big decimal."""

    def value(self) -> int:
        """The amount in whole units, rounded away from zero, as schedulers and cgroups read it."""
        return self._scaled(0)

    def milli(self) -> int:
        """The amount in thousandths, rounded away from zero (cpu)."""
        return self._scaled(-3)

    def rounded_to_milli(self) -> Quantity:
        """What the API server stores: nothing finer than a thousandth, and nothing rounded down."""
        if self.nano % 10**6 == 0 and (self.text is None or _decimals(self.text) <= 3):
            return self
        size = -(-abs(self.nano) // 10**6) * 10**6
        scale = None if self.scale is None else max(self.scale, -3)
        return Quantity(-size if self.nano < 0 else size, self.format, None, scale)

    def is_zero(self) -> bool:
        return self.nano == 0

    def is_positive(self) -> bool:
        return self.nano > 0

    def is_whole(self) -> bool:
        return self.nano % NANO == 0

    def canonical(self) -> str:
        """What Kubernetes prints for this amount after any arithmetic."""
        if self.nano == 0:
            return "0"
        if self.format is Format.BINARY_SI and abs(self.nano) >= 1024 * NANO and self.is_whole():
            number, times = _without_factors(self.nano // NANO, 1024)
            return f"{number}{_BINARY_SUFFIX.get(times * 10, '')}"
        number, exponent = _without_factors(self.nano, 10)
        exponent -= 9
        while exponent % 3:
            number, exponent = number * 10, exponent - 1
        if self.format is Format.DECIMAL_EXPONENT:
            return f"{number}e{exponent}" if exponent else str(number)
        return f"{number}{_DECIMAL_SUFFIX.get(exponent, '')}"

    def __str__(self) -> str:
        return self.text if self.text is not None else self.canonical()

    def __add__(self, other: Quantity) -> Quantity:
        return self._plus(other, other.nano)

    def __sub__(self, other: Quantity) -> Quantity:
        return self._plus(other, -other.nano)

    def __neg__(self) -> Quantity:
        return Quantity(-self.nano, self.format, None, self.scale)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Quantity) and self.nano == other.nano

    def __hash__(self) -> int:
        return hash(self.nano)

    def __lt__(self, other: Quantity) -> bool:
        return self.nano < other.nano

    def __le__(self, other: Quantity) -> bool:
        return self.nano <= other.nano

    def __gt__(self, other: Quantity) -> bool:
        return self.nano > other.nano

    def __ge__(self, other: Quantity) -> bool:
        return self.nano >= other.nano

    def _plus(self, other: Quantity, nano: int) -> Quantity:
        total = self.nano + nano
        scales = [q.scale for q in (self, other) if q.nano != 0 or q.scale is None] or [self.scale]
        narrow = [scale for scale in scales if scale is not None]
        scale = min(narrow) if len(narrow) == len(scales) else None
        if scale is not None and not _fits(total * NANO // 10 ** (scale + 18)):
            scale = None
        return Quantity(total, other.format if self.nano == 0 else self.format, None, scale)

    def _scaled(self, power: int) -> int:
        """The amount in units of 10^power as Go's int64 gets it: an overflow leaves low bits, or 0."""
        size, rest = divmod(abs(self.nano), int(10 ** (power + 9)))
        away = 1 if rest else 0
        amount = size + away if self.nano >= 0 else -size + (away if self.scale is None else -away)
        if _fits(amount):
            return amount
        # Go multiplies by these powers in one step and returns what is left; by others it gives up.
        if self.scale is None or self.scale - power in {1, 2, 3, 6, 9}:
            return (amount + 2**63) % 2**64 - 2**63
        return 0


ZERO = Quantity(0, text="0")


@lru_cache(maxsize=65536)
def parse_quantity(text: str) -> Quantity:
    """Read a quantity as the API server does; raise QuantityError with its words.

    >>> str(parse_quantity("1024Mi")), parse_quantity("0.5").milli(), str(parse_quantity("1.500"))
    ('1Gi', 500, '1.500')
    """
    text = text.strip()
    if text == "0":
        return ZERO
    shape = _SHAPE.match(text)
    if not text or shape is None:
        raise QuantityError(WRONG_FORMAT)
    sign, whole, _, fraction, suffix = shape.groups()
    whole, fraction = whole.lstrip("0") or "0", fraction or ""
    format_, exponent = _read_suffix(suffix)
    nano = _amount(whole, fraction, format_, exponent)
    scale = _scale(whole, fraction, format_, exponent)
    kept = text if scale is not None and _is_kept(whole, fraction, format_, exponent) else None
    if format_ is Format.BINARY_SI and 0 < nano < NANO:
        format_ = Format.DECIMAL_SI
    return Quantity(-nano if sign == "-" else nano, format_, kept, scale)


def try_quantity(text: str) -> Quantity | None:
    """The quantity, or nothing where the text is not one."""
    try:
        return parse_quantity(text)
    except QuantityError:
        return None


def quantity_of(value: int, *, like: Format = Format.DECIMAL_SI) -> Quantity:
    """A whole number of units as a quantity."""
    return Quantity(value * NANO, like)


def format_bytes(count: int | float) -> str:
    """Bytes for people: three significant figures and a binary unit.

    >>> format_bytes(44_346_671_104), format_bytes(512)
    ('41.3 GiB', '512 B')
    """
    amount = float(count)
    for unit in ("B", "KiB", "MiB", "GiB", "TiB", "PiB"):
        if abs(amount) < 1024 or unit == "PiB":
            break
        amount /= 1024
    if unit == "B" or abs(amount) >= 100:
        return f"{amount:,.0f} {unit}"
    return f"{amount:.1f} {unit}" if amount != int(amount) else f"{int(amount)} {unit}"


def _read_suffix(suffix: str) -> tuple[Format, int]:
    if suffix in _DECIMAL:
        return Format.DECIMAL_SI, _DECIMAL[suffix]
    if suffix in _BINARY:
        return Format.BINARY_SI, _BINARY[suffix]
    exponent = _EXPONENT.match(suffix)
    if exponent is None or abs(int(exponent[1])) > _MAX_EXPONENT:
        raise QuantityError(WRONG_SUFFIX)
    return Format.DECIMAL_EXPONENT, int(exponent[1])


def _amount(whole: str, fraction: str, format_: Format, exponent: int) -> int:
    """Nano-units, rounded up (a little is never rounded to nothing); binary amounts stop at int64."""
    digits = int(whole + fraction)
    if format_ is Format.BINARY_SI:
        return min(-(-(digits * NANO << exponent) // int(10 ** len(fraction))), _MAX_BINARY)
    scale = exponent - len(fraction) + 9
    return digits * int(10**scale) if scale >= 0 else -(-digits // int(10**-scale))


def _scale(whole: str, fraction: str, format_: Format, exponent: int) -> int | None:
    """The scale beside the int64 that the API server reads it into; none if it needs a big decimal."""
    if format_ is Format.BINARY_SI:
        return 0 if not fraction and 15 - len(whole) - exponent * 3 // 10 - 1 >= 0 else None
    scale = exponent - len(fraction)
    return scale if len(whole + fraction) <= _FAST_DIGITS and scale >= -9 else None


def _is_kept(whole: str, fraction: str, format_: Format, exponent: int) -> bool:
    """Whether the API server's fast path thinks the text canonical and repeats it."""
    if format_ is Format.BINARY_SI:
        return int(whole) & 7 != 0
    digits = whole + fraction
    return (exponent - len(fraction)) % 3 == 0 and not digits.endswith("000") and digits[0] != "0"


def _decimals(text: str) -> int:
    """How many decimal places a kept text has: `1.5m` has four."""
    shape = _SHAPE.match(text)
    assert shape is not None
    format_, exponent = _read_suffix(shape[5])
    return 0 if format_ is Format.BINARY_SI else len(shape[4] or "") - exponent


def _fits(number: int) -> bool:
    return -(2**63) <= number < 2**63


def _without_factors(number: int, base: int) -> tuple[int, int]:
    """Strip factors of `base`: 4096 -> (4, 1) for 1024."""
    times = 0
    while number % base == 0:
        number, times = number // base, times + 1
    return number, times
