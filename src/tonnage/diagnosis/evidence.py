"""Evidence: everything gathered about one attempt's end, before Kubernetes deletes it.

The same value for this machine and for a cluster: what a cluster does not have (a cgroup's counters after the pod is
gone) or a machine has not (events) is simply absent.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class ContainerEnd:
    """How one container (or process) ended, as its runtime said."""

    name: str
    exit_code: int | None = None
    signal: int | None = None
    reason: str = ""
    """`OOMKilled`, `Error`, `Completed`, ..."""
    message: str = ""
    """Termination message: the agent's record, where there is one."""
    started: dt.datetime | None = None
    finished: dt.datetime | None = None
    is_init: bool = False
    restarts: int = 0
    oom_kills: int | None = None
    """Kills for memory that its cgroup had counted when it was over; None where nobody could look."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PodEnd:
    """One pod's end."""

    index: int
    """Which pod of the gang: completion index, or its place in the list."""
    name: str
    node: str = ""
    phase: str = ""
    reason: str = ""
    message: str = ""
    conditions: tuple[Mapping[str, Any], ...] = ()
    containers: tuple[ContainerEnd, ...] = ()
    is_gone: bool = False
    """Deleted before it could be read: only the record beside the checkpoints is left."""
    memory_limit: int | None = None
    is_lost: bool = False
    """It was missed while the others ran: what happened to them came after."""
    gone_at: dt.datetime | None = None
    """When it was first missed, where somebody saw it go."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """One Kubernetes event, or a line of the kernel log."""

    when: dt.datetime | None
    kind: str
    """`Pod`, `Node`, `Job`, `Workload`, `kernel`."""
    name: str
    reason: str
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class LogLines:
    """The end of one pod's log."""

    index: int
    lines: tuple[str, ...]
    source: str = ""
    previous: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """All of it."""

    pods: tuple[PodEnd, ...] = ()
    events: tuple[Event, ...] = ()
    logs: tuple[LogLines, ...] = ()
    records: Mapping[int, Mapping[str, Any]] = field(default_factory=dict)
    """The agents' black boxes by pod index, as `tonnage_agent` wrote them (camelCase)."""
    job_conditions: tuple[Mapping[str, Any], ...] = ()
    node_conditions: Mapping[str, tuple[Mapping[str, Any], ...]] = field(default_factory=dict)
    node_is_spot: Mapping[str, bool] = field(default_factory=dict)
    gone_nodes: tuple[str, ...] = ()
    """Nodes the pods ran on that no longer exist or are not ready."""
    stopped_by_us: str = ""
    """`stopped`, `deadline`, `budget`, ... where the supervisor itself ended it."""
    missing: tuple[str, ...] = ()
    """What could not be gathered, and why."""
    is_final: bool = False
    """Nothing more will come: who watched the end has written all of it down, as on this machine."""
