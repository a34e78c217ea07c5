"""Shape mode against steps that were measured on an H200: calibrated on one half, judged on the other."""

from __future__ import annotations

import json
import math
from pathlib import Path
from statistics import median

import pytest
from measured_cases import CASES, shape_of

from tonnage.cluster.gpus import find_gpu
from tonnage.memory.ledger import shape_estimate
from tonnage.timing.shape import shape_step_time

TABLE = Path(__file__).parents[3] / "accuracy" / "measurements" / "h200.json"
ROWS = {row["name"]: row for row in json.loads(TABLE.read_text())["rows"]}
REPORTED = sorted(name for name in CASES if name in ROWS and ROWS[name]["half"] == "report")
ALL = sorted(name for name in CASES if name in ROWS)


def truth_of(name: str) -> int:
    """What the device must hold: the smallest cap that trained, and what lies outside the allocator."""
    row = ROWS[name]
    return int((row.get("cap_trained") or row["peak_reserved"]) + row["outside"])


@pytest.fixture(scope="module")
def estimates() -> dict[str, tuple[float, float, float]]:
    """Per measured step: expected / truth, required / truth, seconds / measured seconds."""
    gpu = find_gpu("h200")
    assert gpu is not None
    found = {}
    for name in ALL:
        described, recipe = CASES[name]
        shape = shape_of(described)
        told = shape_estimate(shape, recipe, gpu)
        truth = truth_of(name)
        seconds = shape_step_time(shape, recipe, gpu).p50 / ROWS[name]["step_seconds"]
        found[name] = (told.expected / truth, told.required / truth, seconds)
    return found


def test_the_expected_figure_is_near_the_truth(estimates: dict[str, tuple[float, float, float]]) -> None:
    errors = sorted(abs(estimates[name][0] - 1) for name in REPORTED)
    assert median(errors) <= 0.05
    assert errors[math.ceil(0.9 * len(errors)) - 1] <= 0.12


def test_the_required_figure_is_never_below_the_truth_nor_far_above(
    estimates: dict[str, tuple[float, float, float]],
) -> None:
    shares = {name: estimates[name][1] for name in ALL}
    assert {name: share for name, share in shares.items() if share < 1} == {}
    assert {name: share for name, share in shares.items() if share > 1.35} == {}
    assert median(shares.values()) <= 1.15


def test_the_time_of_a_step_is_near_what_was_measured(
    estimates: dict[str, tuple[float, float, float]],
) -> None:
    assert median(abs(estimates[name][2] - 1) for name in REPORTED) <= 0.25
