"""The loop: where it begins, when it saves, and when it ends."""

from __future__ import annotations

import json
import os
import signal
import time
from pathlib import Path

import pytest
from sdk_builders import a_script

from tonnage_agent.keeper.folder import FolderPlace

TF_CONFIG = '{"cluster": {"chief": ["a"], "worker": ["b", "c"]}, "task": {"type": "worker", "index": 1}}'


def saved_steps(place: Path) -> list[int]:
    return [name.step for name in FolderPlace(place).names()]


def test_without_a_launcher_a_place_or_an_agent_the_loop_is_just_a_loop() -> None:
    script = a_script()

    assert script.run.resume() is None
    assert list(script.run.steps(5)) == [0, 1, 2, 3, 4]
    assert script.lines == []


def test_saving_without_a_place_is_told_once() -> None:
    script = a_script()

    for step in script.run.steps(3):
        script.run.save(step, b"x")

    assert script.lines == [
        "nothing is saved: no place for checkpoints; set TONNAGE_CHECKPOINTS or attach(checkpoints=...)"
    ]


def test_a_resumed_loop_continues_after_the_saved_step(tmp_path: Path) -> None:
    first = a_script(tmp_path, every=0)
    for step in first.run.steps(10, save=b"state"):
        if step == 6:
            break

    second = a_script(tmp_path)
    saved = second.run.resume()

    assert saved is not None
    assert saved.step == 5
    assert list(second.run.steps(10)) == [6, 7, 8, 9]
    assert second.lines == [f"resumed from step 5 ({saved.path})"]


def test_saves_come_at_their_interval_and_after_the_last_step(tmp_path: Path) -> None:
    script = a_script(tmp_path, every=30, keep=10)

    for _ in script.run.steps(20, save=b"state"):
        script.clock.passed += 7

    assert saved_steps(tmp_path) == [4, 9, 14, 19]


def test_what_load_returns_is_the_checkpoints_state(tmp_path: Path) -> None:
    a_script(tmp_path).run.save(3, {"a": 1}, dump=lambda state, path: path.write_text(json.dumps(state)))

    saved = a_script(tmp_path).run.resume(lambda path: json.loads(path.read_text()))

    assert saved is not None
    assert saved.state == {"a": 1}


def test_a_save_by_hand_and_one_that_is_due_are_not_made_twice(tmp_path: Path) -> None:
    script = a_script(tmp_path, every=0, keep=10)

    for step in script.run.steps(2):
        script.run.save(step, b"by hand")
        assert script.run.save_if_due(step, b"again") is None

    assert saved_steps(tmp_path) == [0, 1]


def test_sigterm_saves_at_the_next_boundary_and_ends_with_143(tmp_path: Path) -> None:
    script = a_script(tmp_path, every=9999)
    made = []

    with pytest.raises(SystemExit) as ended:  # noqa: PT012 - a loop is what ends
        for step in script.run.steps(100, save=b"state"):
            if step == 3:
                os.kill(os.getpid(), signal.SIGTERM)
                assert saved_steps(tmp_path) == []  # nothing is saved inside a signal handler
            made.append(step)

    assert ended.value.code == 143
    assert made == [0, 1, 2, 3]
    assert saved_steps(tmp_path) == [3]
    assert script.lines == ["ending: SIGTERM; step 3 is saved"]
    assert signal.getsignal(signal.SIGTERM) == signal.SIG_DFL


def test_a_save_that_cannot_end_before_sigkill_is_not_begun(tmp_path: Path) -> None:
    script = a_script(tmp_path, {"TONNAGE_GRACE_SECONDS": "30"}, every=0)

    def slow(folder: Path) -> None:
        script.clock.passed += 20
        (folder / "state").write_bytes(b"x")

    with pytest.raises(SystemExit):  # noqa: PT012 - a loop is what ends
        for step in script.run.steps(100, save=slow):
            if step == 1:
                os.kill(os.getpid(), signal.SIGTERM)
                script.clock.passed += 10  # 20 of 30 seconds are left, 2 are the agent's, a save takes 20

    assert saved_steps(tmp_path) == [0]
    assert "last saved: step 0" in script.text


def test_a_script_that_saves_at_moments_of_its_own_is_given_the_time_that_is_left(tmp_path: Path) -> None:
    script = a_script(tmp_path, {"TONNAGE_GRACE_SECONDS": "100"}, every=9999)
    made = []

    with pytest.raises(SystemExit):  # noqa: PT012 - a loop is what ends
        for step in script.run.steps(100):
            made.append(step)
            if step % 10 == 0:
                script.run.save_if_due(step, b"state")
            if step == 12:
                os.kill(os.getpid(), signal.SIGTERM)
            script.clock.passed += 1

    assert made[-1] == 20
    assert saved_steps(tmp_path) == [20]


