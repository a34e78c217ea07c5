"""Newest *valid*: whatever has happened to a checkpoint's bytes, it is passed over with a reason, never trusted."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from keeper_builders import Bucket, Told, a_keeper, content_of, writer

from tonnage_agent.keeper.manifest import MANIFEST

OLD, NEW = b"the older one" * 50, b"the newer one" * 50


def two_checkpoints(root: Path) -> Path:
    """Steps 1 and 2; the folder of the newer."""
    keeper = a_keeper(root)
    keeper.save(1, OLD)
    return Path(keeper.save(2, NEW).path)


def truncate(folder: Path) -> None:
    (folder / "state").write_bytes(NEW[:-1])


def flip(folder: Path) -> None:
    (folder / "state").write_bytes(NEW[:-1] + b"X")


def lose_a_file(folder: Path) -> None:
    (folder / "state").unlink()


def lose_the_manifest(folder: Path) -> None:
    (folder / MANIFEST).unlink()


def empty_the_manifest(folder: Path) -> None:
    (folder / MANIFEST).write_bytes(b"")


def cut_the_manifest(folder: Path) -> None:
    content = (folder / MANIFEST).read_bytes()
    (folder / MANIFEST).write_bytes(content[: len(content) // 2])


def change_the_manifest(folder: Path) -> None:
    content = (folder / MANIFEST).read_text()
    (folder / MANIFEST).write_text(content.replace('"step": 2', '"step": 3'))


def swap_a_file_for_a_folder(folder: Path) -> None:
    (folder / "state").unlink()
    (folder / "state").mkdir()


def take_the_older_ones_content(folder: Path) -> None:
    older = folder.parent / "step-0000000001.attempt-0001"
    shutil.rmtree(folder)
    shutil.copytree(older, folder)


DAMAGE = {
    truncate: "state has 649 bytes of 650",
    flip: "state has another content than was written",
    lose_a_file: "state is missing",
    lose_the_manifest: "it has no manifest",
    empty_the_manifest: "its manifest is torn",
    cut_the_manifest: "its manifest is torn",
    change_the_manifest: "its own hash is wrong",
    swap_a_file_for_a_folder: "state",
    take_the_older_ones_content: "its manifest speaks of step 1",
}


@pytest.mark.parametrize(
    ("damage", "why"), DAMAGE.items(), ids=lambda value: getattr(value, "__name__", None)
)
def test_a_damaged_checkpoint_is_passed_over_and_told_of(
    tmp_path: Path, damage: Callable[[Path], None], why: str
) -> None:
    damage(two_checkpoints(tmp_path))
    told = Told()

    found = content_of(a_keeper(tmp_path, attempt=2, skipped=told))

    assert found == OLD
    assert len(told.skipped) == 1
    assert why in told.reasons[0]
    assert told.skipped[0][0].endswith("step-0000000002.attempt-0001")


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    name=st.sampled_from(["a", "b/c", MANIFEST]),
    share=st.floats(0, 1, exclude_max=True),
    flipped=st.integers(1, 255),
)
def test_no_single_changed_byte_anywhere_is_ever_loaded(
    tmp_path: Path, name: str, share: float, flipped: int
) -> None:
    root = tmp_path / os.urandom(6).hex()
    keeper = a_keeper(root)
    keeper.save(1, OLD)
    folder = Path(keeper.save(2, writer(a=NEW, b__c=b"tail")).path)
    file = folder / name
    content = bytearray(file.read_bytes())
    content[int(share * len(content))] ^= flipped
    file.write_bytes(content)

    found = a_keeper(root, attempt=2).newest()

    assert found is not None
    if found.step == 2:  # white space of the manifest may change without changing what it says
        assert file.name == MANIFEST
        assert (found / "a").read_bytes() == NEW
        assert (found / "b/c").read_bytes() == b"tail"
    else:
        assert found.load(Path.read_bytes) == OLD
    shutil.rmtree(root)


def test_a_torn_one_is_told_of_once(tmp_path: Path) -> None:
    truncate(two_checkpoints(tmp_path))
    told = Told()
    keeper = a_keeper(tmp_path, attempt=2, skipped=told)

    keeper.newest()
    keeper.newest()

    assert len(told.skipped) == 1


def test_torn_ones_do_not_count_as_kept(tmp_path: Path) -> None:
    keeper = a_keeper(tmp_path)
    for step in (1, 2, 3):
        truncate(Path(keeper.save(step, NEW).path)) if step > 1 else keeper.save(step, OLD)
    later = a_keeper(tmp_path, attempt=2, keep=2)
    later.newest()

    later.save(2, NEW)

    assert [(name.attempt, name.step) for name in later.place.names()] == [(1, 1), (2, 2)]


def test_where_all_are_torn_training_begins_anew_and_says_why(tmp_path: Path) -> None:
    truncate(two_checkpoints(tmp_path))
    lose_a_file(tmp_path / "step-0000000001.attempt-0001")
    told = Told()

    assert a_keeper(tmp_path, attempt=2, skipped=told).newest() is None
    assert len(told.skipped) == 2


def test_things_that_are_no_checkpoints_are_left_alone(tmp_path: Path) -> None:
    two_checkpoints(tmp_path)
    (tmp_path / "checkpoint-500").mkdir()
    (tmp_path / "step-12.attempt-1").mkdir()
    (tmp_path / "notes.txt").write_text("mine")
    (tmp_path / ".draft-of-my-paper").mkdir()

    keeper = a_keeper(tmp_path, attempt=9, keep=1)
    keeper.newest()
    keeper.save(3, NEW)

    kept = {path.name for path in tmp_path.iterdir()}
    assert kept >= {"checkpoint-500", "step-12.attempt-1", "notes.txt", ".draft-of-my-paper"}


def test_a_manifest_cannot_reach_outside_its_checkpoint(tmp_path: Path) -> None:
    from tonnage_agent.keeper.manifest import FileEntry, Manifest

    folder = two_checkpoints(tmp_path)
    (tmp_path / "secret").write_bytes(b"x")
    entry = FileEntry("../secret", 1, "2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881")
    (folder / MANIFEST).write_bytes(Manifest(step=2, attempt=1, when=0.0, files=(entry,)).as_bytes())
    told = Told()

    assert content_of(a_keeper(tmp_path, attempt=2, skipped=told)) == OLD
    assert "its manifest lacks something" in told.reasons[0]


def test_links_are_kept_as_what_they_point_at(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.write_bytes(b"weights")

    def write(folder: Path) -> None:
        (folder / "real").write_bytes(b"1")
        (folder / "latest").symlink_to("real")
        (folder / "elsewhere").symlink_to(outside)

    a_keeper(tmp_path / "ckpt").save(1, write)
    outside.unlink()
    found = a_keeper(tmp_path / "ckpt", attempt=2).newest()

    assert found is not None
    assert (found / "latest").read_bytes() == b"1"
    assert (found / "elsewhere").read_bytes() == b"weights"


@pytest.mark.parametrize("damage", ["truncated", "flipped", "missing", "no manifest", "torn manifest"])
def test_a_damaged_checkpoint_in_a_bucket_is_passed_over(bucket: Bucket, tmp_path: Path, damage: str) -> None:
    keeper = a_keeper(bucket.place(tmp_path))
    keeper.save(1, OLD)
    newer = keeper.save(2, NEW)
    home = bucket.folder / "ckpt"
    stored, manifest = home / newer.manifest.data / "state", home / f"{newer.name}.json"
    if damage == "truncated":
        stored.write_bytes(NEW[:-1])
    elif damage == "flipped":
        stored.write_bytes(NEW[:-1] + b"X")
    elif damage == "missing":
        stored.unlink()
    elif damage == "no manifest":
        manifest.unlink()
    else:
        manifest.write_bytes(manifest.read_bytes()[:-20])
    told = Told()

    assert content_of(a_keeper(bucket.place(tmp_path), attempt=2, skipped=told)) == OLD
    assert len(told.skipped) == (0 if damage == "no manifest" else 1)


def test_the_manifest_names_every_file_with_size_and_hash(tmp_path: Path) -> None:
    made = a_keeper(tmp_path, run="llama").save(3, {"a": b"abc"})

    values = json.loads((Path(made.path) / MANIFEST).read_text())

    assert values["files"] == [
        {
            "path": "a",
            "size": 3,
            "sha256": "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad",
        }
    ]
    assert (values["run"], values["step"], values["attempt"], values["proven"]) == ("llama", 3, 1, True)
