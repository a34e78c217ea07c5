"""Wishes of whoever keeps the run alive reach the agent by a file or by its port, and not too often."""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tonnage_agent.asked import SAVE_SECONDS, SAVE_SHARE, Asked
from tonnage_agent.serving import Server


def ask(path: Path, text: str) -> None:
    path.with_suffix(".new").write_text(text)
    path.with_suffix(".new").replace(path)


def test_a_number_that_has_grown_asks_for_one_checkpoint(tmp_path: Path) -> None:
    path = tmp_path / "asked.json"
    asked = Asked(str(path))
    asked.look()
    assert not asked.save_is_due(0.0, None)
    ask(path, '{"save": 3}')
    asked.look()
    assert asked.save_is_due(0.0, None)
    assert not asked.save_is_due(1000.0, None)


def test_a_limit_is_taken_over_and_kept(tmp_path: Path) -> None:
    path = tmp_path / "asked.json"
    asked = Asked(str(path))
    ask(path, json.dumps({"memoryLimit": 2**30}))
    asked.look()
    ask(path, '{"save": 1}')
    asked.look()
    assert asked.memory_limit == 2**30


@pytest.mark.parametrize("text", ["", "{", "[]", '{"save": "x", "memoryLimit": -5}', "null", "\x00"])
def test_what_makes_no_sense_asks_for_nothing(tmp_path: Path, text: str) -> None:
    path = tmp_path / "asked.json"
    asked = Asked(str(path))
    ask(path, text)
    asked.look()
    assert (asked.save_is_due(0.0, None), asked.memory_limit) == (False, None)


@given(st.lists(st.tuples(st.floats(0, 20), st.booleans()), max_size=60), st.none() | st.floats(0, 50))
def test_however_often_it_is_asked_saving_takes_a_tenth_of_the_time(
    looks: list[tuple[float, bool]], save_seconds: float | None
) -> None:
    asked, now, passed_on = Asked(""), 0.0, []
    for pause, is_wished in looks:
        now += pause
        if is_wished:
            asked.ask_save()
        if asked.save_is_due(now, save_seconds):
            passed_on.append(now)
    least = max(SAVE_SECONDS, SAVE_SHARE * (save_seconds or 0.0))
    assert all(later - earlier >= least - 1e-6 for earlier, later in pairwise(passed_on))
    assert bool(passed_on) == any(is_wished for _, is_wished in looks)


@pytest.fixture
def port() -> Iterator[tuple[int, list[str]]]:
    heard: list[str] = []
    server = Server(0, lambda: "tonnage_up 1\n", {}, {"/save": lambda: heard.append("save")})
    yield server.port, heard
    server.close()


def test_the_port_takes_a_wish_for_a_checkpoint_and_nothing_else(port: tuple[int, list[str]]) -> None:
    number, heard = port
    post = urllib.request.Request(f"http://127.0.0.1:{number}/save", method="POST")
    with urllib.request.urlopen(post, timeout=5) as answer:
        assert answer.status == 202
    assert heard == ["save"]
    for path, method, code in (("/save", "GET", 404), ("/record", "POST", 405), ("/save", "DELETE", 405)):
        request = urllib.request.Request(f"http://127.0.0.1:{number}{path}", method=method)
        with pytest.raises(urllib.error.HTTPError) as caught:
            urllib.request.urlopen(request, timeout=5)
        assert caught.value.code == code
        caught.value.close()
    assert heard == ["save"]
