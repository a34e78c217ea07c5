"""What the agent answers on its port: the newest record, the newest samples, and all of it as metrics.

The loop leaves here what it wrote down last; the server's threads read that and nothing else. One thing can be asked
for: a checkpoint.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping

from tonnage_agent.record import Record
from tonnage_agent.settings import Settings
from tonnage_agent.walls import Wall, cost_so_far

KEPT_SAMPLES = 120


class Answers:
    """The newest of everything, for whoever asks."""

    def __init__(
        self,
        settings: Settings,
        wall: Wall | None,
        begun: float,
        now: Callable[[], float],
        ask_save: Callable[[], None],
    ) -> None:
        self._settings, self._wall, self._begun = settings, wall, begun
        self._now, self._ask_save = now, ask_save
        self._newest: tuple[Record, Mapping[str, object]] = (Record(), {})
        self._samples: deque[str] = deque(maxlen=KEPT_SAMPLES)

    def leave(self, record: Record, counters: Mapping[str, object], sample: str) -> None:
        """The newest, from the loop."""
        self._newest = (record, counters)
        self._samples.append(sample)

    def serve(self) -> str:
        """Open the port, where one was asked for; what to say where that fails."""
        port = self._settings.metrics_port
        if not port:
            return ""
        from tonnage_agent.serving import Server

        try:
            Server(
                port,
                self.metrics,
                {"/record": self.record, "/samples": self.samples},
                {"/save": self._ask_save},
            )
        except OSError as error:
            return f"no metrics on port {port}: {error.strerror}"
        return ""

    def record(self) -> str:
        return self._newest[0].as_text()

    def samples(self) -> str:
        """The last ones, a JSON object a line."""
        return "".join(f"{line}\n" for line in self._samples.copy())

    def metrics(self) -> str:
        from tonnage_agent.metrics import exposition

        settings, cost = self._settings, None
        if settings.price_per_hour:
            cost = cost_so_far(self._now() - self._begun, settings.spent, settings.price_per_hour)
        record, counters = self._newest
        return exposition(record, counters, cost=cost, wall=self._wall.at if self._wall else None)
