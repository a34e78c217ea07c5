"""The page on estimates lists every key of the JSON and every error code."""

from __future__ import annotations

import re
from pathlib import Path

from tonnage.memory.estimate import CATEGORIES, Estimate, Guard
from tonnage.reporting.estimate import EstimateView, as_json

PROJECT = Path(__file__).parents[2]
PAGE = (PROJECT / "docs" / "estimate.md").read_text()


def test_every_key_is_explained():
    estimate = Estimate("exact", "h200", 1, 1, 1, 1, Guard(1, "why"), (), ())
    told = as_json(EstimateView("x.py:build", estimate))
    assert [key for key in told if f"`{key}`" not in PAGE] == []


def test_every_category_is_named():
    assert [name for name in CATEGORIES if f"`{name}`" not in PAGE] == []


def test_every_code_is_listed_and_no_other():
    source = "".join(path.read_text() for path in (PROJECT / "src/tonnage/cli").glob("estimate*.py"))
    used, listed = (set(re.findall(r"EST-\d+", text)) for text in (source, PAGE))
    assert used == listed
