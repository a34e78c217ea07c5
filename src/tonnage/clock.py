"""Time as an argument: nothing below the edge asks the wall what time it is."""

from __future__ import annotations

import datetime as dt
import time
from typing import Protocol

from tonnage_agent.steady import SteadyClock as Seconds


class Clock(Protocol):
    """Where `now` comes from; the edge passes one in."""

    def now(self) -> dt.datetime: ...

    def sleep(self, seconds: float) -> None: ...


class SystemClock:
    """The machine's own clock, in UTC."""

    def now(self) -> dt.datetime:
        return dt.datetime.now(dt.UTC)

    def sleep(self, seconds: float) -> None:
        time.sleep(seconds)


class SteadyClock:
    """The machine's clock as it was when this was made: setting it later moves nothing."""

    def __init__(self, seconds: Seconds | None = None) -> None:
        self._steady = seconds or Seconds()

    def now(self) -> dt.datetime:
        return dt.datetime.fromtimestamp(self._steady.now(), dt.UTC)

    def sleep(self, seconds: float) -> None:
        time.sleep(seconds)


class ManualClock:
    """A clock that moves only when told to; sleeping moves it."""

    def __init__(self, start: dt.datetime) -> None:
        self._now = start

    def now(self) -> dt.datetime:
        return self._now

    def sleep(self, seconds: float) -> None:
        self._now += dt.timedelta(seconds=seconds)
