"""Names and other short texts by Kubernetes' own grammars, each with the nearest legal spelling as hint."""

from __future__ import annotations

import re
import unicodedata
from typing import Any

import msgspec

from tonnage.spec.literals.gpus import TYPE_PATTERN
from tonnage.spec.literals.refusals import LiteralError, shown

NAME_PATTERN = r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?"
DNS_PATTERN = r"[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?"
ENV_PATTERN = r"[-._a-zA-Z][-._a-zA-Z0-9]*"
LABEL_KEY_PATTERN = r"([a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?/)?[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?"
LABEL_VALUE_PATTERN = r"([A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?)?"
SECRET_PATTERN = rf"{DNS_PATTERN}/[-._a-zA-Z0-9]+"
TAINT_PATTERN = rf"{LABEL_KEY_PATTERN}(=[A-Za-z0-9]?[-A-Za-z0-9_.]*)?:(NoSchedule|PreferNoSchedule|NoExecute)"

_NAME = re.compile(NAME_PATTERN, re.ASCII)
_DNS = re.compile(DNS_PATTERN, re.ASCII)
_ENV = re.compile(ENV_PATTERN, re.ASCII)
_LABEL_KEY = re.compile(LABEL_KEY_PATTERN, re.ASCII)
_LABEL_VALUE = re.compile(LABEL_VALUE_PATTERN, re.ASCII)
_SECRET = re.compile(rf"({DNS_PATTERN})/([-._a-zA-Z0-9]{{1,253}})", re.ASCII)
_TAINT = re.compile(rf"({LABEL_KEY_PATTERN})(?:=({LABEL_VALUE_PATTERN}))?:(\w+)", re.ASCII)
_GPU_TYPE = re.compile(TYPE_PATTERN, re.ASCII)
EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")


def text(value: Any) -> str:
    """Text, or a number exactly as it was written; never a boolean, whose spelling YAML has thrown away."""
    if isinstance(value, str):
        return value
    written = getattr(value, "text", None)
    if isinstance(written, str):
        return written
    if isinstance(value, int | float) and not isinstance(value, bool):
        return str(value)
    hint = f'quote it: "{shown(value)}"' if isinstance(value, bool) else None
    raise LiteralError("DOC-007", f"{_kind(value)} where text belongs", expected="text", hint=hint)


def line(value: Any) -> str:
    """Text that people and other systems read: on one line, and not empty."""
    given = text(value)
    if given.strip() and given.isprintable():
        return given
    what = f"{shown(given)} is not a line of text" if given.strip() else "an empty text"
    raise LiteralError("DOC-025", what, expected="one line of text, not empty")


def name(value: Any) -> str:
    """A DNS-1123 label: what becomes the name of pods, Services and hosts.

    >>> name("llama-8b")
    'llama-8b'
    """
    given = text(value)
    if _NAME.fullmatch(given):
        return given
    what = (
        f"{shown(given)} is not a legal name" if len(given) <= 63 else f"the name has {len(given)} characters"
    )
    raise LiteralError(
        "DOC-017",
        what,
        expected="lower-case letters, digits and '-', at most 63, starting and ending with a letter or digit",
        hint=_try_name(given),
    )


def dns_name(value: Any) -> str:
    """A DNS-1123 subdomain: names of Secrets, ServiceAccounts, PriorityClasses and the like."""
    given = text(value)
    if _DNS.fullmatch(given) and ".." not in given and ".-" not in given and "-." not in given:
        return given
    raise LiteralError(
        "DOC-017",
        f"{shown(given)} is not a legal name",
        expected="lower-case letters, digits, '-' and '.'",
        hint=_try_name(given),
    )


def label_key(value: Any) -> str:
    """A label key, with or without a prefix."""
    given = text(value)
    if _LABEL_KEY.fullmatch(given):
        return given
    raise LiteralError(
        "DOC-018",
        f"{shown(given)} is not a legal label key",
        expected="[prefix.example/]name with letters, digits, '-', '_' and '.', at most 63",
    )


