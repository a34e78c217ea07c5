"""Mistakes as text: place and field first, the code at the right edge, found and expected below.

Pure layout for a given width; colour and streams are the command line's work.
"""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

from tonnage.spec.mistakes import Mistake

MOST_SHOWN = 40
"""Past this many nobody reads on; they are counted, and `-o json` has them all."""
MOST_COLUMNS = 100
_WIDEST_PLACE = 30


def show_mistakes(mistakes: Sequence[Mistake], width: int) -> str:
    """All of them (or the first forty), aligned for this width."""
    width = max(40, min(width, MOST_COLUMNS))
    shown = mistakes[:MOST_SHOWN]
    margin = max((len(_place(mistake)) for mistake in shown), default=0) + 2
    lines = [line for mistake in shown for line in _lines(mistake, width, margin)]
    left = len(mistakes) - len(shown)
    if left:
        lines.append(f"and {left:,} more; `-o json` lists them all")
    return "\n".join(lines)


def show_line(place: str, text: str, width: int) -> str:
    """One calm line, hanging under itself where the terminal is too narrow."""
    width = max(40, min(width, MOST_COLUMNS))
    margin = len(place) + 2 if len(place) <= _WIDEST_PLACE else 4
    return textwrap.fill(
        f"{place}  {text}",
        width,
        subsequent_indent=" " * margin,
        break_on_hyphens=False,
        break_long_words=False,
    )


def _lines(mistake: Mistake, width: int, margin: int) -> list[str]:
    place = _place(mistake)
    lines = []
    if margin - 2 > min(_WIDEST_PLACE, width // 2):
        lines.append(place)
        place, margin = "", 4
    head = _wrap(mistake.headline, width - margin - len(mistake.code) - 2)
    first = f"{place:<{margin}}{head[0]}"
    lines.append(f"{first:<{width - len(mistake.code)}}{mistake.code}")
    details = head[1:] + _details(mistake, width - margin)
    return lines + [f"{'':{margin}}{line}" for line in details]


def _details(mistake: Mistake, width: int) -> list[str]:
    found, expected = mistake.found, mistake.expected
    lines: list[str] = []
    if found is not None and expected is not None:
        lines += _wrap(f"found {found}; expected {expected}", width)
    elif found is not None:
        lines += _wrap(f"found {found}", width)
    elif expected is not None:
        lines += _wrap(f"expected {expected}", width)
    if mistake.hint is not None:
        lines += _wrap(mistake.hint, width)
    return lines


def _place(mistake: Mistake) -> str:
    return f"{mistake.place} note" if mistake.is_remark else mistake.place


def _wrap(text: str, width: int) -> list[str]:
    return textwrap.wrap(text, max(20, width), break_on_hyphens=False) or [""]
