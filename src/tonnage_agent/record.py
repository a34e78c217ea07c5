"""The black-box record: what a pod was doing the last time anybody looked.

One value, written again and again while the command runs, so that whoever comes after a SIGKILL finds the truth as
of the last second. Reading ignores unknown names and survives missing ones: an older reader must read a newer
agent. The short form fits in a termination message: what explains a death first, the log's last lines as far as
they fit.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field, fields
from typing import Any

from tonnage_agent.contract import MESSAGE_LIMIT

VERSION = 1
_LOG_FRAME = ',"log":[]'
_KINDS: dict[str, tuple[type, ...]] = {
    "str": (str,),
    "int": (int,),
    "float": (int, float),
    "list": (list,),
    "dict": (dict,),
}


@dataclass(frozen=True)
class Record:
    """See the module; times are seconds since 1970, memory is bytes."""

    run: str = ""
    attempt: int = 0
    node: int = 0
    state: str = "starting"
    """`starting`, `running`, `stopping`, `ended`."""
    started_at: float | None = None
    updated_at: float | None = None
    ran_before: float | None = None
    """Seconds that earlier pods of this attempt ran, where one was replaced."""
    cause: str = ""
    """The agent's own cause: `deadline`, `budget`, `probe`, `terminated`, `preflight`, `command` (it could not
    be started), `memory` (watched by the agent, not by the kernel); empty where it has none."""
    message: str = ""
    """One line that says it."""
    exit_code: int | None = None
    signal: int | None = None
    first_rank: int | None = None
    """Rank (process of this pod) that failed first, where it is known."""
    step: int | None = None
    total: int | None = None
    loss: float | None = None
    step_at: float | None = None
    step_seconds: float | None = None
    data_seconds: float | None = None
    collective_seconds: float | None = None
    phase: str = ""
    checkpoint: dict[str, Any] = field(default_factory=dict)
    """`step`, `when`, `path`, `seconds`, `bytes` of the newest one known to be whole."""
    resumed_from: int | None = None
    skipped: list[str] = field(default_factory=list)
    memory: dict[str, Any] = field(default_factory=dict)
    """`usage`, `peak`, `limit`, `workingSet`, `oomKills`, `growthPerSecond`, `phases`: {name: peak}."""
    gpus: list[dict[str, Any]] = field(default_factory=list)
    shm: dict[str, Any] = field(default_factory=dict)
    disk: dict[str, Any] = field(default_factory=dict)
    processes: list[dict[str, Any]] = field(default_factory=list)
    """The largest by memory: `pid`, `name`, `bytes`, `kind` (main, loader, other). After an OOM kill: before it."""
    ranks: dict[str, Any] = field(default_factory=dict)
    """Step each rank of this pod has told, where several do: the one that stopped first is behind."""
    cpu: dict[str, Any] = field(default_factory=dict)
    """`usedMicros`, `throttledMicros`, `limitCores`, ...: totals so far."""
    peers: str = ""
    """What the check of the peers said, in one line."""
    log: list[str] = field(default_factory=list)
    """Last lines the command printed."""

    def as_json(self) -> dict[str, Any]:
        """The wire form: camelCase, nothing that is unknown or empty."""
        values = {_wire(name): value for name, value in asdict(self).items()}
        return {"version": VERSION, **{k: v for k, v in values.items() if v not in (None, "", [], {})}}

    def as_text(self) -> str:
        return json.dumps(self.as_json(), separators=(",", ":"))

    def as_message(self, limit: int = MESSAGE_LIMIT) -> bytes:
        """The same in at most `limit` bytes, always whole JSON; log lines give way first, then what explains least."""
        values = self.as_json()
        lines = values.pop("log", [])
        for name in (
            "ranks",
            "cpu",
            "processes",
            "skipped",
            "gpus",
            "disk",
            "shm",
            "memory",
            "peers",
            "message",
        ):
            if len(_encoded(values)) <= limit:
                break
            values.pop(name, None)
        encoded = _encoded(values)
        kept = _fitting(lines, limit - len(encoded) - len(_LOG_FRAME))
        whole = _encoded({**values, "log": kept}) if kept else encoded
        return whole if len(whole) <= limit else _encoded({"version": VERSION, "state": self.state})


def read_record(values: dict[str, Any]) -> Record:
    """A record from its wire form; unknown names are ignored, and values of another type than expected too."""
    known: dict[str, Any] = {}
    for each in fields(Record):
        value = values.get(_wire(each.name))
        if value is not None and isinstance(value, _kinds(str(each.type))) and not isinstance(value, bool):
            known[each.name] = value
    return Record(**known)


def _kinds(written: str) -> tuple[type, ...]:
    """The types a value may have, from the first word of its annotation (kept as text on every Python)."""
    return _KINDS[written.partition("[")[0].partition(" ")[0]]


def _fitting(lines: list[str], room: int) -> list[str]:
    """The last lines that fit into so many bytes, the newest for certain; a long one is cut at its end."""
    kept: list[str] = []
    for line in reversed(lines):
        fitting = line if kept else _cut(line, room)
        size = len(json.dumps(fitting)) + 1
        if size > room or not fitting:
            break
        kept.append(fitting)
        room -= size
    return kept[::-1]


def _cut(line: str, room: int) -> str:
    """As much of the line's beginning as fits."""
    size = len(json.dumps(line)) + 1
    while line and size > room:
        line = line[: min(len(line) - 1, max(len(line) * room // size, 0))]
        size = len(json.dumps(line)) + 1
    return line


def _encoded(values: dict[str, Any]) -> bytes:
    return json.dumps(values, separators=(",", ":")).encode()


def _wire(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(part.capitalize() for part in rest)
