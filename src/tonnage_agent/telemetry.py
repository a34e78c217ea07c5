"""The one record everybody reads: a `Sample` of what a container held at one moment.

It travels as one JSON line, from the pod to whoever asks (a file, a socket, the log), so a half-written
last line never spoils the lines before it. Names on the wire are camelCase with the unit in them; numbers
that could not be read are left out, never zero. Unknown names are ignored when reading: an older reader
must survive a newer agent.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, fields
from typing import Any


@dataclass(frozen=True)
class Sample:
    """What was held, by whom it was measured, and when (seconds since 1970)."""

    when: float
    source: str
    """Where the numbers come from: `cgroup-v1`, `cgroup-v2`, or `processes` where no cgroup is ours alone."""
    usage_bytes: int
    working_set_bytes: int
    """Usage without inactive page cache: what `kubectl top` shows and eviction ranks by."""
    limit_bytes: int | None = None
    """The nearest wall; None where there is none."""
    anon_bytes: int | None = None
    file_bytes: int | None = None
    shmem_bytes: int | None = None
    """tmpfs and shared memory: in `file_bytes` too, yet nothing can be given back without swap."""
    peak_bytes: int | None = None
    oom_kills: int | None = None
    """Processes of this container that the kernel has killed so far, children included."""
    kernel_bytes: int | None = None
    """Kernel memory that cannot be reclaimed (stacks, page tables, slab); version 2 only."""
    swap_bytes: int | None = None
    oom_events: int | None = None
    """Times the limit was reached and an allocation was about to fail."""
    limit_hits: int | None = None
    """Times usage was pushed back from the limit."""
    throttle_events: int | None = None
    """Times usage went over `memory.high` and was slowed."""
    waiting_micros: int | None = None
    stalled_micros: int | None = None
    """Memory pressure: time in which some, or all, processes waited for memory."""
    gpu_used_bytes: int | None = None
    """Of the GPU that holds most; None where there is none, or it does not say."""
    gpu_activity: int | None = None
    """Percent of the time in which a kernel ran, the mean of all GPUs."""

    @property
    def needed_bytes(self) -> int:
        """What cannot be given back: anonymous memory, shared memory and the kernel's own part."""
        if self.anon_bytes is None:
            return self.working_set_bytes
        return self.anon_bytes + (self.shmem_bytes or 0) + (self.kernel_bytes or 0)

    def as_line(self) -> str:
        """One JSON object on one line, without the newline."""
        values = {_wire(field.name): getattr(self, field.name) for field in fields(self)}
        return json.dumps({k: v for k, v in values.items() if v is not None}, separators=(",", ":"))


class NotASampleError(ValueError):
    """The line is not a sample; says why."""


def parse_sample(line: str) -> Sample:
    """Read a line back; raise NotASampleError when it is torn, foreign or lacks a required number."""
    try:
        values: Any = json.loads(line)
    except ValueError as error:
        raise NotASampleError(f"not JSON ({error}): {line[:80]!r}") from None
    if not isinstance(values, dict):
        raise NotASampleError(f"expected an object, found {type(values).__name__}")
    values = {**_of_gpus(values.get("gpus")), **values}
    known = {field.name: values[_wire(field.name)] for field in fields(Sample) if _wire(field.name) in values}
    for name, value in known.items():
        wanted: tuple[type, ...] = (str,) if name == "source" else (int, float) if name == "when" else (int,)
        if isinstance(value, bool) or not isinstance(value, wanted):
            raise NotASampleError(f"{_wire(name)}: expected a {wanted[-1].__name__}, found {value!r}")
    try:
        return Sample(**known)
    except TypeError:
        missing = [_wire(f.name) for f in fields(Sample)[:4] if f.name not in known]
        raise NotASampleError(f"missing {', '.join(missing)}") from None


def _of_gpus(told: object) -> dict[str, int]:
    """What the GPUs of a line come to, in the two figures of a sample."""
    gpus = [gpu for gpu in told if isinstance(gpu, dict)] if isinstance(told, list) else []
    used = [gpu["used"] for gpu in gpus if _is_number(gpu.get("used"))]
    busy = [gpu["activity"] for gpu in gpus if _is_number(gpu.get("activity"))]
    found = {"gpuUsedBytes": int(max(used))} if used else {}
    return {**found, "gpuActivity": round(sum(busy) / len(busy))} if busy else found


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _wire(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(part.capitalize() for part in rest)
