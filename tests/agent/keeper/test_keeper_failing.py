"""Saves that fail: the disk fills, the place is not writable, the data does not come back as written."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from keeper_builders import a_keeper, content_of

from tonnage_agent.keeper import PlaceError, SaveFailed
from tonnage_agent.keeper.opening import open_place
from tonnage_agent.keeper.writing import write_state

SOURCE = Path(__file__).parents[3] / "src"

ON_A_SMALL_DISK = """
import os, sys
from pathlib import Path
from tonnage_agent import sdk
from tonnage_agent.keeper import Keeper, SaveFailed
from tonnage_agent.keeper.folder import FolderPlace

root = Path(sys.argv[1])
keeper = Keeper(FolderPlace(root), attempt=1, keep=2)
keeper.save(1, b"a" * 300_000)
for size in (2_000_000, 181 * 4096):  # the second leaves no room for the manifest alone
    try:
        keeper.save(2, lambda folder: (folder / "state").write_bytes(b"b" * size))
    except SaveFailed as error:
        print(error)
assert sorted(os.listdir(root)) == ["step-0000000001.attempt-0001"], os.listdir(root)
keeper.save(3, b"c" * 300_000)
run = sdk.attach(checkpoints=str(root), every=0)
assert run.resume().step == 3
for step in run.steps(8, save=lambda folder: (folder / "big").write_bytes(b"d" * 2_000_000)):
    pass
print("trained to step", step)
assert Keeper(FolderPlace(root), attempt=2).newest().step == 3
"""


def test_a_disk_that_fills_mid_save_costs_one_message_and_nothing_else(tmp_path: Path) -> None:
    (tmp_path / "disk").mkdir()
    (tmp_path / "script.py").write_text(ON_A_SMALL_DISK)
    script = f"{sys.executable} {tmp_path}/script.py {tmp_path}/disk"
    mount = f"mount -t tmpfs -o size=1m none {tmp_path}/disk && exec {script}"

    ended = subprocess.run(
        ["unshare", "-rm", "sh", "-c", mount],
        env={**os.environ, "PYTHONPATH": str(SOURCE)},
        capture_output=True,
        text=True,
        check=False,
    )

    assert ended.returncode == 0, ended.stderr
    assert "step 2 was not saved" in ended.stdout
    assert "the disk is full ([Errno 28] No space left on device" in ended.stdout
    assert "the checkpoint of step 1 is untouched" in ended.stdout
    assert "trained to step 7" in ended.stdout
    assert ended.stderr.count("training goes on") == 2  # the first, and the last step's own try


def test_a_place_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")

    with pytest.raises(SaveFailed, match=r"step 1 was not saved to .*file/ckpt: .*Not a directory"):
        a_keeper(tmp_path / "file" / "ckpt").save(1, b"x")


def test_bytes_that_do_not_come_back_as_written_are_never_given_a_name(tmp_path: Path) -> None:

    keeper = a_keeper(tmp_path)
    keeper.save(1, b"good")
    draft = keeper.place.draft(keeper.label(2))
    (draft.folder / "state").write_bytes(b"what training wrote")
    sealed = draft.seal()
    (draft.folder / "state").write_bytes(b"what the disk kept!")

    with pytest.raises(Exception, match="another content than was written"):
        keeper.commit(draft, 2, sealed, None)

    draft.discard()
    assert content_of(a_keeper(tmp_path, attempt=2)) == b"good"


def test_an_interrupt_while_saving_is_an_interrupt_and_leaves_no_debris(tmp_path: Path) -> None:
    def interrupted(folder: Path) -> None:
        (folder / "half").write_bytes(b"x")
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        a_keeper(tmp_path).save(1, interrupted)

    assert list(tmp_path.iterdir()) == []


def test_a_place_of_an_unknown_kind_is_refused() -> None:
    with pytest.raises(PlaceError, match=r"found gs://, expected a folder .* or s3://bucket/prefix"):
        open_place("gs://bucket/x")


def test_a_state_nobody_can_write_is_refused_with_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(TypeError, match=r"cannot be made of dict alone.*dump=torch.save"):
        write_state({"weights": 1.0}, tmp_path)


@pytest.mark.parametrize("name", ["../x", "/x", "a//b", ".", "tonnage-manifest.json"])
def test_files_of_a_state_cannot_lie_elsewhere(tmp_path: Path, name: str) -> None:
    with pytest.raises(ValueError, match="cannot be the name of a file"):
        write_state({name: b"x"}, tmp_path)


@pytest.mark.parametrize("step", [-1, 1.5, "7", None])
def test_a_step_is_a_whole_number(tmp_path: Path, step: object) -> None:
    with pytest.raises(TypeError, match="a whole number from 0"):
        a_keeper(tmp_path).save(step, b"x")  # type: ignore[arg-type]


@pytest.mark.skipif(os.getuid() != 0, reason="only root can become somebody who may not read")
def test_a_place_we_may_not_read_is_an_error_and_never_a_new_beginning(tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    for parent in list(tmp_path.parents)[:3]:  # as far up as pytest made them for itself alone
        parent.chmod(0o755)
    made = a_keeper(tmp_path / "ckpt").save(1, b"x")
    (made / "state").chmod(0o600)
    program = (
        "import os, sys\nfrom pathlib import Path\nfrom tonnage_agent.keeper import Keeper, PlaceError\n"
        "from tonnage_agent.keeper.folder import FolderPlace\n"
        "os.setgid(65534); os.setuid(65534)\n"
        "try:\n    Keeper(FolderPlace(Path(sys.argv[1])), attempt=2).newest()\n"
        "except PlaceError as error:\n    print(error)\n"
    )

    ended = subprocess.run(
        [sys.executable, "-c", program, str(tmp_path / "ckpt")],
        env={"PYTHONPATH": str(SOURCE)},
        capture_output=True,
        text=True,
        check=True,
    )

    assert "Permission denied" in ended.stdout
    assert "nothing was begun anew" in ended.stdout


def test_a_mistake_in_the_scripts_own_function_is_a_failed_save_like_any_other(tmp_path: Path) -> None:
    with pytest.raises(SaveFailed, match="TypeError: not serializable"):
        a_keeper(tmp_path).save(1, lambda _: (_ for _ in ()).throw(TypeError("not serializable")))
