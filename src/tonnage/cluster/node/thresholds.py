"""Eviction thresholds: when a node calls itself short of something.

A threshold is a signal, a value (an amount, or a share of capacity) and, for soft ones, a grace period.
Three things here surprise people, and all three are Kubernetes': a partly given `evictionHard` drops the
other defaults, percentages are 32-bit floats (10 % of 100Gi is 160 bytes more than a tenth), and `0%` or
`100%` turn a signal off.

Read in the kubelet's `pkg/kubelet/eviction/helpers.go` and `api/types.go`.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Mapping
from enum import StrEnum

import msgspec

from tonnage.units import Format, Quantity, parse_quantity, quantity_of


class Signal(StrEnum):
    """What the kubelet watches."""

    MEMORY = "memory.available"
    ALLOCATABLE_MEMORY = "allocatableMemory.available"
    NODEFS = "nodefs.available"
    NODEFS_INODES = "nodefs.inodesFree"
    IMAGEFS = "imagefs.available"
    IMAGEFS_INODES = "imagefs.inodesFree"
    CONTAINERFS = "containerfs.available"
    CONTAINERFS_INODES = "containerfs.inodesFree"
    PID = "pid.available"


MEMORY_SIGNALS = frozenset({Signal.MEMORY, Signal.ALLOCATABLE_MEMORY})

RESOURCE_OF: Mapping[Signal, str] = {
    Signal.MEMORY: "memory",
    Signal.ALLOCATABLE_MEMORY: "memory",
    Signal.NODEFS: "ephemeral-storage",
    Signal.IMAGEFS: "ephemeral-storage",
    Signal.CONTAINERFS: "ephemeral-storage",
    Signal.NODEFS_INODES: "inodes",
    Signal.IMAGEFS_INODES: "inodes",
    Signal.CONTAINERFS_INODES: "inodes",
    Signal.PID: "pids",
}
"""The resource named in events and messages."""

CONDITION_OF: Mapping[str, str] = {
    "memory": "MemoryPressure",
    "ephemeral-storage": "DiskPressure",
    "inodes": "DiskPressure",
    "pids": "PIDPressure",
}
"""The node condition that a starved resource turns on."""


class Pressure(msgspec.Struct, frozen=True):
    """A node condition of its own making: the reasons it gives, and the taint that keeps new pods away."""

    insufficient: str
    """The reason while the condition is True."""
    sufficient: str
    taint: str
    """Effect NoSchedule: it repels, it does not evict."""


PRESSURES: Mapping[str, Pressure] = {
    "MemoryPressure": Pressure(
        "KubeletHasInsufficientMemory", "KubeletHasSufficientMemory", "node.kubernetes.io/memory-pressure"
    ),
    "DiskPressure": Pressure(
        "KubeletHasDiskPressure", "KubeletHasNoDiskPressure", "node.kubernetes.io/disk-pressure"
    ),
    "PIDPressure": Pressure(
        "KubeletHasInsufficientPID", "KubeletHasSufficientPID", "node.kubernetes.io/pid-pressure"
    ),
}

DEFAULT_HARD: Mapping[str, str] = {
    "memory.available": "100Mi",
    "nodefs.available": "10%",
    "nodefs.inodesFree": "5%",
    "imagefs.available": "15%",
    "imagefs.inodesFree": "5%",
}
"""What a kubelet uses when `evictionHard` is not given at all."""


class ThresholdError(ValueError):
    """Not a threshold; the text is the kubelet's own."""


class Amount(msgspec.Struct, frozen=True):
    """An absolute quantity, or a fraction of capacity (already rounded to 32 bits)."""

    quantity: Quantity | None = None
    fraction: float = 0.0

    def of(self, capacity: Quantity) -> Quantity:
        """The amount in force for this capacity."""
        if self.quantity is not None:
            return self.quantity
        return quantity_of(int(float(capacity.value()) * self.fraction), like=Format.BINARY_SI)


class Threshold(msgspec.Struct, frozen=True):
    """Pressure begins when what is available falls below `value`; hard without grace, soft with it."""

    signal: Signal
    value: Amount
    grace_seconds: float = 0.0
    min_reclaim: Amount | None = None

    @property
    def is_hard(self) -> bool:
        return self.grace_seconds == 0

    @property
    def resource(self) -> str:
        return RESOURCE_OF[self.signal]


