"""The README's accuracy table says what the newest report says, and the report speaks of what was measured."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from accuracy.readme import README, lines_of, newest_report, rewritten, table
from accuracy.shaping import from_shapes

PROJECT = Path(__file__).parents[2]
ROWS = json.loads((PROJECT / "accuracy" / "measurements" / "h200.json").read_text())["rows"]
REPORT = newest_report().read_text()


def test_the_readme_says_what_the_report_says() -> None:
    readme = README.read_text()

    assert table(REPORT) in readme
    assert rewritten(readme, REPORT) == readme


def test_a_figure_that_changes_in_the_report_changes_the_table() -> None:
    line = next(line for line in REPORT.splitlines() if " uns allocated" in line)

    assert table(
        REPORT.replace(line, line.replace("cap  +0.000%", "cap +77.000%").replace("-0.", "-88."))
    ) != table(REPORT)


def test_every_measured_step_is_in_the_report_but_those_that_cannot_be_traced() -> None:
    told = {line.name: line.group for line in lines_of(REPORT) if line.group != "shape"}
    measured = {row["name"]: row["half"][:3] for row in ROWS}

    assert {name: told[name] for name in told} == {name: measured[name] for name in told}
    assert set(measured) - set(told) == {"fresh_sparse_rows"}


def test_figures_from_shapes_are_what_shape_mode_says_today() -> None:
    told = {line.name: line for line in lines_of(REPORT) if line.group == "shape"}
    some = [row for row in ROWS if row["name"] in told][::6]

    for each in from_shapes(some):
        assert told[each.row["name"]].error == pytest.approx(100 * each.error, abs=0.01)
