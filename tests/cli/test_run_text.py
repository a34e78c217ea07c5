"""The live view in any terminal: narrow, wide, without UTF-8; and what it warns of."""

from __future__ import annotations

import datetime as dt

import pytest

from tonnage.cli.run_listing import listed
from tonnage.cli.run_text import live_lines, moment_lines
from tonnage.reporting.run import RunView, line_of
from tonnage.reporting.run.viewing import MemoryView
from tonnage.running.history import Moment

NOW = dt.datetime(2026, 11, 15, 12, tzinfo=dt.UTC)
GIB = 2**30


def a_view(**changes: object) -> RunView:
    ram = MemoryView(
        usage=188 * GIB, limit=260 * GIB, growth_per_hour=GIB, limit_in_seconds=72 * 3600, course=(1, 2)
    )
    known: dict[str, object] = {
        "name": "llama-8b-sft", "id": 1, "place": "this machine", "state": "running", "attempt": 1,
        "created": NOW - dt.timedelta(hours=2), "step": 4210, "total": 58_000, "loss": 1.84, "seconds_per_step": 1.91,
        "finishes": NOW + dt.timedelta(hours=29), "finishes_within": 7200.0, "seconds_left": 29 * 3600.0,
        "memory": ram, "gpu_memory": MemoryView(usage=41 * GIB, limit=80 * GIB, growth_per_hour=0),
        "gpu_activity": 93.0, "safe_step": 4032, "safe_since": NOW - dt.timedelta(minutes=6), "ran_seconds": 8400.0,
        "spent": 141_000_000, "expected_cost": 1_900_000_000, "budget": 2_400_000_000,
    }  # fmt: skip
    return RunView(**{**known, **changes})  # type: ignore[arg-type]


@pytest.mark.parametrize("columns", [40, 60, 80, 160])
@pytest.mark.parametrize("locale", ["C", "en_US.UTF-8"])
def test_no_line_is_wider_than_the_terminal(
    monkeypatch: pytest.MonkeyPatch, columns: int, locale: str
) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    monkeypatch.setenv("LC_ALL", locale)
    lines = live_lines(a_view(is_supervised=False, deadline_seconds=3600.0), NOW)
    assert max(map(len, lines)) < columns
    assert all(line.isascii() for line in lines) == (locale == "C")


def test_it_says_how_it_goes_what_it_holds_and_what_it_will_cost(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "100")
    text = "\n".join(live_lines(a_view(), NOW))
    for word in (
        "(+-2.0 h)", "41 GiB of 80 GiB  93 % busy  steady", "growing 1 GiB/h: limit in 72 h, after the end",
        "spent $141 of about $1,900, budget $2,400", "safe up to step 4,032 (6 m ago)",
    ):  # fmt: skip
        assert word in text, text


def test_the_gpus_course_stands_above_that_of_ram(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.setenv("LC_ALL", "en_US.UTF-8")
    memory = MemoryView(usage=41 * GIB, limit=80 * GIB, growth_per_hour=0, course=(10 * GIB, 41 * GIB))
    view = a_view(gpu_memory=memory, gpu_activity_course=(0, 50, 100))
    (gpu, busy, ram) = [line for line in live_lines(view, NOW) if line.lstrip().startswith(("GPU", "RAM"))]
    assert gpu.split() == ["GPU", "memory", "▂▅", "41", "GiB", "of", "80", "GiB", "steady"]
    assert busy.split() == ["GPU", "busy", "▁▅█", "93", "%"]
    assert ram.lstrip().startswith("RAM")


def test_walls_before_the_end_are_warned_of() -> None:
    text = " ".join(live_lines(a_view(deadline_seconds=10 * 3600.0, budget=1_000_000_000), NOW))
    assert "the deadline comes 21 h before the end" in text
    assert "$900 are missing" in text


def test_details_stand_below_what_they_belong_to(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    lost = Moment(
        number=2,
        when=NOW,
        text="lost   96 s of work ($1.60): checkpoint at step 9,120 is whole",
        kind="detail",
    )
    first, second = moment_lines(lost)
    assert first.startswith(" " * 12 + "lost   96 s")
    assert second.startswith(" " * 19)
    assert moment_lines(Moment(number=1, when=NOW, text="planned   fits", kind="planned")) == [
        "  planned   fits"
    ]


def test_the_list_shows_only_columns_that_say_something() -> None:
    plain = a_view(spent=None, finishes=None, seconds_left=None, memory=None)
    (heading, row) = listed([line_of(plain, NOW)], numbered=False)
    assert heading.split() == ["run", "state", "step", "age"]
    assert row.split()[:2] == ["llama-8b-sft", "running"]
    lost = listed([line_of(a_view(is_supervised=False), NOW)], numbered=True)[1]
    assert "llama-8b-sft#1" in lost


def test_what_has_ended_is_not_said_to_grow_and_what_has_not_begun_has_no_number() -> None:
    assert "growing" in "\n".join(live_lines(a_view(), NOW))
    assert "growing" not in "\n".join(live_lines(a_view(state="ended"), NOW))
    begun = live_lines(a_view(state="starting", attempt=0, step=None, memory=None, gpu_memory=None), NOW)
    assert begun[1] == "  starting   2 h"
