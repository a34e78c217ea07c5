"""A pasted log as evidence: launcher output, `kubectl describe`, events, YAML, `dmesg`, in one text.

All of it becomes log lines, because rules read words wherever they stand. Only YAML that `kubectl` broke across lines
is joined again: a message must be whole to be read.
"""

from __future__ import annotations

import re

from tonnage.diagnosis.evidence import Evidence, LogLines

_OPEN = re.compile(r"^\s*(?:- )?(?:message|reason|note): '(?P<rest>[^']*(?:''[^']*)*)$")
_PLAIN = re.compile(r"^(?P<indent>\s*)(?:- )?message: (?!['\"|>{])\S.*[^.]$")


def evidence_from_log(text: str, *, index: int = 0, source: str = "log") -> Evidence:
    """The evidence that is in a text alone."""
    return Evidence(logs=(LogLines(index=index, lines=tuple(_joined(text.splitlines())), source=source),))


def _joined(lines: list[str]) -> list[str]:
    joined: list[str] = []
    quoted = False
    for line in lines:
        if quoted:
            joined[-1] = f"{joined[-1]} {line.strip()}"
            quoted = not re.search(r"(?<!')'(?:'')*$", line)
        elif joined and _continues(joined[-1], line):
            joined[-1] = f"{joined[-1]} {line.strip()}"
        else:
            joined.append(line)
            quoted = _OPEN.match(line) is not None
    return [line.replace("''", "'") if "''" in line and "message:" in line else line for line in joined]


def _continues(last: str, line: str) -> bool:
    """Whether a line is the rest of a plain scalar: deeper than its key and not a key itself."""
    found = _PLAIN.match(last)
    if found is None or not line.strip():
        return False
    indent = len(line) - len(line.lstrip())
    return indent > len(found["indent"]) + 1 and not re.match(r"\s*(?:- )?[\w.-]+:(?: |$)", line)
