"""docs/exact-mode.md says what the code says."""

from __future__ import annotations

import re
from pathlib import Path

from tonnage.tracing.codes import CODES
from tonnage.tracing.supported import TORCH

PROJECT = Path(__file__).parents[2]
TEXT = (PROJECT / "docs" / "exact-mode.md").read_text()


def test_every_code_is_explained_with_its_own_sentence() -> None:
    told = dict(re.findall(r"^\| (TRACE-\d+) \| ([^|]+) \|", TEXT, re.MULTILINE))

    assert told == dict(CODES)


def test_every_code_that_is_raised_is_listed() -> None:
    sources = (PROJECT / "src" / "tonnage" / "tracing").glob("*.py")
    raised = {
        code
        for file in sources
        if file.name != "codes.py"
        for code in re.findall(r"TRACE-\d+", file.read_text())
    }

    assert raised == set(CODES)


def test_the_supported_minors_are_listed() -> None:
    assert ", ".join(TORCH) in " ".join(TEXT.split())
