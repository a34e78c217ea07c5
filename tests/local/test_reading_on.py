"""Files that grow are read on from where one stopped, whole lines only."""

from __future__ import annotations

from pathlib import Path

from tonnage.local.sampled import FEW, samples_after
from tonnage.local.tailing import lines_after
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
