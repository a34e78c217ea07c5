"""Where a run on this machine keeps what it writes: one folder per run, one below it per attempt and node.

HOME/runs/12/lock                          held by the supervisor
HOME/runs/12/supervisor.log
HOME/runs/12/record/attempt-1/node-0/      the agent's black box (record.json, samples.jsonl)
HOME/runs/12/attempt-1/node-0/start.json   what the shim was told to start
                              shim.json    who runs: pids with their start times
                              limit        bytes of memory allowed now
                              asked.json   what the agent is asked for while it runs
                              exit.json    how it ended
                              remains.json what its cgroup still said, where nobody wrote that
                              output.log   everything it printed
HOME/volumes/ckpt/                         what `pvc/ckpt` means on this machine
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from tonnage_agent.contract import attempt_folder


@dataclass(frozen=True)
class RunFolder:
    """The folder of one run."""

    root: Path

    @classmethod
    def of(cls, home: Path, run: int) -> RunFolder:
        return cls(home / "runs" / str(run))

    @property
    def lock(self) -> Path:
        return self.root / "lock"

    @property
    def supervisor_log(self) -> Path:
        return self.root / "supervisor.log"

    @property
    def record(self) -> Path:
        return self.root / "record"

    def record_of(self, attempt: int, node: int) -> Path:
        return self.record / attempt_folder(attempt, node)

    def node(self, attempt: int, node: int) -> NodeFolder:
        return NodeFolder(self.root / attempt_folder(attempt, node))


@dataclass(frozen=True)
class NodeFolder:
    """The folder of one node of one attempt."""

    root: Path

    @property
    def start(self) -> Path:
        return self.root / "start.json"

    @property
    def shim(self) -> Path:
        return self.root / "shim.json"

    @property
    def limit(self) -> Path:
        return self.root / "limit"

    @property
    def asked(self) -> Path:
        return self.root / "asked.json"

    @property
    def exit(self) -> Path:
        return self.root / "exit.json"

    @property
    def remains(self) -> Path:
        return self.root / "remains.json"

    @property
    def output(self) -> Path:
        return self.root / "output.log"

    @property
    def message(self) -> Path:
        """Stands for the termination message of a container."""
        return self.root / "termination-message"


def volume_folder(home: Path, claim: str) -> Path:
    """What a PersistentVolumeClaim is on this machine: a folder that outlives every run."""
    return home / "volumes" / claim
