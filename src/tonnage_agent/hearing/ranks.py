"""Which rank failed first, as launchers and ranks themselves say it.

Launchers end all other ranks when one has failed, and those fail in turn, louder: only the first counts. What a
launcher calls the root cause beats what was read before; of plain tracebacks the first rank to print one is taken.
"""

from __future__ import annotations

import re

_VERDICTS = (
    # torchrun's report, below "Root Cause (first observed failure)"
    re.compile(r"^\s*rank\s*:\s*(?P<rank>\d+)\s*\(local_rank:\s*\d+\)"),
    # Open MPI and PRRTE
    re.compile(r"noticed that process rank (?P<rank>\d+) with PID"),
    # MPICH's hydra, Intel MPI
    re.compile(r"^=\s+RANK (?P<rank>\d+) PID \d+ RUNNING AT"),
    re.compile(r"^srun: error: \S+: task (?P<rank>\d+): "),
)
_SIGNS = (
    re.compile(r"failed \(exitcode: -?\d+\) local_rank: (?P<rank>\d+) \(pid: \d+\)"),
    re.compile(r"^\[rank:? ?(?P<rank>\d+)\]:? (?:Child process with PID \d+ terminated with code|Traceback)"),
    re.compile(r"-- Process (?P<rank>\d+) terminated with the following error"),
    re.compile(r"ProcessExitedException: process (?P<rank>\d+) terminated with"),
    re.compile(r"^Process (?P<rank>\d+) exit with status code [1-9]"),
    re.compile(r"^MPI_ABORT was invoked on rank (?P<rank>\d+)"),
    re.compile(r"Watchdog caught collective operation timeout.*\[Rank (?P<rank>\d+)\]"),
)
_ROOT_CAUSE = "Root Cause (first observed failure)"
_QUICK = re.compile(r"rank|RANK|Root Cause|[Pp]rocess|task")


class RankReader:
    """Reads line by line; `first` is the answer so far."""

    def __init__(self) -> None:
        self.first: int | None = None
        self._is_verdict = False
        self._in_root_cause = False

    def read(self, line: str) -> None:
        """Take in one line."""
        if self._is_verdict or not _QUICK.search(line):
            return
        if _ROOT_CAUSE in line:
            self._in_root_cause = True
            return
        for pattern in _VERDICTS:
            match = pattern.search(line)
            # torchrun lists the other failures first, each with its rank
            if match and (self._in_root_cause or pattern is not _VERDICTS[0]):
                self.first, self._is_verdict = int(match["rank"]), True
                return
        if self.first is not None:
            return
        for pattern in _SIGNS:
            match = pattern.search(line)
            if match:
                self.first = int(match["rank"])
                return