def test_a_script_that_never_saves_ends_at_once() -> None:
    script = a_script()

    with pytest.raises(SystemExit) as ended:  # noqa: PT012 - a loop is what ends
        for step in script.run.steps(100):
            if step == 3:
                os.kill(os.getpid(), signal.SIGTERM)

    assert ended.value.code == 143
    assert script.lines == ["ending: SIGTERM; nothing was saved"]


def test_whoever_listened_to_sigterm_before_still_hears_it(tmp_path: Path) -> None:
    heard = []
    previous = signal.signal(signal.SIGTERM, lambda number, _: heard.append(number))
    try:
        with pytest.raises(SystemExit):  # noqa: PT012 - a loop is what ends
            for _ in a_script(tmp_path).run.steps(5, save=b"x"):
                os.kill(os.getpid(), signal.SIGTERM)
        assert heard == [signal.SIGTERM]
        assert signal.getsignal(signal.SIGTERM) not in (signal.SIG_DFL, None)
    finally:
        signal.signal(signal.SIGTERM, previous)


def test_the_agent_asks_for_a_save_by_its_control_file(tmp_path: Path) -> None:
    control = tmp_path / "control"
    script = a_script(tmp_path / "c", {"TONNAGE_CONTROL": str(control)}, every=9999, keep=9)

    for step in script.run.steps(9, save=b"x"):
        script.clock.passed += 1
        if step == 2:
            control.write_text('{"save": 1}')
        if step == 5:
            control.write_text('{"save": 2 }')

    assert saved_steps(tmp_path / "c") == [2, 5, 8]


@pytest.mark.parametrize(
    ("reason", "code"), [("deadline", 81), ("budget", 82), ("terminated", 143), ("something new", 143)]
)
def test_the_agent_asks_for_a_stop_by_its_control_file(tmp_path: Path, reason: str, code: int) -> None:
    control = tmp_path / "control"
    script = a_script(tmp_path / "c", {"TONNAGE_CONTROL": str(control)}, every=9999)

    with pytest.raises(SystemExit) as ended:  # noqa: PT012 - a loop is what ends
        for step in script.run.steps(9, save=b"x"):
            script.clock.passed += 1
            if step == 2:
                control.write_text(json.dumps({"save": 0, "stop": reason}))

    assert ended.value.code == code
    assert saved_steps(tmp_path / "c") == [2]


@pytest.mark.parametrize("content", ["", "{", "[]", '{"save": "x", "stop": 3}', "null"])
def test_a_control_file_that_makes_no_sense_asks_nothing(tmp_path: Path, content: str) -> None:
    (tmp_path / "control").write_text(content)
    script = a_script(tmp_path / "c", {"TONNAGE_CONTROL": str(tmp_path / "control")}, every=9999)

    assert list(script.run.steps(3, save=b"x")) == [0, 1, 2]


def test_a_probe_ends_after_its_steps_with_one_checkpoint(tmp_path: Path) -> None:
    script = a_script(tmp_path, {"TONNAGE_PROBE_STEPS": "3"}, every=9999)

    with pytest.raises(SystemExit) as ended:
        list(script.run.steps(100, save=b"x"))

    assert ended.value.code == 0
    assert saved_steps(tmp_path) == [2]
    assert script.lines == ["ending: the probe is over; step 2 is saved"]


def test_a_deadline_that_nobody_else_keeps_is_kept_with_time_for_a_save(tmp_path: Path) -> None:
    script = a_script(tmp_path, {"TONNAGE_DEADLINE": "1700000100"}, every=40)

    def slow(folder: Path) -> None:
        script.clock.passed += 10
        (folder / "state").write_bytes(b"x")

    with pytest.raises(SystemExit) as ended:  # noqa: PT012 - a loop is what ends
        for _ in script.run.steps(1000, save=slow):
            script.clock.passed += 5

    assert ended.value.code == 81
    assert script.clock.now() <= 1700000100
    assert script.clock.now() > 1700000080


def test_a_failed_save_is_told_and_training_goes_on_and_tries_again_later(tmp_path: Path) -> None:
    (tmp_path / "c").write_text("not a folder")
    script = a_script(tmp_path / "c", every=100)

    for _ in script.run.steps(40, save=b"x"):
        script.clock.passed += 10

    assert len(script.lines) == 6  # due at 100 s; again after 30, 60, 100, 100 s; and after the last step
    assert "step 9 was not saved" in script.lines[0]
    assert "there is no older checkpoint; training goes on, the next try is in 30 s" in script.lines[0]


def test_a_script_may_want_to_end_where_it_cannot_save(tmp_path: Path) -> None:
    from tonnage_agent.sdk import SaveFailed

    (tmp_path / "c").write_text("not a folder")
    script = a_script(tmp_path / "c", every=0, on_failure="raise")

    with pytest.raises(SaveFailed, match="step 0 was not saved"):
        list(script.run.steps(5, save=b"x"))


