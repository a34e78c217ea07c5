"""/dev/shm: too small, or only accused.

torch prints "this might be caused by insufficient shared memory" for every bus error; a mapped file that was cut off on
a network volume gives the same signal. So the size and use of /dev/shm, where anything tells it, decides.
"""

from __future__ import annotations

import re

from tonnage.diagnosis.rules import Family, Reading, Sign, Tier, rule, with_code
from tonnage.diagnosis.statements import View

_DF = re.compile(r"^\S+ +([\d.]+)([KMGT])\S* +\S+ +\S+ +(\d+)% +/dev/shm")
_ROOMY_BYTES = 2**30
_HALF = 50


def has_room(view: View) -> bool:
    """Whether /dev/shm is known to have been large and less than half full."""
    for box in view.boxes:
        if box.shm_size is not None and box.shm_used is not None:
            return box.shm_size >= _ROOMY_BYTES and box.shm_used * 100 < box.shm_size * _HALF
    found = [match for each in view.statements if (match := _DF.search(each.text))]
    return bool(found) and all(match[2] in "GT" and int(match[3]) < _HALF for match in found)


def _bus_error(read: Reading) -> Sign | None:
    return with_code(read.sign, "STO-04", 0.7) if has_room(read.view) else read.sign


_SEMAPHORE = re.compile(
    r"SemLock|multiprocessing/(?:synchronize|heap|shared_memory)|_posixshmem|/dev/shm|share_memory"
)


def _full(read: Reading) -> Sign | None:
    """Errno 28 from a lock or a shared segment is /dev/shm, not a disk."""
    around = read.before(8)
    return read.sign if _SEMAPHORE.search(around) else None


FAMILY = Family(
    rules=(
        rule(
            "MEM-06",
            Tier.ROOT,
            0.95,
            r"Call to posix_fallocate failed ?: No space left",
            r"failed to extend \S*nccl\S* to \d+ bytes",
            r"Error while creating shared memory segment",
            r"NCCL WARN Call to \w+ failed ?: No space left",
            r"NCCL WARN .*(?:/dev/shm|shared memory).*No space left",
        ),
        rule(
            "NET-05",
            Tier.ROOT,
            0.9,
            r"Error while attaching to shared memory segment.*",
            r"NCCL WARN (?:Call to|Cuda failure).*(?:shm_open|open) failed ?: No such file",
        ),
        rule(
            "MEM-05",
            Tier.ROOT,
            0.92,
            r"[Ii]nsufficient shared memory",
            r"Unexpected bus error encountered in worker",
            r"Fatal Python error: Bus error",
            r"out of shared memory",
            r"unable to write to file </torch_",
            r"unable to (?:open|mmap|resize|allocate) shared memory.*(?:No space|Cannot allocate|Bus|\(28\)|\(12\))",
            r"unable to allocate shared memory\(shm\) for file",
            r"DataLoader worker \(pid\(?s?\)? [\d, ]+\) is killed by signal: Bus error",
            r"shm_open.*(?:No space left|ENOSPC)",
            r"ftruncate.*(?:No space left|ENOSPC)",
            r"posix_fallocate.*(?:No space left|ENOSPC)",
            r"raise your shared memory limit",
            weigh=_bus_error,
        ),
        rule(
            "MEM-05",
            Tier.ROOT,
            0.9,
            r"\[Errno 28\]",
            r"No space left on device",
            weigh=_full,
        ),
        rule(
            "MEM-05",
            Tier.EXIT,
            0.6,
            r"exitcode ?: ?-7\b",
            r"exitCode: 135\b",
            r"[Ee]xit [Cc]ode: +135\b",
            r"Signal 7 \(SIGBUS\)",
            r"[Bb]us error \(core dumped\)",
            r"code -7\b",
            r"exitCode: 249\b",
            weigh=_bus_error,
        ),
    )
)
