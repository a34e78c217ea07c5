"""CPU time used, and time in which the container was held back by its own limit.

Throttled time is the quiet killer of data loaders: the process shows no error and the GPU waits. Microseconds since
the cgroup was made, so any rate can be made of two samples. The machine's own root cgroup is not ours and not read.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from tonnage_agent.sampling.files import number, table, text
from tonnage_agent.sampling.hierarchy import CGROUP_ROOT, candidates, is_whole_machine, upwards
from tonnage_agent.sampling.pressure import read_pressure

_MOUNTS = ("cpu,cpuacct", "cpuacct,cpu", "cpu")
_ACCOUNT_MOUNTS = ("cpu,cpuacct", "cpuacct,cpu", "cpuacct")


@dataclass(frozen=True)
class CpuUse:
    """Totals so far; None where this kernel does not tell."""

    used_micros: int
    throttled_micros: int | None = None
    throttled_periods: int | None = None
    periods: int | None = None
    limit_cores: float | None = None
    """What the limit allows; None where there is none."""
    waiting_micros: int | None = None
    """Pressure: time in which somebody was ready to run and could not."""


def read_cpu(self_cgroup: str, root: Path = CGROUP_ROOT) -> CpuUse | None:
    """Our own cgroup's use; None where no cgroup counts it for us alone."""
    for version, folder in candidates(root, self_cgroup, "cpu", _MOUNTS):
        if version == 2 and (folder / "cpu.max").is_file():
            return _read_v2(folder, root)
        if version == 1 and (folder / "cpu.cfs_quota_us").is_file():
            return None if is_whole_machine(folder) else _read_v1(folder, self_cgroup, root)
    return None


def _read_v2(folder: Path, root: Path) -> CpuUse | None:
    stat = table(folder / "cpu.stat")
    used = stat.get("usage_usec")
    if used is None:
        return None
    limits = [limit for limit in (_limit_v2(place) for place in upwards(folder, root)) if limit is not None]
    return CpuUse(
        used_micros=used,
        throttled_micros=stat.get("throttled_usec"),
        throttled_periods=stat.get("nr_throttled"),
        periods=stat.get("nr_periods"),
        limit_cores=min(limits, default=None),
        waiting_micros=read_pressure(folder / "cpu.pressure").waiting_micros,
    )


def _read_v1(folder: Path, self_cgroup: str, root: Path) -> CpuUse | None:
    used = None
    for version, place in candidates(root, self_cgroup, "cpuacct", _ACCOUNT_MOUNTS):
        if version == 1:
            used = number(place / "cpuacct.usage")
            if used is not None:
                break
    if used is None:
        return None
    stat = table(folder / "cpu.stat")
    throttled = stat.get("throttled_time")
    quota, period = number(folder / "cpu.cfs_quota_us"), number(folder / "cpu.cfs_period_us")
    return CpuUse(
        used_micros=used // 1000,
        throttled_micros=None if throttled is None else throttled // 1000,
        throttled_periods=stat.get("nr_throttled"),
        periods=stat.get("nr_periods"),
        limit_cores=quota / period if quota and period else None,
    )


def _limit_v2(folder: Path) -> float | None:
    """`cpu.max` is `QUOTA PERIOD`, or `max PERIOD`."""
    quota, _, period = (text(folder / "cpu.max") or "").strip().partition(" ")
    return int(quota) / int(period) if quota.isdecimal() and period.isdecimal() and int(period) else None
