"""Write what `tonnage plan` says about each example into its `expected.txt`; look at the difference before you commit.

python dev/plan_examples.py
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

EXAMPLES = Path(__file__).parents[1] / "examples"


def main() -> None:
    for page in sorted(EXAMPLES.glob("*/README.md")):
        lines = page.read_text(encoding="utf-8").splitlines()
        commands = [line.split()[1:] for line in lines if line.startswith("    tonnage plan ")]
        if commands:
            shown = "".join(said(words, page.parent) for words in commands)
            (page.parent / "expected.txt").write_text(shown, encoding="utf-8")
            print(page.parent.name)


def said(words: list[str], folder: Path) -> str:
    """Standard output of one command, as a reader in the example's folder sees it."""
    finished = subprocess.run(
        [sys.executable, "-m", "tonnage", *words],
        capture_output=True,
        text=True,
        check=False,
        cwd=folder,
        env={**os.environ, "COLUMNS": "80"},
    )
    if finished.returncode not in (0, 1):
        raise SystemExit(finished.stderr)
    return finished.stdout


if __name__ == "__main__":
    main()
