"""A change of size with its reason."""

from __future__ import annotations

from dataclasses import dataclass

from tonnage.running.attempts import Size

MIB = 2**20


@dataclass(frozen=True, slots=True)
class Cure:
    """The next attempt's size, and why it has it."""

    size: Size
    why: str


def up_to_mib(count: float) -> int:
    """Bytes rounded up to whole MiB: what people read and Kubernetes prints.

    >>> up_to_mib(1.0), up_to_mib(2**20)
    (1048576, 1048576)
    """
    return -(-int(-(-count // 1)) // MIB) * MIB