def test_the_launcher_wins_over_the_script(tmp_path: Path) -> None:
    environment = {
        "TONNAGE_CHECKPOINTS": str(tmp_path / "theirs"),
        "TONNAGE_CHECKPOINT_EVERY": "0",
        "TONNAGE_CHECKPOINT_KEEP": "2",
        "TONNAGE_ATTEMPT": "7",
    }
    script = a_script(tmp_path / "ours", environment, every=9999, keep=50)

    list(script.run.steps(5, save=b"x"))

    names = FolderPlace(tmp_path / "theirs").names()
    assert [(name.attempt, name.step) for name in names] == [(7, 3), (7, 4)]
    assert not (tmp_path / "ours").exists()


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        ("TONNAGE_CHECKPOINT_EVERY", "often", "expected seconds, such as 90"),
        ("TONNAGE_CHECKPOINT_KEEP", "-1", "expected a whole number from 0"),
        ("TONNAGE_CHECKPOINT_VERIFY", "perhaps", "expected true or false"),
        ("TONNAGE_FAILURE_SECONDS", "0", "expected more than 0 seconds"),
        ("TONNAGE_ATTEMPT", "two", "expected a whole number from 0"),
        ("TONNAGE_GRACE_SECONDS", "nan", "expected seconds from 0"),
    ],
)
def test_a_variable_that_makes_no_sense_is_named(name: str, value: str, expected: str) -> None:
    from tonnage_agent.sdk import SettingError

    with pytest.raises(SettingError, match=f"{name} is '{value}': {expected}"):
        a_script(environment={name: value})


@pytest.mark.parametrize(
    ("environment", "expected"),
    [
        ({}, (0, 1)),
        ({"RANK": "3", "WORLD_SIZE": "8"}, (3, 8)),
        ({"OMPI_COMM_WORLD_RANK": "1", "OMPI_COMM_WORLD_SIZE": "2"}, (1, 2)),
        ({"TONNAGE_NODES": "4", "TONNAGE_NODE": "2"}, (2, 4)),
        ({"TONNAGE_NODES": "4", "JOB_COMPLETION_INDEX": "3"}, (3, 4)),
        ({"TF_CONFIG": TF_CONFIG}, (2, 3)),
        ({"TF_CONFIG": "{"}, (0, 1)),
    ],
)
def test_a_process_knows_its_rank_from_any_launcher(
    environment: dict[str, str], expected: tuple[int, int]
) -> None:
    settings = a_script(environment=environment).run.settings

    assert (settings.rank, settings.world) == expected


def test_only_the_first_of_several_ranks_saves_what_is_the_same_everywhere(tmp_path: Path) -> None:
    for rank in ("1", "0"):
        script = a_script(
            tmp_path, {"RANK": rank, "WORLD_SIZE": "2", "TONNAGE_ATTEMPT": "1"}, every=0, keep=9
        )
        list(script.run.steps(2, save=rank.encode()))

    assert saved_steps(tmp_path) == [0, 1]
    saved = a_script(tmp_path, {"TONNAGE_ATTEMPT": "2"}).run.resume(Path.read_bytes)
    assert saved is not None
    assert saved.state == b"0"


def test_a_sharded_save_of_ranks_that_cannot_talk_is_refused_with_what_to_do(tmp_path: Path) -> None:
    script = a_script(tmp_path, {"RANK": "0", "WORLD_SIZE": "2"}, on_failure="raise")

    with pytest.raises(Exception, match=r"torch\.distributed\.init_process_group"):
        script.run.save(1, b"x", sharded=True)


def test_a_loop_by_hand_hears_sigterm_from_its_first_step_to_its_last(tmp_path: Path) -> None:
    script = a_script(tmp_path, every=9999)
    run = script.run

    for step in range(3):
        run.step(step, total=3)
        assert signal.getsignal(signal.SIGTERM) != signal.SIG_DFL
        run.save_if_due(step, b"x")
        run.end_if_asked(step)

    assert signal.getsignal(signal.SIGTERM) == signal.SIG_DFL
    assert saved_steps(tmp_path) == [2]


def test_steps_without_numbers_are_counted() -> None:
    run = a_script().run

    assert [run.count() for _ in range(3)] == [0, 1, 2]


def test_a_forked_worker_is_ended_by_sigterm_as_if_nobody_listened(tmp_path: Path) -> None:
    script = a_script(tmp_path)
    for _ in script.run.steps(1):
        ready, sender = os.pipe()
        worker = os.fork()
        if worker == 0:
            os.write(sender, b".")  # a signal before this point would be dropped by Python itself
            for _ in range(200):
                time.sleep(0.05)
            os._exit(7)
        os.read(ready, 1)
        os.kill(worker, signal.SIGTERM)
        _, status = os.waitpid(worker, 0)
        os.close(ready)
        os.close(sender)

    assert os.WIFSIGNALED(status)
    assert os.WTERMSIG(status) == signal.SIGTERM
