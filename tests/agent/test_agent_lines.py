"""From any stream of bytes, the last lines a person would have seen, in bounded memory."""

from __future__ import annotations

import itertools
import os

from hypothesis import given
from hypothesis import strategies as st

from tonnage_agent.wrapping.lines import BURST_BYTES, KEPT_LINES, LINE_BYTES, Lines


def read(*chunks: bytes) -> tuple[list[str], list[str]]:
    """What is kept and what was read line by line, after all chunks and the end."""
    seen: list[str] = []
    lines = Lines(seen.append, clock=lambda: 0.0)
    for chunk in chunks:
        lines.feed(chunk)
    lines.close()
    return [text for _, text in lines.last()], seen


def cut(content: bytes, cuts: list[int]) -> list[bytes]:
    places = sorted({min(place, len(content)) for place in cuts} | {0, len(content)})
    return [content[a:b] for a, b in itertools.pairwise(places)]


@given(st.binary(max_size=300), st.lists(st.integers(0, 300), max_size=8))
def test_how_a_stream_is_cut_into_chunks_does_not_matter(content, cuts):
    assert read(*cut(content, cuts)) == read(content)


@given(st.lists(st.text(st.characters(min_codepoint=32, max_codepoint=0x2FFF, exclude_characters="\x7f"), min_size=1,
                        max_size=40).map(str.rstrip).filter(bool), max_size=30))  # fmt: skip
def test_plain_lines_come_back_as_they_were(lines):
    kept, seen = read("".join(f"{line}\n" for line in lines).encode())

    assert kept == seen == lines


def test_a_progress_bar_is_one_line_in_its_newest_state():
    kept, seen = read(b"begin\n", b"\r 10%", b"\r 50%", b"\r100%\n", b"end\n")

    assert kept == ["begin", "100%", "end"]
    assert [line.strip() for line in seen] == ["begin", "", "10%", "50%", "100%", "end"]


def test_windows_line_ends_are_line_ends():
    assert read(b"a\r", b"\nb\r\nc")[0] == ["a", "b", "c"]


def test_colours_and_control_characters_are_left_out():
    assert read(b"\x1b[31mred\x1b[0m \x07bell\x00\n")[0] == ["red bell"]


def test_bytes_that_are_no_text_are_replaced():
    assert read(b"caf\xe9\n")[0] == ["caf\N{REPLACEMENT CHARACTER}"]


def test_a_long_line_is_cut_and_the_next_is_whole():
    kept, _ = read(b"x" * 5000, b"y" * 100000 + b"\nnext\n")

    assert kept == ["x" * LINE_BYTES, "next"]


def test_only_the_last_lines_are_kept():
    kept, seen = read(b"".join(b"%d\n" % number for number in range(1000)))

    assert kept == [str(number) for number in range(1000 - KEPT_LINES, 1000)]
    assert len(seen) == 1000


def test_a_flood_is_not_read_line_by_line_yet_its_end_is_kept():
    now = [0.0]
    seen: list[str] = []
    lines = Lines(seen.append, clock=lambda: now[0])
    flood = b"".join(b"line %07d\n" % number for number in range(80000))
    for _ in range(50):
        lines.feed(flood)
        now[0] += 0.001

    assert len(seen) < 2 * BURST_BYTES / 13
    assert [text for _, text in lines.last()][-1] == "line 0079999"
    now[0] += 10
    lines.feed(b"after the flood\n")
    assert seen[-2:] == ["line 0079999", "after the flood"]


def test_random_bytes_never_fail():
    for _ in range(50):
        read(*(os.urandom(1 + index * 37) for index in range(30)))
