"""Which names Kubernetes accepts, and what it says about those it does not.

Three shapes cover everything here: a DNS label (containers), a DNS subdomain (objects, classes) and a
qualified name (label keys, resource names, scheduling gates).
"""

from __future__ import annotations

import re
from collections.abc import Iterator

_LABEL = "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_SUBDOMAIN = _LABEL + r"(\." + _LABEL + ")*"
_KEY = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]"
_ENDS = "and must start and end with an alphanumeric character"


def _rule(text: str, pattern: str, *examples: str) -> str:
    """A rule with examples, its odd blanks as in apimachinery."""
    shown = " or ".join(f"'{example}', " for example in examples)
    return f"{text}, {_ENDS} (e.g. {shown}regex used for validation is '{pattern}')"


_LABEL_RULE = _rule(
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-'",
    _LABEL,
    "my-name",
    "123-abc",
)
_SUBDOMAIN_RULE = _rule(
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.'",
    _SUBDOMAIN,
    "example.com",
)
_KEY_RULE = _rule(
    "must consist of alphanumeric characters, '-', '_' or '.'", _KEY, "MyName", "my.name", "123-abc"
)
_VALUE_RULE = _rule(
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.'",
    f"({_KEY})?",
    "MyValue",
    "my_value",
    "12345",
)


def label_faults(name: str) -> Iterator[str]:
    """What is wrong with a DNS label."""
    yield from _too_long(name, 63, "characters")
    if not _matches(_LABEL, name):
        yield "must not contain dots" if _matches(_SUBDOMAIN, name) else _LABEL_RULE


def subdomain_faults(name: str, *, unit: str = "characters") -> Iterator[str]:
    """What is wrong with a DNS subdomain; as part of a qualified name its length is said in bytes."""
    yield from _too_long(name, 253, unit)
    if not _matches(_SUBDOMAIN, name):
        yield _SUBDOMAIN_RULE


def qualified_name_faults(name: str) -> Iterator[str]:
    """What is wrong with `[prefix/]name`."""
    prefix, slash, last = name.rpartition("/")
    if "/" in prefix:
        yield (
            f"a valid label key {_KEY_RULE} with an optional DNS subdomain prefix and '/' "
            "(e.g. 'example.com/MyName')"
        )
        return
    if slash and not prefix:
        yield "prefix part must be non-empty"
    elif slash:
        yield from (f"prefix part {fault}" for fault in subdomain_faults(prefix, unit="bytes"))
    if not last:
        yield "name part must be non-empty"
    yield from (f"name part {fault}" for fault in _too_long(last, 63, "bytes"))
    if not _matches(_KEY, last):
        yield f"name part {_KEY_RULE}"


def label_value_faults(value: str) -> Iterator[str]:
    """What is wrong with a label's (or toleration's) value."""
    yield from _too_long(value, 63, "bytes")
    if not _matches(f"({_KEY})?", value):
        yield _VALUE_RULE


def _too_long(text: str, most: int, unit: str) -> Iterator[str]:
    if len(text.encode()) > most:
        yield f"must be no more than {most} {unit}"


def _matches(pattern: str, text: str) -> bool:
    return re.fullmatch(pattern, text, re.ASCII) is not None
