"""Texts as the programs print them (formats read in their sources), one or more per class, and the class they mean.

`texts.txt` has a heading per text: the class, or `not memory: ...` for what only looks like it.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tonnage.diagnosis.classes import CLASSES
from tonnage.diagnosis.classifying import classify
from tonnage.diagnosis.logs import evidence_from_log

HEADING = "=== "
SECTIONS = (Path(__file__).parent / "texts.txt").read_text().split(HEADING)[1:]
TEXTS = [tuple(section.split("\n", 1)) for section in SECTIONS]
OF_A_CLASS = [(code, text) for code, text in TEXTS if code in CLASSES]
NOT_MEMORY = [(name, text) for name, text in TEXTS if name.startswith("not memory")]


@pytest.mark.parametrize(("code", "text"), OF_A_CLASS)
def test_a_text_is_read_as_its_class(code: str, text: str) -> None:
    finding = classify(evidence_from_log(text))
    assert finding.code == code, [line.text for line in finding.evidence]
    assert finding.evidence or code == "UNKNOWN", "every claim cites a line"


@pytest.mark.parametrize(("name", "text"), NOT_MEMORY)
def test_what_only_looks_like_memory_is_not_called_memory(name: str, text: str) -> None:
    assert not classify(evidence_from_log(text)).code.startswith("MEM"), name


def test_every_text_has_a_heading_that_is_known() -> None:
    assert len(OF_A_CLASS) + len(NOT_MEMORY) == len(TEXTS) > 100
