"""What an agent measured, read from the end of its file: as far back as nobody has read yet, and no further."""

from __future__ import annotations

from pathlib import Path

from tonnage.local.tailing import last_lines
from tonnage_agent.telemetry import NotASampleError, Sample, parse_sample

FEW, MOST = 64, 64 * 8**4
"""Lines read at first, and at most: two days, where nobody looked for so long."""


def samples_after(path: Path, since: float) -> list[Sample]:
    """Samples after a moment (seconds since 1970), oldest first; torn and foreign lines are passed over."""
    count = FEW
    while True:
        lines = last_lines(path, count)
        samples = [sample for line in lines if (sample := _sample(line)) is not None]
        is_whole = len(lines) < count or count >= MOST
        if is_whole or (samples and samples[0].when <= since):
            return [sample for sample in samples if sample.when > since]
        count *= 8


def _sample(line: str) -> Sample | None:
    try:
        return parse_sample(line)
    except NotASampleError:
        return None
