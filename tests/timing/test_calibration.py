"""The committed calibration: what it promises on steps it was not fitted to, from the committed data alone."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest
from accuracy.timing.keeping import Excerpt, read
from accuracy.timing.report import Line, predicted, summary
from accuracy.timing.writing import write_table

from tonnage.timing.calibration import MeasuredTable, calibration
from tonnage.timing.corrections import Family
from tonnage.timing.reading import work_of


@pytest.fixture(scope="module")
def kept() -> list[Excerpt]:
    return read()


@pytest.fixture(scope="module")
def reported(kept: list[Excerpt]) -> list[Line]:
    return [predicted(excerpt) for excerpt in kept if excerpt.step.half == "report"]


def test_steps_the_calibration_never_saw_are_predicted_within_a_few_per_cent(reported: list[Line]) -> None:
    found = summary(reported)

    assert found.steps >= 25
    assert found.median <= 0.08
    assert found.p90 <= 0.20


def test_four_intervals_of_five_hold_the_truth(reported: list[Line]) -> None:
    assert summary(reported).covered >= 0.80


def test_no_step_is_missed_by_a_third(reported: list[Line]) -> None:
    worst = max(reported, key=lambda line: abs(line.error))

    assert abs(worst.error) < 0.33, worst.name


def test_halves_follow_from_names_alone(kept: list[Excerpt]) -> None:
    from accuracy.catalogue import Configuration

    assert all(excerpt.step.half == Configuration("", excerpt.step.name).half for excerpt in kept)


def test_what_real_steps_spend_most_time_in_was_measured(kept: list[Excerpt]) -> None:
    corrections = calibration().corrections
    kinds = {
        (work.kind, work.family)
        for excerpt in kept
        for work in (work_of(operation) for operation in excerpt.step.operations)
        if work.kind == "attention" or (work.kind == "matrix" and work.family.startswith(("mm", "bmm")))
    }

    assert [family for kind, family in sorted(kinds) if not corrections.knows(kind, family)] == []


def test_a_fitted_table_is_read_as_it_was_written(tmp_path: Path) -> None:
    points = {"matrix:mm": (((1.25, 3.0, 0.0), -0.125, 4.0), ((20.5, 0.75, 1.6), 2.5, 1.0))}
    written = tmp_path / "table.json"

    write_table(calibration(), points, written)

    found = msgspec.json.decode(written.read_bytes(), type=MeasuredTable)
    assert found.points == points
    assert (found.gpu, found.gap, found.host) == ("h200", calibration().gap, calibration().host)
    assert found.spread == pytest.approx(calibration().spread, abs=0.001)


def test_at_a_measured_place_the_measurement_speaks() -> None:
    family = Family([((10.0, 0.0), 0.5, 1.0), ((20.0, 0.0), -0.5, 1.0)])

    assert family.at((10.0, 0.0)).factor == pytest.approx(1.649, rel=0.03)
    assert family.at((20.0, 0.0)).factor == pytest.approx(0.607, rel=0.03)


def test_far_from_all_measurements_the_answer_is_less_sure() -> None:
    family = Family([((10.0, 0.0), 0.5, 1.0), ((10.5, 0.0), 0.5, 1.0), ((20.0, 0.0), -0.5, 1.0)])

    assert family.at((10.2, 0.0)).spread < family.at((15.0, 6.0)).spread
