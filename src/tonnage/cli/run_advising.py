"""A script that saves nothing is shown the lines to add, before it is started."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tonnage.spec.run import Run

MOST_BYTES = 1_000_000


def lines_to_add(run: Run, folder: Path) -> list[str]:
    """What to add to the run's script so that it survives; nothing where it saves, or there is none to read."""
    from tonnage.sdk.advising import advise

    script = script_of(run, folder)
    if script is None:
        return []
    advice = advise(script.read_text(errors="replace"), script.name)
    return [] if advice.saves or not advice.lines else [f"  {line}" for line in advice.as_text().splitlines()]


def script_of(run: Run, folder: Path) -> Path | None:
    """The Python file that the command names, in the folder it runs in."""
    code = run.spec.code
    root = (folder / code.path) if code is not None else folder
    named = [word for word in run.spec.command or () if word.endswith(".py")]
    found = [root / word for word in named if (root / word).is_file()]
    return found[0] if found and found[0].stat().st_size <= MOST_BYTES else None
