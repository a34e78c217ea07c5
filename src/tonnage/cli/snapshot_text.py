"""The snapshot view as text: the verdict first, then pools, then what waits and why, then the walls."""

from __future__ import annotations

import datetime as dt

from tonnage.cli.columns import heading, mark, table, width
from tonnage.reporting.pools import Pool, Use
from tonnage.reporting.snapshot import SnapshotView
from tonnage.reporting.text import format_age, format_amount, one_line, plural
from tonnage.reporting.waiting import Waiting
from tonnage.reporting.walls import Queue, Wall
from tonnage.units import format_bytes, try_quantity

MOST_REASONS = 8
_PHASES = {"Succeeded": "done", "Pending": "pending", "Running": "running", "Failed": "failed"}


def draw(view: SnapshotView) -> list[str]:
    """The view as lines."""
    lines = [*_verdict(view), ""]
    lines += _pools(view)
    lines += _pods(view)
    lines += _queues(view.queues)
    lines += _walls(view.walls)
    lines += _unknown(view)
    return lines


def _verdict(view: SnapshotView) -> list[str]:
    """What it is and how it stands: one line, or two where one is too long."""
    what = [view.source, f"Kubernetes {view.server_version}" if view.server_version else ""]
    stands = [plural(view.nodes, "node")]
    if view.gpus_total:
        stands.append(
            f"{view.gpus_used:,} of {plural(view.gpus_total, 'GPU')} in use" + _free(view.gpus_free)
        )
    if view.namespace:
        stands.append(f"namespace {view.namespace} only")
    first, second = ("   ".join(part for part in parts if part) for parts in (what, stands))
    if len(first) + len(second) + 3 > width():
        return [heading(first), f"  {second}"]
    return [f"{heading(first)}   {second}"]


def _free(free: int | None) -> str:
    return "" if free is None else f", {free:,} free"


def _pools(view: SnapshotView) -> list[str]:
    if not view.pools:
        return []
    rows: list[tuple[str, ...]] = [("nodes", "ready", "GPUs used", "free", "cpu used", "memory used")]
    rows += [_pool_row(pool) for pool in view.pools]
    lines = table(rows, right=(1, 2, 3, 4, 5))
    cordoned = sum(pool.nodes - pool.usable for pool in view.pools)
    if cordoned:
        lines.append(
            f"  {plural(cordoned, 'node')} not ready or cordoned; what they have is not counted as free"
        )
    return [*lines, ""]


def _pool_row(pool: Pool) -> tuple[str, ...]:
    kind = f"{pool.gpus_per_node} x {pool.gpu_type}" if pool.gpus_per_node else "no GPU"
    said = {"", kind.replace(" ", ""), pool.gpu_type}
    name = kind if pool.name in said else f"{one_line(pool.name, 20)}: {kind}"
    gpus = f"{pool.gpus.used:,} of {pool.gpus.total:,}" if pool.gpus.total else "-"
    free = "-" if not pool.gpus.total else "?" if pool.gpus.free is None else f"{pool.gpus.free:,}"
    cores = f"{pool.cpu_milli.total / 1000:,.0f}"
    memory = format_bytes(pool.memory_bytes.total)
    ready = f"{pool.usable}/{pool.nodes}"
    return (
        name,
        ready,
        gpus,
        free,
        f"{_percent(pool.cpu_milli)} of {cores}",
        f"{_percent(pool.memory_bytes)} of {memory}",
    )


def _percent(use: Use) -> str:
    return f"{use.share * 100:.0f} %"


def _pods(view: SnapshotView) -> list[str]:
    order = ("Running", "Pending", "Failed", "Succeeded", "Terminating", "Unknown")
    counted = [(name, view.pods_by_phase[name]) for name in order if name in view.pods_by_phase]
    text = ", ".join(f"{count:,} {_PHASES.get(name, name.lower())}" for name, count in counted) or "none"
    lines = [f"  {'pods':<10}{text}"]
    waiting = sum(group.pods for group in view.waiting)
    if waiting:
        lines.append(f"  {'waiting':<10}{mark(plural(waiting, 'pod'), 'warning')}, by what holds them:")
        lines += [line for group in view.waiting[:MOST_REASONS] for line in _waiting(group)]
        rest = view.waiting[MOST_REASONS:]
        if rest:
            more = sum(group.pods for group in rest)
            lines.append(
                f"            {plural(more, 'pod')} for {plural(len(rest), 'other reason')}: -o summary"
            )
    return [*lines, ""]


def _waiting(group: Waiting) -> list[str]:
    room = width() - 12
    age = format_age(dt.timedelta(seconds=group.oldest_seconds))
    others = f" and {group.pods - 1:,} more" if group.pods > 1 else ""
    return [
        " " * 12 + one_line(group.reason, room),
        " " * 14 + one_line(f"{group.example}{others}, waiting {age}", room - 2),
    ]


def _queues(queues: tuple[Queue, ...]) -> list[str]:
    if not queues:
        return []
    rows = [("queue", "GPUs used", "borrowed", "admitted", "pending", "cohort")]
    for queue in queues:
        name = queue.name if queue.is_active else f"{queue.name} (stopped)"
        used = f"{queue.gpus_used:,} of {queue.gpus_nominal:,}"
        borrowed = f"{queue.gpus_borrowed:,}" if queue.gpus_borrowed else "-"
        rows.append((name, used, borrowed, f"{queue.admitted:,}", f"{queue.pending:,}", queue.cohort or "-"))
    lines = table(rows, right=(1, 2, 3, 4))
    lines += [f"  {queue.name}: {queue.why_inactive}" for queue in queues if not queue.is_active]
    return [*lines, ""]


def _walls(walls: tuple[Wall, ...]) -> list[str]:
    if not walls:
        return []
    rows = [("quota near its wall", "resource", "used", "of", "")]
    for wall in walls:
        used, hard = _amount(wall.resource, wall.used), _amount(wall.resource, wall.hard)
        rows.append(
            (f"{wall.namespace}/{wall.quota}", wall.resource, used, hard, f"{wall.share * 100:.0f} %")
        )
    return [*table(rows, right=(2, 3, 4)), ""]


def _amount(resource: str, text: str) -> str:
    quantity = try_quantity(text)
    return text if quantity is None else format_amount(resource, quantity)


def _unknown(view: SnapshotView) -> list[str]:
    return [
        f"  not known  {one_line(f'{gap.resource}: {gap.message or gap.reason}', width() - 13)}"
        for gap in view.unknown
    ]
