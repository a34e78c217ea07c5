"""Resources as the scheduler counts them: whole milli-cores, whole bytes, whole devices.

Quantities are rounded up once, when a pod or a node enters the scheduler's books, and from there on
everything is integer arithmetic. That is why 0.1 and 100m are the same cpu, and why scores come out the
same on every machine.
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from tonnage.units import Quantity

SCALAR_PREFIXES = ("hugepages-", "attachable-volumes-")
NOT_DEVICES = "requests."


class Vector(msgspec.Struct):
    """An amount of every resource the scheduler knows. Changed in place; copy before sharing."""

    cpu: int = 0
    """Thousandths of a core."""
    memory: int = 0
    storage: int = 0
    """Ephemeral storage, bytes."""
    scalars: dict[str, int] = msgspec.field(default_factory=dict)
    """Devices, huge pages: whatever else has a name of its own."""

    def add(self, other: Vector) -> None:
        self.cpu += other.cpu
        self.memory += other.memory
        self.storage += other.storage
        for name, amount in other.scalars.items():
            self.scalars[name] = self.scalars.get(name, 0) + amount

    def take(self, other: Vector) -> None:
        self.cpu -= other.cpu
        self.memory -= other.memory
        self.storage -= other.storage
        for name, amount in other.scalars.items():
            self.scalars[name] = self.scalars.get(name, 0) - amount

    def copy(self) -> Vector:
        return Vector(self.cpu, self.memory, self.storage, dict(self.scalars))


def vector_of(amounts: Mapping[str, Quantity]) -> Vector:
    """Quantities as integers; resources the scheduler does not know (`storage`, `pods`) are dropped."""
    vector = Vector()
    for name, quantity in amounts.items():
        if name == "cpu":
            vector.cpu = quantity.milli()
        elif name == "memory":
            vector.memory = quantity.value()
        elif name == "ephemeral-storage":
            vector.storage = quantity.value()
        elif is_scalar(name):
            vector.scalars[name] = quantity.value()
    return vector


def is_scalar(name: str) -> bool:
    """Whether a resource is counted under its own name: devices, huge pages, attachable volumes."""
    return name.startswith(SCALAR_PREFIXES) or ("/" in name and not name.startswith(NOT_DEVICES))
