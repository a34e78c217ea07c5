"""Evidence comes torn, partial and from newer agents: it is read, or passed over, never fallen over."""

from __future__ import annotations

import datetime as dt
import time

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.diagnosis.endings import a_pod

from tonnage.diagnosis.classes import CLASSES
from tonnage.diagnosis.classifying import classify
from tonnage.diagnosis.evidence import Evidence, LogLines
from tonnage.diagnosis.logs import evidence_from_log
from tonnage.running.attempts import Attempt, Size
from tonnage.running.endings import ending_of
from tonnage.running.observing import Observation

NOW = dt.datetime(2026, 3, 1, tzinfo=dt.UTC)
NAMES = st.sampled_from(
    ["memory", "usage", "limit", "peak", "oomKills", "growthPerSecond", "cause", "state", "log", "shm", "checkpoint",
     "step", "total", "stepSeconds", "when", "updatedAt", "startedAt", "firstRank", "phase", "message", "exitCode"]
)  # fmt: skip
JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**12), 10**12)
    | st.floats(allow_nan=True)
    | st.text(max_size=12),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=5),
    max_leaves=12,
)
RECORDS = st.dictionaries(st.integers(0, 2), st.dictionaries(NAMES, JSON, max_size=8), max_size=3)
WORDS = st.sampled_from(
    ["OOMKilled", "CUDA out of memory. Tried to allocate 2.00 GiB", "exitcode: -9", "Xid 79", "No space left on device",
     "MemoryError", "Traceback (most recent call last):", "loss 1.0 rss 4 GB", "Killed", "\x00", "message: 'x"]
)  # fmt: skip
TEXTS = st.lists(WORDS | st.text(max_size=40), max_size=12).map("\n".join)


@given(TEXTS)
@settings(max_examples=200, deadline=None)
def test_any_text_has_an_answer(text: str) -> None:
    finding = classify(evidence_from_log(text))
    assert finding.code in CLASSES
    assert 0 < finding.confidence <= 1
    assert finding.evidence or finding.code == "UNKNOWN"


@given(RECORDS, TEXTS, st.sampled_from([None, 0, 1, 137, 143]))
@settings(max_examples=300, deadline=None)
def test_any_record_has_an_ending(
    records: dict[int, dict[str, object]], text: str, exit_code: int | None
) -> None:
    evidence = Evidence(
        pods=(a_pod(exit_code=exit_code),),
        records=records,
        logs=(LogLines(index=1, lines=tuple(text.splitlines())),),
    )
    attempt = Attempt(number=1, size=Size(), created=NOW)
    ending = ending_of(attempt, Observation(state="ended", since=NOW), evidence, NOW + dt.timedelta(hours=1))
    assert ending is not None


def test_a_line_without_end_is_read_in_no_time() -> None:
    for line in ("RuntimeError: " * 10_000, "[a " * 60_000, " 1" * 100_000 + "%"):
        began = time.process_time()
        classify(evidence_from_log(f"{line}\ntorch.OutOfMemoryError: CUDA out of memory."))
        assert time.process_time() - began < 2
