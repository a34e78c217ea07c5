"""The record's places: whole at any instant, bounded, and never a reason to stop."""

from __future__ import annotations

import json
import shutil
import threading
import time

from hypothesis import given
from hypothesis import strategies as st

from tonnage_agent.blackbox.message import TerminationMessage
from tonnage_agent.blackbox.places import Folder, open_place
from tonnage_agent.blackbox.samples import Samples, thinned
from tonnage_agent.blackbox.writer import Writer


class TestTerminationMessage:
    def test_it_has_one_length_while_it_runs_and_its_own_at_the_end(self, tmp_path):
        path = tmp_path / "message"
        message = TerminationMessage(str(path))
        for text in (b'{"a":1}', b'{"a":' + b"1" * 3000 + b"}", b'{"a":2}'):
            message.write(text)
            assert path.stat().st_size == 4096
            assert json.loads(path.read_bytes()) == json.loads(text)
        message.finish(b'{"a":3}')

        assert path.read_bytes() == b'{"a":3}'

    def test_the_file_that_was_there_is_written_over_not_replaced(self, tmp_path):
        path = tmp_path / "message"
        path.write_bytes(b"old " * 3000)
        inode = path.stat().st_ino
        message = TerminationMessage(str(path))
        message.write(b"{}")
        message.finish(b'{"end":1}')

        assert (path.stat().st_ino, path.read_bytes()) == (inode, b'{"end":1}')

    def test_a_reader_at_any_instant_finds_whole_json(self, tmp_path):
        path = tmp_path / "message"
        message = TerminationMessage(str(path))
        message.write(b"{}")
        is_done = threading.Event()

        def write() -> None:
            for number in range(4000):
                message.write(json.dumps({"n": number, "pad": "x" * (number % 3900)}).encode())
            is_done.set()

        threading.Thread(target=write).start()
        reads = 0
        while not is_done.is_set():
            json.loads(path.read_bytes())
            reads += 1
        assert reads > 50

    def test_no_place_for_it_is_said_and_nothing_more(self, tmp_path):
        message = TerminationMessage(str(tmp_path / "no" / "folder"))
        message.write(b"{}")
        message.finish(b"{}")

        assert message.problem.endswith("No such file or directory")


class TestSamples:
    @given(
        st.lists(st.binary(min_size=1, max_size=60).filter(lambda line: b"\n" not in line), max_size=400),
        st.integers(500, 5000),
    )
    def test_thinning_keeps_the_newest_and_fits(self, lines, limit):
        kept = thinned(b"".join(line + b"\n" for line in lines), limit)

        assert len(kept) <= max(limit, 3 * 61)
        if lines:
            assert kept.endswith(lines[-1] + b"\n")

    def test_the_file_stays_bounded_and_its_beginning_gets_thinner(self, tmp_path):
        samples = Samples(Folder(str(tmp_path)), "samples.jsonl", limit=20_000)
        for number in range(5000):
            samples.append([json.dumps({"when": number, "pad": "x" * 20})])

        times = [json.loads(line)["when"] for line in (tmp_path / "samples.jsonl").read_text().splitlines()]
        assert (tmp_path / "samples.jsonl").stat().st_size <= 20_100
        assert times == sorted(times)
        assert times[-100:] == list(range(4900, 5000))
        assert times[0] < 500


class SlowPlace:
    """A place that hangs until it is let go, as a file server that went away."""

    name, seconds_between = "slow", 0.0

    def __init__(self) -> None:
        self.gate = threading.Event()
        self.records: list[bytes] = []

    def replace(self, name: str, content: bytes, durable: bool) -> None:  # noqa: ARG002
        self.gate.wait()
        self.records.append(content)

    def append(self, name: str, content: bytes) -> int:  # noqa: ARG002
        return len(content)

    def flush(self) -> None:
        pass


class TestWriter:
    def test_storage_that_hangs_holds_nobody(self):
        place = SlowPlace()
        writer = Writer(place)
        began = time.monotonic()
        for number in range(1000):
            writer.hand_over(b"%d" % number, "{}")

        assert not writer.close(0.05)
        assert time.monotonic() - began < 1
        place.gate.set()
        assert writer.close(5)
        assert place.records[-1] == b"999"
        assert len(place.records) < 10

    def test_a_place_that_fails_is_tried_again(self, tmp_path):
        folder = Folder(str(tmp_path / "place"))
        writer = Writer(folder)
        (tmp_path / "place").rename(tmp_path / "away")
        writer.hand_over(b"{}", urgent=True)
        deadline = time.monotonic() + 5
        while not writer.problem and time.monotonic() < deadline:
            time.sleep(0.01)
        assert "No such file" in writer.problem
        (tmp_path / "away").rename(tmp_path / "place")
        writer.hand_over(b'{"a":1}', urgent=True)

        assert writer.close(5)
        assert writer.problem == ""
        assert (tmp_path / "place" / "record.json").read_bytes() == b'{"a":1}'


def test_a_bucket_without_a_client_for_it_is_kept_here_and_said(monkeypatch):
    for name in ("AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_S3"):
        monkeypatch.setenv(name, "not a url")
    place, note = open_place("s3://bucket/prefix", "attempt-1/node-0")

    assert isinstance(place, Folder)
    assert note.startswith(
        f"the record is kept in {place.name} of this container only: s3://bucket/prefix/attempt-1/node-0"
    )
    shutil.rmtree(place.name)
