"""The agent's numbers in Prometheus' text format (version 0.0.4): a record and the newest counters in, text out.

Counters end in `_total`, units are seconds, bytes and ratios as Prometheus asks. Every series carries `run`, `attempt`
and `node`. What is unknown is left out: an absent series says more than a zero. docs/agent.md lists the names.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from tonnage_agent.record import Record

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
_STATES = ("starting", "running", "stopping", "ended")
Point = tuple[str, Mapping[str, str], Any]
"""Name, labels, value."""

NAMES: dict[str, tuple[str, str]] = {
    "tonnage_up": ("gauge", "1 while the agent runs."),
    "tonnage_state": ("gauge", "1 for the state the command is in."),
    "tonnage_start_time_seconds": ("gauge", "When the command started, seconds since 1970."),
    "tonnage_step": ("gauge", "Last step told."),
    "tonnage_steps": ("gauge", "Steps to make in all."),
    "tonnage_loss": ("gauge", "Loss of the last step told."),
    "tonnage_last_step_time_seconds": ("gauge", "When the last step was made, seconds since 1970."),
    "tonnage_step_seconds": ("gauge", "Mean time of the last steps."),
    "tonnage_step_data_wait_seconds": ("gauge", "Mean time a step waited for data."),
    "tonnage_step_collective_wait_seconds": ("gauge", "Mean time a step waited for collectives."),
    "tonnage_phase": ("gauge", "1 for the phase that is open."),
    "tonnage_checkpoint_step": ("gauge", "Step of the newest whole checkpoint."),
    "tonnage_checkpoint_time_seconds": ("gauge", "When it was whole, seconds since 1970."),
    "tonnage_checkpoint_save_seconds": ("gauge", "How long its save took."),
    "tonnage_checkpoint_bytes": ("gauge", "Its size."),
    "tonnage_memory_usage_bytes": ("gauge", "Memory charged to the container."),
    "tonnage_memory_working_set_bytes": ("gauge", "Usage without inactive page cache."),
    "tonnage_memory_needed_bytes": ("gauge", "Memory that cannot be given back."),
    "tonnage_memory_peak_bytes": ("gauge", "Highest usage seen."),
    "tonnage_memory_limit_bytes": ("gauge", "The nearest limit."),
    "tonnage_memory_growth_bytes_per_second": ("gauge", "Slope of needed memory over the last minutes."),
    "tonnage_memory_phase_peak_bytes": ("gauge", "Highest usage by phase."),
    "tonnage_memory_stalled_seconds_total": ("counter", "Time in which everything waited for memory."),
    "tonnage_oom_kills_total": ("counter", "Processes the kernel killed for memory."),
    "tonnage_process_resident_bytes": ("gauge", "Resident memory of the largest processes."),
    "tonnage_cpu_seconds_total": ("counter", "CPU time used."),
    "tonnage_cpu_throttled_seconds_total": ("counter", "Time held back by the CPU limit."),
    "tonnage_cpu_limit_cores": ("gauge", "The CPU limit."),
    "tonnage_io_read_bytes_total": ("counter", "Bytes read from block devices."),
    "tonnage_io_written_bytes_total": ("counter", "Bytes written to block devices."),
    "tonnage_network_received_bytes_total": ("counter", "Bytes received, loopback excepted."),
    "tonnage_network_sent_bytes_total": ("counter", "Bytes sent, loopback excepted."),
    "tonnage_network_retransmitted_segments_total": ("counter", "TCP segments sent again."),
    "tonnage_rdma_received_bytes_total": ("counter", "Bytes received by an RDMA port."),
    "tonnage_rdma_sent_bytes_total": ("counter", "Bytes sent by an RDMA port."),
    "tonnage_rdma_errors_total": ("counter", "Error and congestion counters of an RDMA port."),
    "tonnage_gpu_memory_used_bytes": ("gauge", "GPU memory in use, by everybody on it."),
    "tonnage_gpu_memory_total_bytes": ("gauge", "GPU memory there is."),
    "tonnage_gpu_activity_ratio": ("gauge", "Share of time in which a kernel ran."),
    "tonnage_gpu_power_watts": ("gauge", "Power drawn."),
    "tonnage_gpu_lost": ("gauge", "1 for a GPU that no longer answers."),
    "tonnage_filesystem_free_bytes": ("gauge", "Bytes that may still be written."),
    "tonnage_filesystem_size_bytes": ("gauge", "Size of the file system."),
    "tonnage_cost_dollars": ("gauge", "Price times time, all attempts."),
    "tonnage_deadline_time_seconds": ("gauge", "When the run must have ended: deadline or budget."),
}


def exposition(
    record: Record, counters: Mapping[str, Any], *, cost: int | None = None, wall: float | None = None
) -> str:
    """All series; `cost` in micro-dollars."""
    common = {"run": record.run, "attempt": str(record.attempt), "node": str(record.node)}
    points = [*_progress(record), *_memory(record), *_counted(counters), *_devices(record)]
    points += [
        ("tonnage_cost_dollars", {}, None if cost is None else cost / 1e6),
        ("tonnage_deadline_time_seconds", {}, wall),
    ]
    by_name: dict[str, list[Point]] = {}
    for point in points:
        if point[2] is not None:
            by_name.setdefault(point[0], []).append(point)
    lines = []
    for name, (kind, text) in NAMES.items():
        if name in by_name:
            lines += [f"# HELP {name} {text}", f"# TYPE {name} {kind}"]
            lines += [
                f"{name}{_labels({**common, **labels})} {value:.10g}" for _, labels, value in by_name[name]
            ]
    return "\n".join(lines) + "\n"


def _progress(record: Record) -> Iterator[Point]:
    yield "tonnage_up", {}, 1
    for state in _STATES:
        yield "tonnage_state", {"state": state}, int(record.state == state)
    yield "tonnage_start_time_seconds", {}, record.started_at
    yield "tonnage_step", {}, record.step
    yield "tonnage_steps", {}, record.total
    yield "tonnage_loss", {}, record.loss
    yield "tonnage_last_step_time_seconds", {}, record.step_at
    yield "tonnage_step_seconds", {}, record.step_seconds
    yield "tonnage_step_data_wait_seconds", {}, record.data_seconds
    yield "tonnage_step_collective_wait_seconds", {}, record.collective_seconds
    if record.phase:
        yield "tonnage_phase", {"phase": record.phase}, 1
    for name, key in (
        ("step", "step"),
        ("time_seconds", "when"),
        ("save_seconds", "seconds"),
        ("bytes", "bytes"),
    ):
        yield f"tonnage_checkpoint_{name}", {}, _number(record.checkpoint.get(key))


def _memory(record: Record) -> Iterator[Point]:
    memory = record.memory
    for name, key in (("usage", "usage"), ("working_set", "workingSet"), ("needed", "needed"), ("peak", "peak"),
                      ("limit", "limit")):  # fmt: skip
        yield f"tonnage_memory_{name}_bytes", {}, memory.get(key)
    yield "tonnage_memory_growth_bytes_per_second", {}, memory.get("growthPerSecond")
    for phase, peak in memory.get("phases", {}).items():
        yield "tonnage_memory_phase_peak_bytes", {"phase": phase}, peak
    yield "tonnage_memory_stalled_seconds_total", {}, _seconds(memory.get("stalledMicros"))
    yield "tonnage_oom_kills_total", {}, memory.get("oomKills")
    for process in record.processes:
        labels = {"pid": str(process["pid"]), "name": str(process["name"]), "kind": str(process["kind"])}
        yield "tonnage_process_resident_bytes", labels, process["bytes"]


def _counted(counters: Mapping[str, Any]) -> Iterator[Point]:
    cpu, io, net = (counters.get(name, {}) for name in ("cpu", "io", "net"))
    yield "tonnage_cpu_seconds_total", {}, _seconds(cpu.get("usedMicros"))
    yield "tonnage_cpu_throttled_seconds_total", {}, _seconds(cpu.get("throttledMicros"))
    yield "tonnage_cpu_limit_cores", {}, cpu.get("limitCores")
    yield "tonnage_io_read_bytes_total", {}, io.get("readBytes")
    yield "tonnage_io_written_bytes_total", {}, io.get("writtenBytes")
    yield "tonnage_network_received_bytes_total", {}, net.get("receivedBytes")
    yield "tonnage_network_sent_bytes_total", {}, net.get("sentBytes")
    yield "tonnage_network_retransmitted_segments_total", {}, net.get("segmentsAgain")
    for port in net.get("rdma", ()):
        labels = {"port": port["name"]}
        yield "tonnage_rdma_received_bytes_total", labels, port.get("receivedBytes")
        yield "tonnage_rdma_sent_bytes_total", labels, port.get("sentBytes")
        for counter, count in port.get("troubles", {}).items():
            yield "tonnage_rdma_errors_total", {**labels, "counter": counter}, count


def _devices(record: Record) -> Iterator[Point]:
    for gpu in record.gpus:
        labels = {"gpu": str(gpu.get("index")), "uuid": str(gpu.get("uuid", ""))}
        activity = gpu.get("activity")
        yield "tonnage_gpu_memory_used_bytes", labels, gpu.get("used")
        yield "tonnage_gpu_memory_total_bytes", labels, gpu.get("total")
        yield "tonnage_gpu_activity_ratio", labels, None if activity is None else activity / 100
        yield "tonnage_gpu_power_watts", labels, gpu.get("watts")
        yield "tonnage_gpu_lost", labels, int(bool(gpu.get("lost")))
    rooms = {**record.disk, **({"shm": record.shm} if record.shm else {})}
    for name, room in rooms.items():
        labels = {"filesystem": name, "path": str(room.get("path", ""))}
        yield "tonnage_filesystem_free_bytes", labels, room.get("freeBytes")
        yield "tonnage_filesystem_size_bytes", labels, room.get("totalBytes")


def _labels(labels: Mapping[str, str]) -> str:
    quoted = (f'{name}="{_escaped(value)}"' for name, value in labels.items())
    return "{" + ",".join(quoted) + "}"


def _escaped(value: str) -> str:
    return value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


def _seconds(micros: int | None) -> float | None:
    return None if micros is None else micros / 1e6


def _number(value: object) -> float | None:
    return value if isinstance(value, (int, float)) and not isinstance(value, bool) else None
