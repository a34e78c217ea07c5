"""Which checkpoints may go: the oldest beyond the number to keep, never the last one that is proven.

Pure: names and what is known of them in, names out.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable

from tonnage_agent.keeper.naming import Name


def prunable(
    names: Iterable[Name],
    *,
    keep: int,
    mine: Name,
    is_proven: Callable[[Name], bool],
    torn: Collection[Name] = (),
) -> list[Name]:
    """What the writer of `mine` may delete after it was committed, oldest first.

    Kept are the newest `keep` not known to be torn, `mine` itself, whatever a newer attempt wrote, and the newest
    proven one. Whether one is proven is asked newest first and only as far as needed: an answer may cost a look at
    the place.
    """
    ordered = sorted(names, reverse=True)
    whole = [name for name in ordered if name not in torn]
    kept = {*whole[: max(keep, 1)], mine}
    old = [name for name in ordered if name.attempt <= mine.attempt and name not in kept]
    if not old:
        return []
    proven = next((name for name in whole if is_proven(name)), None)
    if proven is None:
        return []
    return sorted(name for name in old if name != proven)
