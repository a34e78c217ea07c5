"""Real frameworks, really killed: what is resumed ends with the very weights of a run that nobody disturbed."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
from pathlib import Path

import pytest
from dev.obtain_torch import frameworks_folder, interpreter_of

SCRIPTS = Path(__file__).parent / "scripts"
SOURCE = Path(__file__).parents[3] / "src"
SEVERAL = {"torch_script-2": 2, "fsdp_script": 2, "hugging_face_script-2": 2, "lightning_script-2": 2}

pytestmark = [
    pytest.mark.torch,
    pytest.mark.skipif(
        not (frameworks_folder() / ".complete").exists(), reason="python dev/obtain_torch.py first"
    ),
    pytest.mark.timeout(600),
]


class Trained:
    """How the processes of one start ended."""

    def __init__(self, script: str, home: Path, **environment: str) -> None:
        world = SEVERAL.get(script, 1)
        file = SCRIPTS / f"{script.partition('-')[0]}.py"
        known = {
            "PATH": os.environ["PATH"],
            "HOME": str(home),
            "OMP_NUM_THREADS": "1",
            "PYTHONPATH": f"{SOURCE}:{frameworks_folder()}",
            "TONNAGE_GRACE_SECONDS": "60",
            **environment,
        }
        command = [str(interpreter_of("2.11")), str(file), str(home / "checkpoints"), str(home / "output")]
        port = str(_free_port())
        self.processes = [
            subprocess.Popen(
                command,
                env=known if world == 1 else {**known, **_place(rank, world, port)},
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
            )
            for rank in range(world)
        ]

    def end(self, *, kill_survivors: bool = False) -> tuple[list[int], str]:
        """Exit codes and everything said; a rank without its peer is ended, as a gang's launcher would."""
        said = ""
        if kill_survivors:
            self.processes[0].wait(timeout=300)
            for process in self.processes:
                process.kill()
        for process in self.processes:
            output, errors = process.communicate(timeout=300)
            said += output + errors
        return [process.returncode for process in self.processes], said


def _place(rank: int, world: int, port: str) -> dict[str, str]:
    ranks = {"RANK": str(rank), "LOCAL_RANK": str(rank), "WORLD_SIZE": str(world)}
    return {**ranks, "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port}


def _free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


def weights_of(said: str) -> str:
    found = re.search(r"WEIGHTS (\w+)", said)
    assert found, said[-3000:]
    return found[1]


ALL = [
    "torch_script", "torch_script-2", "fsdp_script", "hugging_face_script", "hugging_face_script-2",
    "lightning_script", "lightning_script-2",
]  # fmt: skip


@pytest.mark.parametrize("script", ALL)
def test_killed_once_and_terminated_once_ends_with_the_same_weights(script: str, tmp_path: Path) -> None:
    codes, said = Trained(script, tmp_path / "calm").end()
    assert set(codes) == {0}, said
    expected = weights_of(said)
    home = tmp_path / "hurt"

    codes, said = Trained(script, home, DIE_AT="7", DIE_BY="SIGKILL").end(kill_survivors=True)
    assert codes[0] == -signal.SIGKILL, said
    # Now nothing is due but what the signal asks for: the checkpoint is made inside the grace period.
    codes, said = Trained(script, home, DIE_AT="9", DIE_BY="SIGTERM", EVERY="9999").end()
    assert set(codes) == {143}, said
    assert "resumed from step 6" in said
    ended = re.search(r"ending: SIGTERM; step (\d+) is saved", said)
    assert ended, said
    codes, said = Trained(script, home).end()

    assert set(codes) == {0}, said
    assert f"resumed from step {ended[1]}" in said
    assert weights_of(said) == expected


def test_a_sigterm_that_only_one_rank_gets_makes_all_of_them_save_and_end(tmp_path: Path) -> None:
    trained = Trained("torch_script-2", tmp_path, DIE_AT="4", DIE_BY="SIGTERM", DIE_RANK="1", EVERY="9999")

    codes, said = trained.end()

    assert codes == [143, 143], said
    assert re.search(r"ending: SIGTERM; step \d+ is saved", said)


def test_the_trainer_s_ranks_agree_on_a_stop_that_only_one_was_told_of(tmp_path: Path) -> None:
    told = {"DIE_AT": "4", "DIE_BY": "SIGTERM", "DIE_RANK": "1", "EVERY": "9999"}
    trained = Trained("hugging_face_script-2", tmp_path, **told)

    codes, said = trained.end()

    assert codes == [143, 143], said
    assert re.search(r"ending: SIGTERM; step \d+ is saved", said), said
    (kept,) = (tmp_path / "checkpoints").glob("step-*")
    assert {"rng_state_0.pth", "rng_state_1.pth"} <= {path.name for path in kept.rglob("rng_state_*")}


def test_a_checkpoint_of_two_ranks_holds_both_their_parts(tmp_path: Path) -> None:
    codes, said = Trained("torch_script-2", tmp_path).end()
    assert codes == [0, 0], said

    newest = max((tmp_path / "checkpoints").iterdir())

    assert {path.name for path in newest.iterdir()} == {
        "state.pt",
        "rank-0.pt",
        "rank-1.pt",
        "tonnage-manifest.json",
    }
