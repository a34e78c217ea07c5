"""Which characters this terminal can show: blocks and rules where it speaks UTF-8, plain ones where it does not.

A locale that was named decides, because Python writes UTF-8 in the C locale although the terminal may not read it.
Where none is named, as in most containers, the output's own encoding does.
"""

from __future__ import annotations

import os
import sys

RULE, PLAIN_RULE = "─", "-"
BLOCKS, PLAIN_BLOCKS = "▁▂▃▄▅▆▇█", "._-=+*%#"
_PLAIN = str.maketrans(BLOCKS + RULE, PLAIN_BLOCKS + PLAIN_RULE)


def has_blocks() -> bool:
    """Whether more than ASCII may be written."""
    named = os.environ.get("LC_ALL") or os.environ.get("LANG") or ""
    if named:
        return "utf" in named.lower()
    return "utf" in (sys.stdout.encoding or "").lower()


def fitting(text: str) -> str:
    """The text in characters this terminal has.

    >>> "▁█─".translate(_PLAIN)
    '.#-'
    """
    if has_blocks():
        return text
    return text.translate(_PLAIN).encode("ascii", "replace").decode()
