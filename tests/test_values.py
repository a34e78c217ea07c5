"""Our own `dataclass` is the standard library's in all that can be seen of it."""

from __future__ import annotations

import copy
import dataclasses
import pickle
from dataclasses import FrozenInstanceError, field, fields, replace

import pytest

from tonnage.values import dataclass


@dataclass(frozen=True, slots=True)
class Point:
    """A frozen one with slots."""

    x: int
    names: tuple[str, ...] = ()
    marks: list[int] = field(default_factory=list, compare=False)
    hidden: int = field(default=0, repr=False)


@dataclass(slots=True)
class Count:
    """One that may change."""

    number: int = 0
    seen: list[int] = field(default_factory=list)


@dataclass(frozen=True, slots=True, kw_only=True)
class Named:
    """One whose fields are named."""

    name: str
    size: int = 1


@dataclass(frozen=True)
class Longer(Point):
    """One with a field more than its parent."""

    length: int = 3


def test_values_are_equal_by_their_fields_and_hashed_by_them() -> None:
    assert Point(1, ("a",)) == Point(1, ("a",), [5])
    assert Point(1) != Point(2)
    assert Point(1) != Longer(1)
    assert len({Point(1), Point(1, (), [3]), Point(2)}) == 2


def test_what_is_not_frozen_changes_and_has_no_hash() -> None:
    count = Count()
    count.number += 2
    assert count == Count(2)
    assert Count().seen is not Count().seen
    with pytest.raises(TypeError, match="unhashable"):
        hash(count)


def test_what_is_frozen_does_not_change() -> None:
    point = Point(1)
    with pytest.raises(FrozenInstanceError):
        point.x = 2  # type: ignore[misc]
    with pytest.raises(FrozenInstanceError):
        del point.x
    assert not hasattr(point, "__dict__")


def test_it_is_shown_replaced_copied_and_pickled_as_usual() -> None:
    point = Point(1, ("a",), [2], 4)
    assert repr(point) == "Point(x=1, names=('a',), marks=[2])"
    assert replace(point, x=7) == Point(7, ("a",), hidden=4)
    assert copy.copy(point) == copy.deepcopy(point) == pickle.loads(pickle.dumps(point)) == point
    assert [one.name for one in fields(Longer)] == ["x", "names", "marks", "hidden", "length"]
    assert dataclasses.asdict(Longer(1)) == {"x": 1, "names": (), "marks": [], "hidden": 0, "length": 3}


def test_fields_are_given_by_place_or_name_and_missing_ones_are_said() -> None:
    match Point(4, ("b",)):
        case Point(x, names):
            assert (x, names) == (4, ("b",))
    assert Named(name="a") == Named(name="a", size=1)
    with pytest.raises(TypeError, match="missing 1 required positional argument: 'x'"):
        Point()  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="positional"):
        Named("a")  # type: ignore[call-arg]


def test_methods_of_the_class_itself_stay() -> None:
    @dataclass(frozen=True, slots=True)
    class Loud:
        """Says what it is."""

        x: int

        def __repr__(self) -> str:
            return "loud"

    assert repr(Loud(1)) == "loud"
    assert Loud(1) == Loud(1)