def label_value(value: Any) -> str:
    """A label value; numbers are taken as they were written."""
    given = text(value)
    if _LABEL_VALUE.fullmatch(given):
        return given
    near = re.sub(r"[^A-Za-z0-9_.-]+", "-", _plain(given))[:63].strip("-_.")
    raise LiteralError(
        "DOC-018",
        f"{shown(given)} is not a legal label value",
        expected="letters, digits, '-', '_' and '.', at most 63, starting and ending with a letter or digit",
        hint=f"try {near}; free text belongs in metadata.annotations" if near else None,
    )


def env_name(value: Any) -> str:
    """The name of an environment variable as Kubernetes allows it."""
    given = text(value)
    if _ENV.fullmatch(given) and not given.startswith(".."):
        return given
    near = re.sub(r"[^A-Za-z0-9_]+", "_", _plain(given)).lstrip("0123456789")
    raise LiteralError(
        "DOC-017",
        f"{shown(given)} is not a legal variable name",
        expected="letters, digits and '_', not starting with a digit",
        hint=f"try {near}" if near.strip("_") else None,
    )


def gpu_type(value: Any) -> str:
    """A GPU type by the short name our table uses; unknown ones are legal and remarked upon elsewhere."""
    given = text(value).strip().lower()
    if _GPU_TYPE.fullmatch(given):
        return given
    raise LiteralError("DOC-014", f"{shown(value)} is not a GPU type", expected="a type like h100 or a100-80")


def absolute_path(value: Any) -> str:
    """A path inside the container."""
    given = text(value)
    if given.startswith("/") and "\0" not in given and ":" not in given and ".." not in given.split("/"):
        return given.rstrip("/") or "/"
    hint = f"try /{given.strip('./')}" if re.fullmatch(r"\.?[\w./-]+", given) and given.strip("./") else None
    raise LiteralError(
        "DOC-022", f"{shown(given)} is not a mount path", expected="an absolute path", hint=hint
    )


class SecretKey(msgspec.Struct, frozen=True):
    """One key of a Kubernetes Secret: the only way a document can speak of a secret."""

    secret: str
    key: str

    @classmethod
    def parse(cls, value: Any) -> SecretKey:
        """Read `secret-name/key`; anything else may be the secret itself, so no message repeats it."""
        match = _SECRET.fullmatch(value) if isinstance(value, str) else None
        if match is None:
            raise LiteralError(
                "DOC-019",
                "this is not a reference to a Secret",
                expected="secret-name/key, the name and key of a Kubernetes Secret",
                hint="a secret's value never goes into a document; `kubectl create secret generic` stores it",
            )
        return cls(match[1], match[match.lastindex or 1])

    def __str__(self) -> str:
        return f"{self.secret}/{self.key}"


class Taint(msgspec.Struct, frozen=True):
    """A node taint as kubectl writes it: `key=value:Effect`."""

    key: str
    value: str
    effect: str

    @classmethod
    def parse(cls, value: Any) -> Taint:
        """Read `key=value:Effect` or `key:Effect`."""
        match = _TAINT.fullmatch(value) if isinstance(value, str) else None
        if match is None or match[match.lastindex or 1] not in EFFECTS:
            raise LiteralError(
                "DOC-018",
                f"{shown(value)} is not a taint",
                expected=f"key=value:Effect with Effect one of {', '.join(EFFECTS)}",
            )
        key, _, rest = value.partition(":")
        key, _, worth = key.partition("=")
        return cls(key, worth, rest)

    def __str__(self) -> str:
        return f"{self.key}={self.value}:{self.effect}" if self.value else f"{self.key}:{self.effect}"


def _kind(value: Any) -> str:
    if isinstance(value, bool):
        return shown(value)
    return "no value" if value is None else shown(value)


def _plain(given: str) -> str:
    """Accents off, so that `Müller` suggests `muller` and not `m-ller`."""
    return unicodedata.normalize("NFKD", given[:300]).encode("ascii", "ignore").decode()


def _try_name(given: str) -> str | None:
    near = re.sub(r"[^a-z0-9-]+", "-", _plain(given).lower())
    near = re.sub(r"-{2,}", "-", near)[:63].strip("-")
    return f"try {near}" if near else None
