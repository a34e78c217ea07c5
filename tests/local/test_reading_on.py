"""Files that grow are read on from where one stopped, whole lines only."""

from __future__ import annotations

import time
from pathlib import Path

from tonnage.local.sampled import FEW, samples_after
from tonnage.local.tailing import last_lines, lines_after
from tonnage_agent.telemetry import Sample


def test_a_torn_line_waits_until_it_is_whole_or_the_end(tmp_path: Path) -> None:
    path = tmp_path / "output.log"
    path.write_text("one\ntwo\nthr")
    lines, offset = lines_after(path, 0)
    assert lines == ["one", "two"]
    assert lines_after(path, offset) == ([], offset)
    assert lines_after(path, offset, to_the_end=True) == (["thr"], 11)
    with path.open("a") as file:
        file.write("ee\n")
    assert lines_after(path, offset)[0] == ["three"]


def test_one_endless_line_comes_in_pieces_and_nothing_is_lost(tmp_path: Path) -> None:
    path = tmp_path / "output.log"
    path.write_bytes(b"x" * 3_000_000 + b"\nend\n")
    offset, read = 0, 0
    while (found := lines_after(path, offset))[0]:
        lines, offset = found
        read += sum(map(len, lines))
    assert read == 3_000_003
    assert lines_after(tmp_path / "absent", 0) == ([], 0)


def test_the_end_of_a_line_without_an_end_is_found_at_once(tmp_path: Path) -> None:
    path = tmp_path / "output.log"
    with path.open("wb") as file:
        file.write(b"first\n")
        for _ in range(100):
            file.write(b"x" * 1_000_000)
        file.write(b"\nKeyError: 'labels'\n")
    began = time.process_time()

    assert last_lines(path, 1) == ["KeyError: 'labels'"]
    assert last_lines(path, 3)[-1] == "KeyError: 'labels'"
    assert time.process_time() - began < 2


def test_a_progress_bar_is_the_line_it_showed_last(tmp_path: Path) -> None:
    path = tmp_path / "output.log"
    bar = "".join(f"\r{step}/1000" for step in range(1001))
    path.write_bytes(f"begins\r\n{bar}\nended\r\n".encode())

    assert last_lines(path, None) == ["begins", "1000/1000", "ended"]
    assert last_lines(path, 2) == ["1000/1000", "ended"]


def test_a_bar_that_is_still_drawn_is_followed(tmp_path: Path) -> None:
    path = tmp_path / "output.log"
    path.write_bytes(b"\r1/9\r2/9\r")
    lines, offset = lines_after(path, 0)
    assert lines == ["1/9"]
    with path.open("ab") as file:
        file.write(b"\n")

    assert lines_after(path, offset) == (["2/9"], 10)


def test_samples_are_read_as_far_back_as_nobody_has_read(tmp_path: Path) -> None:
    path = tmp_path / "samples.jsonl"
    samples = [
        Sample(when=float(i), source="cgroup-v2", usage_bytes=i, working_set_bytes=i)
        for i in range(1, 5 * FEW)
    ]
    path.write_text("".join(f"{sample.as_line()}\n" for sample in samples) + '{"torn')
    assert samples_after(path, 0.0) == samples
    assert [sample.when for sample in samples_after(path, samples[-2].when)] == [samples[-1].when]
    assert samples_after(path, samples[-1].when) == []
