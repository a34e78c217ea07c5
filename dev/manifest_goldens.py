"""Write the golden files of tests/manifests anew: every case of the matrix, rendered; and the table of docs/targets.md.
Look at the difference before you commit it: these files are what users' clusters are sent.

    .venv/bin/python dev/manifest_goldens.py
"""

from __future__ import annotations

import sys
from pathlib import Path

PROJECT = Path(__file__).parent.parent
TESTS = PROJECT / "tests" / "manifests"
PAGE = PROJECT / "docs" / "targets.md"
BEGIN, END = "<!-- table:lacks -->\n", "<!-- end -->"
GOLDEN = TESTS / "golden"
sys.path.insert(0, str(TESTS))


def main() -> None:
    from manifest_cases import CASES  # type: ignore[import-not-found]

    from tonnage.manifests.writing import write_rendered

    GOLDEN.mkdir(exist_ok=True)
    wanted = {f"{case.name}.yaml": write_rendered(case.rendered()) for case in CASES}
    for old in GOLDEN.glob("*.yaml"):
        if old.name not in wanted:
            old.unlink()
    for name, text in wanted.items():
        (GOLDEN / name).write_text(text)
    PAGE.write_text(with_table(PAGE.read_text()))
    print(f"{len(wanted)} files in {GOLDEN}, and the table of {PAGE.name}")


def with_table(page: str) -> str:
    """The page with the table as the code has it."""
    from tonnage.manifests.lacking import LACKS

    rows = ["| target | cannot express | because | instead |", "|---|---|---|---|"]
    for target, lacks in LACKS.items():
        rows += [f"| {target} | {lack.what} | {lack.why} | {lack.instead} |" for lack in lacks]
    before, rest = page.split(BEGIN)
    return before + BEGIN + "\n".join(rows) + "\n" + END + rest.split(END, 1)[1]


if __name__ == "__main__":
    main()
