"""Bytes and requests to block devices, by our cgroup: reading data that no longer fits the page cache shows here.

Network volumes are not block devices of ours and do not show; their bytes are in the network's counters.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from tonnage_agent.sampling.files import text
from tonnage_agent.sampling.hierarchy import CGROUP_ROOT, candidates, is_whole_machine
from tonnage_agent.sampling.pressure import read_pressure

_V1_BYTES = ("blkio.throttle.io_service_bytes_recursive", "blkio.throttle.io_service_bytes")


@dataclass(frozen=True)
class BlockIo:
    """Totals so far, all devices."""

    read_bytes: int
    written_bytes: int
    reads: int | None = None
    writes: int | None = None
    waiting_micros: int | None = None
    """Pressure: time in which somebody waited for storage."""


def read_block_io(self_cgroup: str, root: Path = CGROUP_ROOT) -> BlockIo | None:
    """Our own cgroup's use; None where no cgroup counts it."""
    for version, folder in candidates(root, self_cgroup, "io", ()):
        if version == 2 and (folder / "io.stat").is_file():
            return _read_v2(folder)
    for version, folder in candidates(root, self_cgroup, "blkio", ("blkio",)):
        for name in _V1_BYTES:
            if version == 1 and (folder / name).is_file():
                return None if is_whole_machine(folder) else _read_v1(folder / name)
    return None


def _read_v2(folder: Path) -> BlockIo:
    """Lines of `8:0 rbytes=1 wbytes=2 rios=3 wios=4 dbytes=0 dios=0`."""
    totals = dict.fromkeys(("rbytes", "wbytes", "rios", "wios"), 0)
    for line in (text(folder / "io.stat") or "").splitlines():
        for field in line.split()[1:]:
            name, _, value = field.partition("=")
            if name in totals and value.isdecimal():
                totals[name] += int(value)
    waiting = read_pressure(folder / "io.pressure").waiting_micros
    return BlockIo(totals["rbytes"], totals["wbytes"], totals["rios"], totals["wios"], waiting)


def _read_v1(path: Path) -> BlockIo:
    """Lines of `8:0 Read 1`."""
    totals = {"Read": 0, "Write": 0}
    for line in (text(path) or "").splitlines():
        fields = line.split()
        if len(fields) == 3 and fields[1] in totals and fields[2].isdecimal():
            totals[fields[1]] += int(fields[2])
    return BlockIo(totals["Read"], totals["Write"])
