"""What was told and measured becomes the record: the SDK beats the log, peaks are exact, growth is no guess."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tonnage_agent.hearing.told import Told
from tonnage_agent.record import Record, read_record
from tonnage_agent.sampling.watching import MemoryWatch
from tonnage_agent.telemetry import Sample

MIB = 1 << 20


def told(*events: dict, source: str = "sdk") -> Told:
    found = Told()
    for event in events:
        found.hear(event, 1000.0, source)
    return found


def step(number: int, **more) -> dict:
    return {"event": "step", "step": number, **more}


def phase(name: str, state: str = "begin", **more) -> dict:
    return {"event": "phase", "name": name, "state": state, **more}


class TestTold:
    def test_the_sdks_word_beats_the_logs(self):
        found = told(step(7))
        found.hear(step(99), 0, "log")

        assert found.step == 7

    def test_a_log_is_believed_until_the_sdk_speaks(self):
        found = told(step(99), source="log")
        found.hear(step(7), 0, "sdk")

        assert found.step == 7

    def test_the_lowest_rank_is_quoted_and_all_are_kept(self):
        found = told(
            step(10, rank=0, loss=1.0), step(10, rank=1, loss=2.0), step(11, rank=1), step(9, rank=3)
        )

        assert (found.step, found.loss) == (10, 1.0)
        assert found.ranks == {0: 10, 1: 11, 3: 9}

    def test_seconds_per_step_come_from_the_distance_of_steps_where_nobody_says(self):
        assert told(step(10, when=100.0), step(20, when=105.0)).step_seconds == 0.5

    def test_phases_lie_inside_each_other(self):
        found = told(phase("epoch"), phase("checkpoint"))
        assert found.phase == "checkpoint"
        found.hear(phase("checkpoint", "end"), 0)
        assert found.phase == "epoch"
        found.hear(phase("epoch", "end"), 0)
        assert found.phase == ""

    def test_an_end_of_something_not_begun_is_ignored(self):
        assert told(phase("step"), phase("eval", "end")).phase == "step"

    def test_a_loss_that_is_no_number_is_said(self):
        found = told(step(7, loss=1.0), step(8, loss=float("nan")))

        assert (found.loss, found.message) == (1.0, "loss is nan at step 8")

    @pytest.mark.parametrize("total", [None, 10, 8])
    def test_done_is_the_last_step_made_and_a_good_end(self, total):
        found = told(step(8, **({"total": total} if total else {})))

        assert found.is_done(0) == (total == 8)
        assert not found.is_done(1)

    @given(st.dictionaries(
        st.sampled_from(["event", "when", "step", "total", "loss", "rank", "name", "state", "path", "why", "text",
                         "seconds", "data", "pid", "bytes"]),
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5)
        | st.lists(st.integers(), max_size=2)
        | st.sampled_from(["step", "phase", "checkpoint", "resumed", "skipped", "message"]),
    ))  # fmt: skip
    def test_no_event_whatever_it_holds_can_break_it_or_the_record(self, event):
        found = told(
            event, {**event, "event": "step"}, {**event, "event": "phase"}, {**event, "event": "checkpoint"}
        )

        json.dumps([found.step, found.loss, found.phase, found.ranks, found.message])


def sample(when: float, needed: int, *, usage: int | None = None, peak: int | None = None, **more) -> Sample:
    used = needed if usage is None else usage
    return Sample(when, "cgroup-v2", used, used, anon_bytes=needed, peak_bytes=peak, **more)


class TestMemory:
    def test_a_peak_between_two_samples_is_charged_to_the_phase_that_was_open(self):
        watch = MemoryWatch()
        watch.take(sample(0, 100, peak=100), "load")
        watch.take(sample(1, 110, peak=900), "load")
        watch.take(sample(2, 120, peak=900), "step")

        assert watch.phases == {"load": 900, "step": 120}
        assert watch.peak == 900

    def test_what_was_highest_before_we_came_is_not_ours(self):
        watch = MemoryWatch()
        watch.take(sample(0, 100, peak=5000, oom_kills=3), "")
        watch.take(sample(1, 120, peak=5000, oom_kills=4), "")

        assert (watch.peak, watch.oom_kills) == (120, 1)

    def test_page_cache_is_not_what_is_needed(self):
        watch = MemoryWatch()
        watch.take(sample(0, 100, usage=1000, limit_bytes=1000), "")

        assert (watch.told()["usage"], watch.told()["neededPeak"], watch.is_near_limit) == (1000, 100, False)

    def test_a_leak_has_its_slope(self):
        watch = MemoryWatch()
        for second in range(120):
            watch.take(sample(second, 500 * MIB + second * MIB + (second % 7) * 40 * MIB), "")

        assert watch.growth() == pytest.approx(MIB, rel=0.35)

    def test_batches_that_come_and_go_do_not_grow(self):
        watch = MemoryWatch()
        for second in range(300):
            watch.take(sample(second, 500 * MIB + (second % 10) * 100 * MIB), "")

        assert abs(watch.growth()) < MIB / 10

    def test_filling_up_before_the_first_step_is_no_growth(self):
        watch = MemoryWatch()
        for second in range(60):
            watch.take(sample(second, second * 100 * MIB), "load")
        watch.begin_steps()
        for second in range(60, 120):
            watch.take(sample(second, 6000 * MIB), "step")

        assert watch.growth() == 0

    def test_growth_is_not_told_too_early(self):
        watch = MemoryWatch()
        for second in range(5):
            watch.take(sample(second, second * MIB), "")

        assert watch.growth() is None
        assert "growthPerSecond" not in watch.told()


lines = st.lists(st.text(max_size=300), max_size=60)
records = st.builds(
    Record, run=st.text(max_size=20), step=st.none() | st.integers(0, 10**9), message=st.text(max_size=6000), log=lines,
    phase=st.text(max_size=64), skipped=st.lists(st.text(max_size=200), max_size=20),
    processes=st.lists(st.just({"pid": 1, "name": "python", "bytes": 5, "kind": "main"}), max_size=12),
    ranks=st.dictionaries(st.text(max_size=3), st.integers(0, 10**9), max_size=64),
    memory=st.dictionaries(st.text(max_size=64), st.integers(0, 2**60), max_size=40),
)  # fmt: skip


class TestMessage:
    @given(records)
    def test_it_is_always_whole_and_never_too_long(self, record):
        message = record.as_message()

        assert len(message) <= 4096
        assert json.loads(message)["version"] == 1

    @given(records)
    def test_a_record_survives_its_journey(self, record):
        assert read_record(json.loads(record.as_text())) == record

    def test_the_newest_lines_are_kept_and_what_explains_a_death_comes_first(self):
        record = Record(
            run="r",
            cause="deadline",
            exit_code=81,
            log=[f"line {number} " + "x" * 90 for number in range(60)],
        )
        message = json.loads(record.as_message())

        assert (message["cause"], message["exitCode"]) == ("deadline", 81)
        assert message["log"][-1].startswith("line 59 ")
        assert len(message["log"]) > 30

    def test_one_line_larger_than_everything_is_cut(self):
        message = json.loads(Record(log=["\N{SNOWMAN}" * 2000]).as_message())

        assert set(message["log"][0]) == {"\N{SNOWMAN}"}
