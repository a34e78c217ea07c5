"""The snapshot view as text: the verdict first, then pools, then what waits and why, then the walls."""

from __future__ import annotations

import datetime as dt

from tonnage.cli.columns import heading, mark, table, width, wrapped
from tonnage.cluster.snapshot import FORBIDDEN
from tonnage.figures import plural
from tonnage.reporting.pools import Pool, Use
from tonnage.reporting.snapshot import SnapshotView
from tonnage.reporting.text import format_age, format_amount, one_line
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
    sees_nodes = all(gap.resource != "nodes" for gap in view.unknown)
    stands = [plural(view.nodes, "node") if sees_nodes else "nodes not known"]
    for use, noun in ((view.gpus, "GPU"), (view.gpu_parts, "GPU part")):
        if use.total:
            stands.append(f"{use.used:,} of {plural(use.total, noun)} in use" + _free(use.free))
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
    figures = [("ready", "GPUs used", "free", "cpu used", "memory used"), *map(_figures, view.pools)]
    sizes = [max(map(len, column)) for column in zip(*figures, strict=True)]
    room = width() - 2 - sum(sizes) - 2 * len(sizes)
    names = ["nodes", *(_pool_name(pool, room) for pool in view.pools)]
    rows = [(name, *row) for name, row in zip(names, figures, strict=True)]
    lines = table(rows, right=(1, 2, 3, 4, 5))
    cordoned = sum(pool.nodes - pool.usable for pool in view.pools)
    if cordoned:
        lines.append(
            f"  {plural(cordoned, 'node')} not ready or cordoned; what they have is not counted as free"
        )
    return [*lines, ""]


def _pool_name(pool: Pool, room: int) -> str:
    """The pool and what its nodes offer, in this many columns: the figures beside it matter more."""
    for kind in (_devices(pool), _devices(pool, is_short=True)):
        name = kind if pool.name in ("", kind.replace(" ", ""), pool.gpu_type) else f"{pool.name}: {kind}"
        if len(name) <= room:
            return name
    return f"{one_line(pool.name, max(6, room - len(kind) - 2))}: {kind}" if pool.name else kind


def _figures(pool: Pool) -> tuple[str, ...]:
    uses = [use for use in (pool.gpus, pool.parts) if use.total]
    gpus = " + ".join(f"{use.used:,} of {use.total:,}" for use in uses) or "-"
    free = " + ".join("?" if use.free is None else f"{use.free:,}" for use in uses) or "-"
    cores = f"{pool.cpu_milli.total / 1000:,.0f}"
    memory = format_bytes(pool.memory_bytes.total)
    ready = f"{pool.usable}/{pool.nodes}"
    return (
        ready,
        gpus,
        free,
        f"{_percent(pool.cpu_milli)} of {cores}",
        f"{_percent(pool.memory_bytes)} of {memory}",
    )


def _devices(pool: Pool, *, is_short: bool = False) -> str:
    """What each node offers: `8 x h100`, `14 x 1g.10gb of a100-80` (short: `14 x 1g.10gb`), `4 x shared t4`."""
    words = [f"{pool.gpus_per_node} x {pool.gpu_type}"] if pool.gpus_per_node else []
    of = "" if words or is_short else f" of {pool.gpu_type}"
    for part, count in sorted(pool.parts_per_node.items()):
        unit = f"shared {pool.gpu_type}" if part == "shared" else f"{part}{of}"
        words.append(f"{count} x {unit}")
    return " + ".join(words) or "no GPU"


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
    """What could not be read; all that may not be listed in one sentence, with who says more."""
    forbidden = [gap.resource for gap in view.unknown if gap.reason == FORBIDDEN]
    texts = [
        f"{gap.resource}: {gap.message or gap.reason}" for gap in view.unknown if gap.reason != FORBIDDEN
    ]
    if forbidden:
        texts.append(
            f"you may not list {', '.join(forbidden)}; `tonnage doctor` says what to ask an admin for"
        )
    lines = [line for text in texts for line in wrapped(text, width() - 13)]
    return [f"  {'' if index else 'not known':<11}{line}" for index, line in enumerate(lines)]
