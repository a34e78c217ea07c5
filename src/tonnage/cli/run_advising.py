"""A script that saves nothing is shown the lines to add, before it is started; and a document its missing place."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tonnage.spec.run import Run

MOST_BYTES = 1_000_000
NOTE = "note"


def lines_to_add(run: Run, folder: Path, file: str = "") -> list[str]:
    """What to add to script and document so that the run survives; nothing where it saves, or there is none to read."""
    from tonnage.sdk.advising import advise

    script = script_of(run, folder)
    advice = advise(script.read_text(errors="replace"), script.name) if script is not None else None
    said = [] if advice is None or advice.saves or not advice.lines else advice.as_text().splitlines()
    if run.spec.checkpoints is None:
        place = f"checkpoints: {{to: pvc/{run.metadata.name}}}"
        said = said or [f"nothing is kept for a next attempt: {_name(file)} names no place for it"]
        said += [f"  in {_name(file)}, below spec:", f"    + {place}   # or s3://bucket/folder"]
    return [f"  {NOTE if index == 0 else '':<10}{line}".rstrip() for index, line in enumerate(said)]


def _name(file: str) -> str:
    return Path(file).name if file not in ("", "-") else "the document"


def script_of(run: Run, folder: Path) -> Path | None:
    """The Python file that the command names, in the folder it runs in."""
    code = run.spec.code
    root = (folder / code.path) if code is not None else folder
    named = [word for word in run.spec.command or () if word.endswith(".py")]
    found = [root / word for word in named if (root / word).is_file()]
    return found[0] if found and found[0].stat().st_size <= MOST_BYTES else None
