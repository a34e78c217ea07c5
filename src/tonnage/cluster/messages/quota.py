"""What a ResourceQuota says when it refuses, read and written.

    exceeded quota: q, requested: pods=1,requests.cpu=2, used: pods=3,requests.cpu=1, limited: ...
    failed quota: q: must specify limits.cpu for: a,b; limits.memory for: a,b
    status unknown for quota: q, resources: cpu,pods
    insufficient quota to consume: requests.nvidia.com/gpu
    insufficient quota to match these scopes: [{PriorityClass In [critical]}]
    quota usage is negative for resource(s): requests.cpu

Only the keys that are exceeded are listed, sorted, without blanks after the commas; only the first quota
that refuses is heard. Before v1.24 `must specify` named keys and no containers, joined by commas; both are
read. Callers add their own prefixes (`pods "x" is forbidden: `, `Error creating: `), which the reader
ignores.
"""

from __future__ import annotations

import re

import msgspec


class QuotaExceeded(msgspec.Struct, frozen=True, kw_only=True):
    """The object would put these keys above the quota's hard limit."""

    quota: str
    requested: dict[str, str]
    used: dict[str, str]
    limited: dict[str, str]

    def __str__(self) -> str:
        lists = (f"{word}: {_listed(getattr(self, word))}" for word in ("requested", "used", "limited"))
        return f"exceeded quota: {self.quota}, {', '.join(lists)}"


class MustSpecify(msgspec.Struct, frozen=True, kw_only=True):
    """Containers leave out a cpu or memory value that the quota counts."""

    quota: str
    missing: dict[str, tuple[str, ...]]
    """Key to container names; no names where an older server did not say."""

    def __str__(self) -> str:
        if not any(self.missing.values()):
            return f"failed quota: {self.quota}: must specify {','.join(sorted(self.missing))}"
        items = (f"{key} for: {','.join(sorted(names))}" for key, names in sorted(self.missing.items()))
        return f"failed quota: {self.quota}: must specify {'; '.join(items)}"


class QuotaStatusUnknown(msgspec.Struct, frozen=True, kw_only=True):
    """The controller has not counted these keys yet."""

    quota: str
    resources: tuple[str, ...]

    def __str__(self) -> str:
        return f"status unknown for quota: {self.quota}, resources: {','.join(sorted(self.resources))}"


class NoCoveringQuota(msgspec.Struct, frozen=True, kw_only=True):
    """The cluster demands a quota for these keys or scopes and the namespace has none."""

    resources: tuple[str, ...] = ()
    scopes: str = ""

    def __str__(self) -> str:
        if self.scopes:
            return f"insufficient quota to match these scopes: {self.scopes}"
        return f"insufficient quota to consume: {','.join(sorted(self.resources))}"


class NegativeUsage(msgspec.Struct, frozen=True, kw_only=True):
    """The object asks for less than nothing."""

    resources: tuple[str, ...] = msgspec.field(default=())

    def __str__(self) -> str:
        return f"quota usage is negative for resource(s): {','.join(sorted(self.resources))}"


QuotaRefusal = QuotaExceeded | MustSpecify | QuotaStatusUnknown | NoCoveringQuota | NegativeUsage

_EXCEEDED = re.compile(
    r"exceeded quota: (?P<quota>[^,\s]+), requested: (?P<requested>\S+?), ?used: (?P<used>\S+?), ?"
    r"limited: (?P<limited>[^\s,]+(?:,[^\s,]+)*)"
)
_MUST_SPECIFY = re.compile(r"failed quota: (?P<quota>[^:\s]+): must specify (?P<items>.+)")
_UNKNOWN = re.compile(r"status unknown for quota: (?P<quota>[^,\s]+), resources: (?P<resources>\S*)")
_CONSUME = re.compile(r"insufficient quota to consume: (?P<resources>\S+)")
_SCOPES = re.compile(r"insufficient quota to match these scopes: (?P<scopes>\[.*\])")
_NEGATIVE = re.compile(r"quota usage is negative for resource\(s\): (?P<resources>\S+)")


def parse_quota_refusal(message: str) -> QuotaRefusal | None:
    """The refusal in a message, whatever stands before it; nothing if it speaks of no quota."""
    if match := _EXCEEDED.search(message):
        return QuotaExceeded(
            quota=match["quota"],
            requested=_read_list(match["requested"]),
            used=_read_list(match["used"]),
            limited=_read_list(match["limited"]),
        )
    if match := _MUST_SPECIFY.search(message):
        return MustSpecify(quota=match["quota"], missing=_read_missing(match["items"]))
    if match := _UNKNOWN.search(message):
        return QuotaStatusUnknown(quota=match["quota"], resources=_names(match["resources"]))
    if match := _CONSUME.search(message):
        return NoCoveringQuota(resources=_names(match["resources"]))
    if match := _SCOPES.search(message):
        return NoCoveringQuota(scopes=match["scopes"])
    if match := _NEGATIVE.search(message):
        return NegativeUsage(resources=_names(match["resources"]))
    return None


def _listed(amounts: dict[str, str]) -> str:
    return ",".join(f"{key}={amounts[key]}" for key in sorted(amounts))


def _read_list(text: str) -> dict[str, str]:
    pairs = (item.rpartition("=") for item in text.split(","))
    return {key: value for key, _, value in pairs}


def _read_missing(text: str) -> dict[str, tuple[str, ...]]:
    if " for: " not in text:
        return dict.fromkeys(text.split(","), ())
    items = (item.split(" for: ") for item in text.split("; "))
    return {key: tuple(names.split(",")) for key, names in items}


def _names(text: str) -> tuple[str, ...]:
    return tuple(text.split(",")) if text else ()
