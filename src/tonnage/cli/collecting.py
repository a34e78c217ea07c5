"""Python's search for garbage, seldom: for commands that make much, let it go by themselves, and end.

A step on paper is a few hundred thousand small values, hardly any in a cycle. At Python's own pace they are searched
over a thousand times before a plan is printed, for a fifth of its time and no gain. The search is not switched off,
so that a long command (a step that is traced again and again) cannot grow without end.
"""

from __future__ import annotations

import gc

AFTER = 200_000
"""Values made since the last search, beyond those let go, before the next; Python's own is 700."""


def collect_rarely() -> None:
    """Search the youngest values for cycles once in a while only, until the process ends."""
    gc.set_threshold(AFTER, *gc.get_threshold()[1:])
