"""What people see while they wait: one line per step, and no control characters in a log."""

from __future__ import annotations

import io
import time

import pytest

from tonnage.sandbox.showing import Show, in_columns


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_log_gets_whole_lines_and_no_control_characters() -> None:
    said = io.StringIO()
    show = Show(stream=said)
    with show.running("etcd v3.6.8", "building from source", 35):
        pass
    show.step("etcd v3.6.8", "built from source")

    first, second = said.getvalue().splitlines()
    assert first.strip() == "etcd v3.6.8   building from source, usually 35 s"
    assert second.startswith("  etcd v3.6.8   built from source")
    assert "\r" not in said.getvalue()


def test_a_terminal_sees_the_line_move_and_then_disappear() -> None:
    said = Terminal()
    with Show(stream=said).running("etcd", "building", 35) as progress:
        progress.text = "downloading"
        time.sleep(0.7)

    assert "downloading, usually 35 s" in said.getvalue()
    assert said.getvalue().endswith("\r\033[K")


def test_a_brief_step_is_silent_in_a_log_and_quiet_is_silent_everywhere() -> None:
    said = io.StringIO()
    with Show(stream=said).running("API server", "starting", is_brief=True):
        pass
    quiet = Show(is_quiet=True, stream=said)
    with quiet.running("etcd", "building", 35):
        quiet.step("etcd", "built")

    assert said.getvalue() == ""


@pytest.mark.parametrize("subject", ["nodes", "API server", "kube-controller-manager v1.36.4"])
def test_lines_fit_eighty_columns_and_times_stand_in_one_column(subject: str) -> None:
    line = in_columns(subject, "building from source, usually 36 s", "1 min 12 s")

    assert len(line) == 80
