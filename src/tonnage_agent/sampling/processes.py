"""Who in the container holds the memory: the trainer's ranks, its loader workers, or somebody else.

    main     the command, what a launcher started as ranks, whoever told a step over the socket
    loader   a copy of its parent (fork), a worker Python's multiprocessing made, a thread named as torch names them
    other    everything else: the launcher itself, a tracker, a download, a daemon

Resident memory of forked workers counts pages they share with their parent: it says who is large, not what the sum
is. Where the agent has to add up (no cgroup is ours), it asks for each process' proportional share instead.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass

from tonnage_agent.sampling.files import text
from tonnage_agent.wrapping.family import Process

LAUNCHERS = ("torchrun", "torch.distributed.run", "torch.distributed.launch", "accelerate", "deepspeed", "mpirun",
             "mpiexec", "orterun", "prterun", "horovodrun", "srun", "hydra_pmi_proxy", "orted", "prted")  # fmt: skip
_WORKERS = ("multiprocessing.spawn import spawn_main", "--multiprocessing-fork")
_SERVANTS = (
    "multiprocessing.resource_tracker",
    "multiprocessing.forkserver",
    "multiprocessing.semaphore_tracker",
)
_LOADER_NAMES = ("pt_data_worker", "pt_data_pin")


@dataclass(frozen=True)
class Held:
    """One process and what it holds."""

    pid: int
    name: str
    kind: str
    bytes: int

    def as_json(self) -> dict[str, object]:
        return {"pid": self.pid, "name": self.name, "bytes": self.bytes, "kind": self.kind}


class Kinds:
    """Tells what each process is; remembers, because what a process is does not change."""

    def __init__(self, proc: str = "/proc") -> None:
        self._proc = proc
        self._lines: dict[tuple[int, int], str] = {}

    def held(self, family: Iterable[Process], main: int, ranks: Collection[int] = ()) -> list[Held]:
        """All processes of the family, the largest first."""
        processes = {process.pid: process for process in family}
        self._learn(processes.values())
        found = [
            Held(each.pid, each.name, self._kind(each, processes, main, ranks), each.resident_bytes)
            for each in processes.values()
        ]
        return sorted(found, key=lambda held: -held.bytes)

    def _learn(self, family: Iterable[Process]) -> None:
        """Read the command line of newcomers, forget the dead."""
        known = {}
        for process in family:
            who = (process.pid, process.started)
            line = self._lines.get(who)
            if not line:  # also again while it is empty: between fork and exec
                line = (text(f"{self._proc}/{process.pid}/cmdline") or "").replace("\0", " ").strip()[:500]
            known[who] = line
        self._lines = known

    def _kind(self, process: Process, family: dict[int, Process], main: int, ranks: Collection[int]) -> str:
        line = self._line(process)
        if process.pid in ranks:
            return "main"
        if process.name in _LOADER_NAMES or any(mark in line for mark in _WORKERS):
            return "loader"
        if any(mark in line for mark in _SERVANTS) or not line:
            return "other"
        is_launcher = any(name in line for name in LAUNCHERS)
        if process.pid == main:
            return "other" if is_launcher and len(family) > 1 else "main"
        parent = family.get(process.parent)
        if parent is None:
            return "other"
        above = self._line(parent)
        if line == above:
            return "loader" if not is_launcher else "other"
        is_started_by_launcher = any(name in above for name in LAUNCHERS) or _is_shell(parent)
        return "main" if is_started_by_launcher and not is_launcher else "other"

    def _line(self, process: Process) -> str:
        return self._lines.get((process.pid, process.started), "")


def proportional_bytes(pid: int, proc: str = "/proc") -> int | None:
    """Anonymous and shared memory of one process, its share of what it shares with others."""
    total = None
    for line in (text(f"{proc}/{pid}/smaps_rollup") or "").splitlines():
        name, _, rest = line.partition(":")
        if name in ("Pss_Anon", "Pss_Shmem"):
            total = (total or 0) + int(rest.split()[0]) * 1024
    return total


def _is_shell(process: Process) -> bool:
    return process.name in ("sh", "bash", "dash", "ash", "zsh", "ksh")
