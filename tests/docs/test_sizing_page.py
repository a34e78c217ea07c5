"""The page on sizing lists every error code and every policy."""

from __future__ import annotations

import re
from pathlib import Path

from tonnage.sizing.comparing import policies

PROJECT = Path(__file__).parents[2]
PAGE = (PROJECT / "docs" / "sizing.md").read_text()


def test_every_code_is_listed_and_no_other() -> None:
    files = [
        *(PROJECT / "src/tonnage/sizing").glob("*.py"),
        *(PROJECT / "src/tonnage/cli").glob("rightsize*.py"),
    ]
    used = set(re.findall(r"SIZE-\d+", "".join(path.read_text() for path in files)))

    assert used == set(re.findall(r"SIZE-\d+", PAGE))


def test_every_policy_is_described() -> None:
    assert [name for name in policies() if f"| `{name}` |" not in PAGE] == []
