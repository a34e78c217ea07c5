"""One contract for every place a checkpoint can be kept in: a folder, a bucket by our own client, by obstore."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from keeper_builders import Bucket, Told, a_keeper, content_of, writer

from tonnage_agent.keeper import SaveFailed
from tonnage_agent.keeper.folder import FolderPlace
from tonnage_agent.keeper.naming import Name
from tonnage_agent.keeper.port import Place

MakePlace = Callable[[], Place]


@pytest.fixture(params=["folder", "s3"])
def make_place(request: pytest.FixtureRequest, tmp_path: Path) -> MakePlace:
    """Opens the same place again, as another process would."""
    if request.param == "folder":
        return lambda: FolderPlace(tmp_path / "ckpt")
    bucket: Bucket = request.getfixturevalue("bucket")
    return lambda: bucket.place(tmp_path / "staging")


def test_an_empty_place_has_no_checkpoint(make_place: MakePlace) -> None:
    assert a_keeper(make_place()).newest() is None


def test_what_was_saved_comes_back_with_its_step_and_notes(make_place: MakePlace) -> None:
    a_keeper(make_place()).save(7, b"weights", meta={"epoch": 2})

    found = a_keeper(make_place(), attempt=2).newest()

    assert found is not None
    assert (found.step, found.meta, found.load(Path.read_bytes)) == (7, {"epoch": 2}, b"weights")


def test_a_checkpoint_of_several_files_comes_back_as_a_folder(make_place: MakePlace) -> None:
    a_keeper(make_place()).save(1, writer(model=b"m" * 100, optim__rank0=b"", rng=bytes(range(256))))

    found = a_keeper(make_place(), attempt=2).newest()

    assert found is not None
    assert (found / "model").read_bytes() == b"m" * 100
    assert (found / "optim/rank0").read_bytes() == b""
    assert (found / "rng").read_bytes() == bytes(range(256))


def test_names_of_files_may_be_anything_a_file_can_be_called(make_place: MakePlace) -> None:
    name = "Gewichte + 100% & <neu> 'ä' $1?=#.pt"
    a_keeper(make_place()).save(1, {name: b"x"})

    found = a_keeper(make_place(), attempt=2).newest()

    assert found is not None
    assert (found / name).read_bytes() == b"x"


def test_a_large_file_comes_back_as_it_was(make_place: MakePlace) -> None:
    content = os.urandom(1 << 20) * 40 + b"odd end"  # several parts, and a short last one
    a_keeper(make_place()).save(1, content)

    assert content_of(a_keeper(make_place(), attempt=2)) == content


def test_only_the_newest_are_kept(make_place: MakePlace) -> None:
    keeper = a_keeper(make_place(), keep=2)
    for step in range(5):
        keeper.save(step, b"%d" % step)

    assert [name.step for name in make_place().names()] == [3, 4]


def test_the_newer_attempt_wins_though_an_older_one_is_still_writing(make_place: MakePlace) -> None:
    zombie, current = a_keeper(make_place(), attempt=1), a_keeper(make_place(), attempt=2)
    zombie.save(100, b"old")
    current.save(110, b"new")
    zombie.save(150, b"old")

    assert content_of(a_keeper(make_place(), attempt=3)) == b"new"


def test_an_older_attempt_never_removes_what_a_newer_one_wrote(make_place: MakePlace) -> None:
    zombie, current = a_keeper(make_place(), attempt=1, keep=1), a_keeper(make_place(), attempt=2, keep=3)
    for step in (10, 20, 30):
        current.save(step, b"new")
    for step in (40, 50):
        zombie.save(step, b"old")

    assert {name for name in make_place().names() if name.attempt == 2} == {Name(2, s) for s in (10, 20, 30)}


def test_the_same_step_saved_twice_by_one_attempt_replaces_nothing_and_the_later_counts(
    make_place: MakePlace,
) -> None:
    a_keeper(make_place()).save(5, b"first")
    a_keeper(make_place()).save(5, b"second")

    assert content_of(a_keeper(make_place(), attempt=2)) == b"second"
    assert make_place().names() == [Name(1, 5), Name(1, 5, again=1)]


def test_writers_at_the_same_time_get_a_name_each(make_place: MakePlace) -> None:
    def save(content: bytes) -> None:
        a_keeper(make_place(), keep=20).save(5, content * 1000)

    threads = [threading.Thread(target=save, args=(b"%d" % number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    place = make_place()
    assert place.names() == [Name(1, 5, again=number) for number in range(6)]
    contents = {(place.fetch(n, place.manifest(n)) / "state").read_bytes() for n in place.names()}
    assert contents == {b"%d" % number * 1000 for number in range(6)}


def test_a_state_function_that_fails_leaves_nothing_and_harms_nothing(make_place: MakePlace) -> None:
    keeper = a_keeper(make_place())
    keeper.save(1, b"good")

    def breaks(folder: Path) -> None:
        (folder / "half").write_bytes(b"x" * 1000)
        raise RuntimeError("CUDA error: device-side assert triggered")

    with pytest.raises(SaveFailed, match=r"step 2 was not saved.*device-side assert.*step 1 is untouched"):
        keeper.save(2, breaks)

    assert content_of(a_keeper(make_place(), attempt=1)) == b"good"
    assert make_place().sweep(99) == []


def test_an_empty_checkpoint_is_refused(make_place: MakePlace) -> None:
    with pytest.raises(SaveFailed, match="nothing was written"):
        a_keeper(make_place()).save(1, lambda _: None)


def test_a_launcher_without_attempts_still_gives_every_start_a_lineage_of_its_own(
    make_place: MakePlace,
) -> None:
    first = a_keeper(make_place(), attempt=None)
    first.save(500, b"an old training")
    second = a_keeper(make_place(), attempt=None)
    second.save(3, b"begun anew")

    assert (first.attempt, second.attempt) == (1, 2)
    assert content_of(a_keeper(make_place(), attempt=None)) == b"begun anew"


def test_nothing_is_told_of_what_is_whole(make_place: MakePlace) -> None:
    told = Told()
    a_keeper(make_place()).save(1, b"x")

    a_keeper(make_place(), attempt=2, skipped=told).newest()

    assert told.skipped == []
