"""Document -> object -> document keeps the meaning, for every kind and every literal."""

from __future__ import annotations

from typing import Any

import document_strategies as some
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tonnage.spec.checking import KINDS
from tonnage.spec.dumping import as_plain, dump
from tonnage.spec.literals import (
    CountRange,
    Cpus,
    CpuShare,
    Duration,
    DurationRange,
    Gpus,
    Money,
    Place,
    Size,
    SizeShare,
)
from tonnage.spec.reading import read
from tonnage.spec.schedules import Days, Hours

UNHURRIED = settings(
    max_examples=40, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large]
)


def read_back(text: str, kind: str) -> Any:
    reading = read(text, "made.yaml")
    assert reading.mistakes == [], text
    return KINDS[kind].model_validate(reading.documents[0].value)


@UNHURRIED
@given(some.runs)
def test_a_run_that_was_written_reads_back_as_the_same_run(content: dict[str, Any]) -> None:
    run = KINDS["Run"].model_validate(content)

    assert read_back(dump(run), "Run") == run


@UNHURRIED
@given(some.teams)
def test_a_team_that_was_written_reads_back_as_the_same_team(content: dict[str, Any]) -> None:
    team = KINDS["Team"].model_validate(content)

    assert read_back(dump(team), "Team") == team


@UNHURRIED
@given(some.clusters)
def test_a_cluster_that_was_written_reads_back_as_the_same_cluster(content: dict[str, Any]) -> None:
    cluster = KINDS["Cluster"].model_validate(content)

    assert read_back(dump(cluster), "Cluster") == cluster


@UNHURRIED
@given(some.runs)
def test_writing_what_was_read_changes_nothing(content: dict[str, Any]) -> None:
    run = KINDS["Run"].model_validate(content)
    once = dump(run)

    assert dump(read_back(once, "Run")) == once


LITERALS: list[tuple[Any, st.SearchStrategy[Any]]] = [
    (Size, some.sizes),
    (SizeShare, some.size_shares()),
    (Cpus, some.milli),
    (CpuShare, some.cpu_shares()),
    (Duration, some.durations),
    (DurationRange, some.duration_ranges()),
    (Money, some.money()),
    (CountRange, some.counts),
    (Place, some.places),
    (Days, some.days),
    (Hours, some.hours),
]


@pytest.mark.parametrize(("literal", "values"), LITERALS, ids=lambda value: getattr(value, "__name__", ""))
def test_a_literal_reads_back_what_it_prints(literal: Any, values: st.SearchStrategy[Any]) -> None:
    @given(values)
    def holds(value: Any) -> None:
        assert literal.parse(str(value)) == value

    holds()


@given(some.gpus())
def test_gpus_read_back_as_they_are_written_in_a_document(gpus: Gpus) -> None:
    assert Gpus.parse(gpus.as_written()) == gpus


def test_friendly_forms_stay_friendly() -> None:
    spec = {
        "gpus": "8xH100",
        "memory": "64Gi..128Gi",
        "budget": "$400/wk",
        "deadline": "90m",
        "retries": 3,
        "spot": True,
        "checkpoints": {"to": "pvc/ckpt", "every": "20m"},
        "data": ["s3://corpus/v3"],
        "command": ["torchrun", "train.py", "--lr", "1e-5"],
    }
    run = KINDS["Run"].model_validate({"metadata": {"name": "a"}, "spec": spec})

    assert as_plain(run)["spec"] == {
        "command": "torchrun train.py --lr 1e-5",
        "gpus": "8 x h100",
        "memory": "64Gi..128Gi",
        "data": ["s3://corpus/v3"],
        "checkpoints": {"to": "pvc/ckpt", "every": "20m"},
        "spot": "allowed",
        "retries": 3,
        "budget": "$400/week",
        "deadline": "1h30m",
    }
