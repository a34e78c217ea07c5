"""What the solver asks about a setup, and the answers it compares.

Whoever calls the solver brings a judge: the shape ledger answers in milliseconds, a traced step in seconds,
a test at once. The solver relies on one law only: with everything else equal, a larger micro-batch never
needs less memory.
"""

from __future__ import annotations

from typing import Protocol

import msgspec

from tonnage.planning.solver.setup import Devices, Setup


class Room(msgspec.Struct, frozen=True):
    """What one GPU must hold, and what it can."""

    required: int
    usable: int

    @property
    def head_room(self) -> int:
        return self.usable - self.required

    @property
    def fits(self) -> bool:
        return self.head_room >= 0


class Judge(Protocol):
    """Answers about setups; each may be asked more than once."""

    def room(self, setup: Setup) -> Room | None:
        """What a GPU must hold; None where this setup cannot be judged."""

    def is_hopeless(self, setup: Setup) -> bool:
        """Whether it surely does not fit, as far as that can be told at little cost."""

    def seconds(self, setup: Setup) -> float | None:
        """How long one optimizer step takes; None where it is not known."""

    def rate(self, devices: Devices) -> int | None:
        """Micro-dollars per hour of the devices together; None where there is no price."""

    def obstacle(self, setup: Setup) -> str | None:
        """Why it could not run although GPU memory would do (RAM of the nodes, no such nodes)."""


class Outcome(msgspec.Struct, frozen=True):
    """A setup and everything the choice is made by."""

    setup: Setup
    room: Room
    seconds: float | None
    rate: int | None

    @property
    def cost(self) -> float:
        """Micro-dollars per optimizer step; GPU-seconds where there is no price; 0 where time is unknown."""
        if self.seconds is None:
            return 0.0
        if self.rate is None:
            return self.seconds * self.setup.devices.count
        return self.rate * self.seconds / 3600

    @property
    def rank(self) -> tuple[bool, float, int, int]:
        """The order of preference: priced first, cheapest step, fewer GPUs, more head-room."""
        return (self.rate is None, self.cost, self.setup.devices.count, -self.room.head_room)


class Remembering:
    """A judge that is asked each question once."""

    def __init__(self, judge: Judge) -> None:
        self._judge = judge
        self._rooms: dict[Setup, Room | None] = {}
        self._seconds: dict[Setup, float | None] = {}
        self._rates: dict[Devices, int | None] = {}
        self._obstacles: dict[Setup, str | None] = {}

    def room(self, setup: Setup) -> Room | None:
        if setup not in self._rooms:
            self._rooms[setup] = self._judge.room(setup)
        return self._rooms[setup]

    def is_hopeless(self, setup: Setup) -> bool:
        known = self._rooms.get(setup)
        return not known.fits if known is not None else self._judge.is_hopeless(setup)

    def seconds(self, setup: Setup) -> float | None:
        if setup not in self._seconds:
            self._seconds[setup] = self._judge.seconds(setup)
        return self._seconds[setup]

    def rate(self, devices: Devices) -> int | None:
        if devices not in self._rates:
            self._rates[devices] = self._judge.rate(devices)
        return self._rates[devices]

    def obstacle(self, setup: Setup) -> str | None:
        if setup not in self._obstacles:
            self._obstacles[setup] = self._judge.obstacle(setup)
        return self._obstacles[setup]

    def outcome(self, setup: Setup) -> Outcome | None:
        """All answers about a setup, whether it fits or not."""
        room = self.room(setup)
        return None if room is None else self.outcome_in(room, setup)

    def outcome_in(self, room: Room, setup: Setup) -> Outcome:
        """The same where its room is known: time is asked for only here."""
        return Outcome(setup, room, self.seconds(setup), self.rate(setup.devices))
