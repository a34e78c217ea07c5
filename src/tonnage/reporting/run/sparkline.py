"""A course of numbers as a few block characters."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

BLOCKS = "▁▂▃▄▅▆▇█"


def sparkline(values: Sequence[int], top: int | None, width: int) -> str:
    """The last values, squeezed into so many columns by their maxima; the full block is `top`.

    >>> sparkline([0, 1, 2, 4, 8], 8, 5)
    '▁▂▃▅█'
    """
    if not values:
        return ""
    columns = min(width, len(values))
    bounds = [round(index * len(values) / columns) for index in range(columns + 1)]
    peaks = [max(values[low:high]) for low, high in itertools.pairwise(bounds)]
    full = max(top or 0, *peaks, 1)
    return "".join(BLOCKS[min(int(peak / full * len(BLOCKS)), len(BLOCKS) - 1)] for peak in peaks)
