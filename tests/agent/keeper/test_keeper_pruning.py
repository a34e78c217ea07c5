"""What may be deleted: never the last proven one, whatever the order in which things happened."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from keeper_builders import a_keeper

from tonnage_agent.keeper.naming import Name, parse_label, parse_name
from tonnage_agent.keeper.pruning import prunable

names = st.builds(Name, st.integers(0, 4), st.integers(0, 30), st.integers(0, 2))


@given(st.sets(names, min_size=1), st.integers(0, 5), st.data())
def test_the_newest_proven_one_always_stays(existing: set[Name], keep: int, data: st.DataObject) -> None:
    proven = data.draw(st.sets(st.sampled_from(sorted(existing))))
    torn = data.draw(st.sets(st.sampled_from(sorted(existing)))) - proven
    mine = data.draw(st.sampled_from(sorted(existing)))

    gone = prunable(existing, keep=keep, mine=mine, is_proven=proven.__contains__, torn=torn)

    left = existing - set(gone)
    assert mine in left
    assert not proven or max(proven) in left
    assert {name for name in existing if name.attempt > mine.attempt} <= left
    assert sorted(existing - torn)[-max(keep, 1) :] == sorted(left - torn)[-max(keep, 1) :]


@given(st.sets(names, min_size=1), st.integers(1, 5))
def test_no_more_than_asked_for_are_left_where_all_are_proven(existing: set[Name], keep: int) -> None:
    newest = max(existing)

    gone = prunable(existing, keep=keep, mine=newest, is_proven=lambda _: True)

    assert len(existing) - len(gone) == min(keep, len(existing))


@given(st.sets(names, min_size=1), st.integers(1, 5))
def test_where_nothing_is_proven_nothing_goes(existing: set[Name], keep: int) -> None:
    assert prunable(existing, keep=keep, mine=max(existing), is_proven=lambda _: False) == []


@given(names)
def test_a_name_reads_back_as_it_was_written(name: Name) -> None:
    assert parse_name(str(name)) == name
    assert parse_label(f"{name}-9f3c") == name


@pytest.mark.parametrize(
    "text", ["step-1.attempt-1", "step-0000000001", "step-0000000001.attempt-0001.again-0", "x", "", ".draft"]
)
def test_other_names_are_not_ours(text: str) -> None:
    assert parse_name(text) is None


def test_without_verification_nothing_is_proven_and_the_last_proven_one_stays(tmp_path: Path) -> None:
    a_keeper(tmp_path).save(1, b"proven")
    hasty = a_keeper(tmp_path, keep=2, verify=False)
    for step in range(2, 8):
        hasty.save(step, b"unproven")

    assert [name.step for name in hasty.place.names()] == [1, 6, 7]
