"""Write the golden files of tests/manifests anew: every case of the matrix, rendered. Look at the difference before
you commit it: these files are what users' clusters are sent.

    .venv/bin/python dev/manifest_goldens.py
"""

from __future__ import annotations

import sys
from pathlib import Path

TESTS = Path(__file__).parent.parent / "tests" / "manifests"
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
    print(f"{len(wanted)} files in {GOLDEN}")


if __name__ == "__main__":
    main()
