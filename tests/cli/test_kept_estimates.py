"""Answers about described steps outlive the command that worked them out, and never the code that did."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from msgspec.structs import replace

from tonnage.cli import kept_estimates
from tonnage.cli.kept_estimates import KeptEstimator, code_stamp
from tonnage.memory.estimate import Estimate
from tonnage.memory.recipe import Recipe
from tonnage.memory.shapes import find_shape
from tonnage.planning.estimating import StepEstimator
from tonnage.planning.shape_estimating import ShapeEstimator
from tonnage.planning.solver.setup import Devices, Setup
from tonnage.spec.scalars import WrittenInt

SHAPE = find_shape("distilgpt2")
SETUP = Setup(Recipe(micro_batch=2, sequence=128), Devices("h100", 1))


class Counted(ShapeEstimator):
    """A real estimator that counts what it is asked."""

    def __init__(self) -> None:
        super().__init__(SHAPE)
        self.asked: list[str] = []

    def memory(self, setup: Setup) -> Estimate:
        self.asked.append("memory")
        return super().memory(setup)

    def bounds(self, setup: Setup) -> Iterator[int]:
        self.asked.append("bounds")
        return super().bounds(setup)


def never() -> StepEstimator:
    raise AssertionError("nothing had to be worked out")


def a_command(folder: Path, make: Callable[[], StepEstimator]) -> KeptEstimator:
    return KeptEstimator(SHAPE, make, folder)


def test_a_second_command_is_answered_without_working_anything_out(tmp_path: Path) -> None:
    first = a_command(tmp_path, Counted)
    answer, rough, took = first.memory(SETUP), first.roughly(SETUP), first.seconds(SETUP)
    first.keep()
    second = a_command(tmp_path, never)

    assert second.memory(SETUP) == answer
    assert second.roughly(SETUP) == rough
    assert second.seconds(SETUP) == took
    assert second.estimate(SETUP).step_seconds == took
    assert list(second.bounds(SETUP)) == [answer.required]


def test_what_no_command_has_asked_is_worked_out(tmp_path: Path) -> None:
    a_command(tmp_path, Counted).keep()
    estimator = Counted()
    other = replace(SETUP, recipe=replace(SETUP.recipe, micro_batch=4))

    assert a_command(tmp_path, lambda: estimator).memory(other).required > 0
    assert estimator.asked == ["memory"]


def test_a_bound_that_decided_decides_again(tmp_path: Path) -> None:
    first = a_command(tmp_path, Counted)
    bound = next(first.bounds(SETUP))
    first.keep()

    assert next(a_command(tmp_path, never).bounds(SETUP)) == bound


def test_numbers_from_a_document_are_the_numbers_they_stand_for(tmp_path: Path) -> None:
    written = replace(SETUP, recipe=replace(SETUP.recipe, micro_batch=WrittenInt.of(2, "0x2")))
    first = a_command(tmp_path, Counted)
    answer = first.memory(written)
    first.keep()

    assert a_command(tmp_path, never).memory(SETUP) == answer


def test_other_code_asks_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = a_command(tmp_path, Counted)
    first.memory(SETUP)
    first.keep()
    monkeypatch.setattr(kept_estimates, "code_stamp", lambda: "another")
    estimator = Counted()
    a_command(tmp_path, lambda: estimator).memory(SETUP)

    assert estimator.asked == ["memory"]


@pytest.mark.parametrize("name", ["peak.py", "measured.json"])
def test_the_code_is_another_when_a_file_of_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    (tmp_path / "memory").mkdir()
    (tmp_path / "memory" / ".#cap.py").symlink_to("an editor's lock, which leads nowhere")
    source = tmp_path / "memory" / name
    source.write_text("1\n")
    monkeypatch.setattr(kept_estimates.tonnage, "__file__", str(tmp_path / "__init__.py"))
    monkeypatch.setattr(kept_estimates, "WORKED_OUT_BY", ("memory",))
    before = code_stamp()
    os.utime(source, ns=(1, 1))

    assert code_stamp() != before


@pytest.mark.parametrize(
    "content", [b"", b"not msgpack", b"\x81\xa1a\x01", b"\x81\xa1\xff\x80", b"\x81\xa1a\x81" * 2000]
)
def test_a_spoilt_file_is_no_obstacle_and_is_replaced(tmp_path: Path, content: bytes) -> None:
    first = a_command(tmp_path, Counted)
    answer = first.memory(SETUP)
    first.keep()
    (file,) = (path for path in tmp_path.rglob("*") if path.is_file())
    file.write_bytes(content)
    second = a_command(tmp_path, Counted)

    assert second.memory(SETUP) == answer
    second.keep()
    assert a_command(tmp_path, never).memory(SETUP) == answer


def test_a_folder_that_cannot_be_written_is_no_obstacle(tmp_path: Path) -> None:
    occupied = tmp_path / "occupied"
    occupied.write_text("a file where a folder should be")
    command = a_command(occupied, Counted)

    assert command.memory(SETUP).required > 0
    command.keep()
    assert occupied.is_file()


def test_no_more_is_kept_than_is_of_use(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kept_estimates, "MOST_ANSWERS", 2)
    monkeypatch.setattr(kept_estimates, "MOST_CODES", 1)
    old = tmp_path / "0.0.1-old"
    old.mkdir()
    os.utime(old, (1, 1))
    command = a_command(tmp_path, Counted)
    for size in (1, 2, 3):
        command.seconds(replace(SETUP, recipe=replace(SETUP.recipe, micro_batch=size)))
    command.keep()

    assert not old.exists()
    assert (
        a_command(tmp_path, never).seconds(replace(SETUP, recipe=replace(SETUP.recipe, micro_batch=3)))
        is not None
    )
    with pytest.raises(AssertionError, match="nothing had to"):
        a_command(tmp_path, never).seconds(replace(SETUP, recipe=replace(SETUP.recipe, micro_batch=1)))