def hard_settings(given: Mapping[str, str] | None, *, merge_defaults: bool = False) -> dict[str, str]:
    """The `evictionHard` in force: defaults only when none is given, or when merging is asked for."""
    if not given:
        return dict(DEFAULT_HARD)
    return {**DEFAULT_HARD, **given} if merge_defaults else dict(given)


def parse_thresholds(
    hard: Mapping[str, str],
    *,
    soft: Mapping[str, str] | None = None,
    soft_grace: Mapping[str, str] | None = None,
    min_reclaim: Mapping[str, str] | None = None,
    enforce_pods: bool = True,
) -> tuple[Threshold, ...]:
    """All thresholds a kubelet acts on, the copy for the pods' own cgroup included."""
    reclaim = {_signal(name): _reclaim(name, text) for name, text in (min_reclaim or {}).items()}
    graces = {_signal(name): parse_duration(text) for name, text in (soft_grace or {}).items()}
    found: list[Threshold] = []
    for name, text in hard.items():
        if (value := _value(name, text)) is not None:
            found.append(Threshold(_signal(name), value, 0.0, reclaim.get(_signal(name))))
    for name, text in (soft or {}).items():
        signal = _signal(name)
        if (value := _value(name, text)) is None:
            continue
        if signal not in graces:
            raise ThresholdError(f"grace period must be specified for the soft eviction threshold {name}")
        found.append(Threshold(signal, value, graces[signal], reclaim.get(signal)))
    if enforce_pods:
        found += [
            Threshold(Signal.ALLOCATABLE_MEMORY, t.value, 0.0, t.min_reclaim)
            for t in found
            if t.signal is Signal.MEMORY and t.is_hard
        ]
    return tuple(found)


def float32(number: float) -> float:
    """The nearest 32-bit float, as a Python number."""
    rounded: float = struct.unpack("f", struct.pack("f", number))[0]
    return rounded


def parse_duration(text: str) -> float:
    """A Go duration (`1m30s`, `500ms`) in seconds."""
    if text in {"0", "+0", "-0"}:
        return 0.0
    if not re.fullmatch(r"[+-]?(?:(?:\d+\.?\d*|\.\d+)(?:ns|us|µs|ms|s|m|h))+", text):
        raise ThresholdError(f'time: invalid duration "{text}"')
    seconds = sum(
        float(number) * _UNITS[unit]
        for number, unit in re.findall(r"(\d+\.?\d*|\.\d+)(ns|us|µs|ms|s|m|h)", text)
    )
    if text.startswith("-"):
        raise ThresholdError(f"invalid eviction grace period specified: {text}, must be a positive value")
    return seconds


_UNITS = {"ns": 1e-9, "us": 1e-6, "µs": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0}


def _signal(name: str) -> Signal:
    try:
        return Signal(name)
    except ValueError:
        raise ThresholdError(f"unsupported eviction signal {name}") from None


def _value(name: str, text: str) -> Amount | None:
    _signal(name)
    if text in {"0%", "100%"}:
        return None
    if text.endswith("%"):
        fraction = _fraction(text)
        if fraction < 0:
            raise ThresholdError(f"eviction percentage threshold {name} must be >= 0%: {text}")
        if fraction > 1:
            raise ThresholdError(f"eviction percentage threshold {name} must be <= 100%: {text}")
        return Amount(fraction=fraction)
    quantity = parse_quantity(text)
    if not quantity.is_positive():
        raise ThresholdError(f"eviction threshold {name} must be positive: {quantity}")
    return Amount(quantity=quantity)


def _reclaim(name: str, text: str) -> Amount:
    if text.endswith("%"):
        fraction = _fraction(text)
        if fraction <= 0:
            raise ThresholdError(f"eviction percentage minimum reclaim {name} must be positive: {text}")
        return Amount(fraction=fraction)
    quantity = parse_quantity(text)
    if quantity.nano < 0:
        raise ThresholdError(f"negative eviction minimum reclaim specified for {name}")
    return Amount(quantity=quantity)


def _fraction(text: str) -> float:
    number = text.rstrip("%")
    if not re.fullmatch(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?", number):
        raise ThresholdError(f'strconv.ParseFloat: parsing "{number}": invalid syntax')
    return float32(float32(float(number)) / 100)
