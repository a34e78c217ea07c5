"""Rows of a public price catalogue, and the traps such rows set.

The public catalogue (SkyPilot's) is refreshed every few hours for some clouds and has not been for a year for
others. Its rows are read by machines that take zero for a price; each rule here is a row that was really found
there. A row that cannot be right is dropped and its reason kept; a part of one (a spot price that is none) is
dropped alone; nothing is repaired by guessing, except what two rows say together.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Sequence

import msgspec
from msgspec.structs import replace

from tonnage.cluster.gpus import find_gpu
from tonnage.cost.table import OLD_AFTER_DAYS

GPU_COUNTS = (1, 2, 4, 8, 16)
"""GPUs a machine may have; no cloud sells another number of whole data-centre GPUs."""
LEAST_PER_GPU = 30_000
"""Three cents an hour: below this a price is a placeholder, whatever the GPU."""
LARGEST_DISCOUNT = 0.95
"""The deepest spot discount seen in four years of AWS prices was 0.87."""
MEMORY_TOLERANCE = 0.1


class Row(msgspec.Struct, frozen=True, kw_only=True):
    """One offer of the catalogue. Micro-dollars per hour; `updated` is the day its cloud was last refreshed."""

    cloud: str
    machine: str
    region: str
    zone: str = ""
    gpu: str = ""
    gpus: int = 0
    gpu_memory_gib: float | None = None
    price: int | None = None
    spot: int | None = None
    updated: dt.date
    is_part: bool = False
    """A machine without its accelerators, or accelerators without their machine: to be added up."""


class Complaint(msgspec.Struct, frozen=True):
    """What is wrong with a row, and what became of it."""

    row: Row
    code: str
    what: str


class Checked(msgspec.Struct, frozen=True):
    """Rows that can be used, and all that was wrong."""

    rows: tuple[Row, ...]
    complaints: tuple[Complaint, ...]


def checked(rows: Iterable[Row]) -> Checked:
    """The rows that can be true, mended where two rows say how, and a complaint for everything else."""
    complaints: list[Complaint] = []
    whole = _joined(list(rows), complaints)
    newest = max((row.updated for row in whole), default=dt.date.min)
    kept = [row for raw in whole if (row := _usable(raw, newest, complaints)) is not None]
    return Checked(tuple(kept), tuple(complaints))


def _usable(row: Row, newest: dt.date, complaints: list[Complaint]) -> Row | None:
    fault = _fault(row, newest)
    if fault is not None:
        complaints.append(Complaint(row, *fault))
        return None
    return _with_memory(_with_spot(row, complaints), complaints)


def _fault(row: Row, newest: dt.date) -> tuple[str, str] | None:
    """Why a row cannot be used at all."""
    if (newest - row.updated).days > OLD_AFTER_DAYS:
        return "stale", f"not updated since {row.updated}, the newest row is of {newest}"
    if not row.price:
        return "no-price", "a price of zero is a missing price"
    if row.gpus and row.gpus not in GPU_COUNTS:
        return "gpu-count", f"{row.gpus} GPUs: no such machine is sold"
    if row.gpus and row.price // row.gpus < LEAST_PER_GPU:
        return "absurd-price", "less than three cents per GPU and hour"
    return None


def _with_spot(row: Row, complaints: list[Complaint]) -> Row:
    """The row without a spot price that is none."""
    if row.spot is None or row.price is None:
        return row
    reason = None
    if row.spot == 0:
        reason = "spot-zero", "a spot price of zero is a missing price"
    elif row.spot >= row.price:
        reason = (
            "spot-is-not-cheaper",
            "a spot price at or above the list price is a copy of it, or a closed market",
        )
    elif row.spot < row.price * (1 - LARGEST_DISCOUNT):
        reason = "spot-absurd", f"more than {LARGEST_DISCOUNT:.0%} off: no market was ever that cheap"
    if reason is None:
        return row
    complaints.append(Complaint(row, *reason))
    return replace(row, spot=None)


def _with_memory(row: Row, complaints: list[Complaint]) -> Row:
    """The row with our own figure for the GPU's memory where its own is wrong."""
    known = find_gpu(row.gpu) if row.gpu else None
    if known is None or row.gpu_memory_gib is None:
        return row
    true = known.memory_mib / 1024
    if abs(row.gpu_memory_gib - true) <= MEMORY_TOLERANCE * true:
        return row
    what = f"{row.gpu} has {true:.0f} GiB, not {row.gpu_memory_gib:.0f}"
    complaints.append(Complaint(row, "gpu-memory", what))
    return replace(row, gpu_memory_gib=true)


def _joined(rows: Sequence[Row], complaints: list[Complaint]) -> list[Row]:
    """Machines and their accelerators added up where a cloud lists them apart."""
    parts: dict[tuple[str, str, str, str], list[Row]] = {}
    whole: list[Row] = []
    for row in rows:
        if row.is_part:
            parts.setdefault((row.cloud, row.machine, row.region, row.zone), []).append(row)
        else:
            whole.append(row)
    for found in parts.values():
        machines = [row for row in found if not row.gpus]
        devices = [row for row in found if row.gpus]
        if not machines or not devices:
            what = "a machine without its GPUs, or GPUs without a machine"
            complaints.append(Complaint(found[0], "half-a-machine", what))
            continue
        whole.append(_sum(machines[0], devices[0]))
    return whole


def _sum(machine: Row, devices: Row) -> Row:
    """Both prices; a machine listed at zero is included in its accelerators' price, the reverse is an error."""
    price = None if not devices.price else devices.price + (machine.price or 0)
    spot = None if not devices.spot else devices.spot + (machine.spot or 0)
    return replace(devices, price=price, spot=spot, is_part=False)
