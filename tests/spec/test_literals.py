"""What people write for amounts, and what they are told when it is not one."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tonnage.spec import commands, names
from tonnage.spec.literals import (
    CountRange,
    Cpus,
    CpuShare,
    Duration,
    DurationOrAuto,
    DurationRange,
    Gpus,
    LiteralError,
    Money,
    Place,
    Size,
    SizeShare,
)
from tonnage.spec.schedules import Days, Hours

GIB = 2**30


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("64Gi", 64 * GIB),
        ("64GiB", 64 * GIB),
        ("64GB", 64 * 10**9),
        ("64G", 64 * 10**9),
        ("1.5Ti", 1536 * GIB),
        ("64 GB", 64 * 10**9),
        (1073741824, GIB),
    ],
)
def test_sizes_are_exact_bytes(text: Any, count: int) -> None:
    assert Size.parse(text).bytes == count


@pytest.mark.parametrize(
    ("text", "hint"),
    [("512m", "512Mi"), (64, "64Gi"), ("64gb", "64GB"), ("64gi", "64Gi"), ("64mb", "64MB")],
)
def test_a_forgotten_or_misspelled_unit_is_recognised(text: Any, hint: str) -> None:
    with pytest.raises(LiteralError) as caught:
        Size.parse(text)

    assert hint in (caught.value.hint or "")


def test_a_share_is_auto_a_size_or_request_and_limit() -> None:
    assert SizeShare.parse("auto").is_auto
    assert SizeShare.parse("64Gi") == SizeShare(Size(64 * GIB), Size(64 * GIB))
    assert SizeShare.parse("64Gi..128Gi") == SizeShare(Size(64 * GIB), Size(128 * GIB))
    assert CpuShare.parse("500m..2") == CpuShare(Cpus(500), Cpus(2000))


def test_a_limit_below_its_request_is_turned_round_in_the_hint() -> None:
    with pytest.raises(LiteralError) as caught:
        SizeShare.parse("128Gi..64Gi")

    assert (caught.value.code, caught.value.hint) == ("DOC-020", "try 64Gi..128Gi")


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("20m", 1200),
        ("1h30m", 5400),
        ("2d", 172_800),
        ("1.5h", 5400),
        ("1w", 604_800),
        ("500ms", 0.5),
        ("0s", 0),
    ],
)
def test_durations(text: str, seconds: float) -> None:
    assert Duration.parse(text).seconds == seconds


@pytest.mark.parametrize(
    "text", ["20 mins", "m20", "30m1h", "1h1h", "", "-5m", 20, 1.5, None, True, "1e3s", "999999999999w"]
)
def test_what_is_not_a_duration(text: Any) -> None:
    with pytest.raises(LiteralError) as caught:
        DurationOrAuto.parse(text)

    assert caught.value.code == "DOC-012"
    assert caught.value.expected == "like 20m, 1h30m or auto"


@pytest.mark.parametrize(
    ("text", "money"),
    [
        ("$400/week", Money(400_000_000, 400_000_000, "week")),
        ("$1,200", Money(1_200_000_000, 1_200_000_000)),
        ("$3..5/hour", Money(3_000_000, 5_000_000, "hour")),
        ("$3..$5/h", Money(3_000_000, 5_000_000, "hour")),
        ("$0.35/hour", Money(350_000, 350_000, "hour")),
    ],
)
def test_money(text: str, money: Money) -> None:
    assert Money.parse(text) == money


@pytest.mark.parametrize(
    "text", ["400", 400, "$", "$5/fortnight", "\u20ac5", "$1,20", "$-5", "$5..3", None, float("nan")]
)
def test_what_is_not_money(text: Any) -> None:
    with pytest.raises(LiteralError):
        Money.parse(text)


@pytest.mark.parametrize(
    ("text", "gpus"),
    [
        (8, Gpus(8000)),
        ("8 x h100", Gpus(8000, "h100")),
        ("8xH100", Gpus(8000, "h100")),
        ("8\u00d7h100", Gpus(8000, "h100")),
        (0.5, Gpus(500)),
        ("0.5 x a100-80", Gpus(500, "a100-80")),
        ("24GB..80GB", Gpus(1000, None, Size(24 * 10**9), Size(80 * 10**9))),
        ("2 x 40GB..", Gpus(2000, None, Size(40 * 10**9))),
        ("h100", Gpus(1000, "h100")),
        ({"count": 4, "type": "H100", "memory": "80GB.."}, Gpus(4000, "h100", Size(80 * 10**9))),
    ],
)
def test_gpus(text: Any, gpus: Gpus) -> None:
    assert Gpus.parse(text) == gpus


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("h100:8", "try 8 x h100"),
        ("8 h100", "try 8 x h100"),
        (1.5, "try 2"),
        ("80GB..24GB", "try 24GB..80GB"),
    ],
)
def test_gpus_written_for_another_tool_are_translated(text: Any, hint: str) -> None:
    with pytest.raises(LiteralError) as caught:
        Gpus.parse(text)

    assert caught.value.hint == hint


@pytest.mark.parametrize(
    "value", [-1, float("inf"), float("nan"), 10**30, "eight", "", None, True, [], {"cuont": 1}, 5000]
)
def test_what_is_not_a_number_of_gpus(value: Any) -> None:
    with pytest.raises(LiteralError):
        Gpus.parse(value)


def test_places_say_whether_they_outlive_the_pod() -> None:
    outlive = {
        text: Place.parse(text).outlives_pod
        for text in ("pvc/a", "s3://b/c", "nfs://h/x", "emptyDir", "/tmp")
    }

    assert outlive == {"pvc/a": True, "s3://b/c": True, "nfs://h/x": True, "emptyDir": False, "/tmp": False}


def test_a_password_in_an_address_is_refused_without_being_repeated() -> None:
    with pytest.raises(LiteralError) as caught:
        Place.parse("s3://key:hunter22@bucket/x")

    assert caught.value.code == "DOC-019"
    assert "hunter22" not in f"{caught.value.what}{caught.value.hint}{caught.value.expected}"


def test_a_command_line_is_split_and_one_that_needs_a_shell_gets_one() -> None:
    assert commands.parse("python train.py --name 'a b' --batch {microBatch}") == (
        *("python", "train.py", "--name", "a b"),
        *("--batch", "{microBatch}"),
    )
    assert commands.parse("cd src && python train.py") == ("/bin/sh", "-c", "cd src && python train.py")


@given(st.lists(st.text(st.characters(exclude_categories=("Cs",), exclude_characters="\0")), min_size=1))
def test_a_command_reads_back_whichever_form_it_is_written_in(words: list[str]) -> None:
    assert commands.parse(commands.write(tuple(words))) == tuple(words)


@pytest.mark.parametrize(
    ("given_name", "hint"),
    [
        ("Llama_8B", "try llama-8b"),
        ("M\u00fcller & co", "try muller-co"),
        ("-a-", "try a"),
        ("\u6a21\u578b", None),
    ],
)
def test_an_illegal_name_comes_with_a_legal_one(given_name: str, hint: str | None) -> None:
    with pytest.raises(LiteralError) as caught:
        names.name(given_name)

    assert caught.value.hint == hint


def test_days_and_hours() -> None:
    assert Days.parse("mon-fri").days == frozenset(range(5))
    assert Days.parse(["sat", "sunday"]).days == {5, 6}
    assert Hours.parse("22:00..06:00") == Hours(1320, 360)


ANYTHING = (
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=30) | st.lists(st.integers())
)
PARSERS = [
    Size,
    SizeShare,
    Cpus,
    CpuShare,
    Duration,
    DurationOrAuto,
    DurationRange,
    Money,
    Gpus,
    CountRange,
    Place,
]


@pytest.mark.parametrize("literal", [*PARSERS, Days, Hours], ids=lambda value: value.__name__)
def test_a_parser_gives_a_value_or_a_literal_error(literal: Any) -> None:
    @given(ANYTHING | st.text(st.sampled_from("0123456789.,$/xGTMim hdauto-"), max_size=12))
    def holds(value: Any) -> None:
        refused = None
        try:
            assert isinstance(literal.parse(value), literal)
        except LiteralError as error:
            refused = error

        assert refused is None or (refused.what and refused.expected)

    holds()
