"""The check of the peers in a thread, so that a signal meanwhile is heard."""

from __future__ import annotations

import threading

from tonnage_agent.peers.checking import Asked, Verdict, check_peers
from tonnage_agent.peers.listening import Identity
from tonnage_agent.settings import Settings


class PeersCheck:
    """Begun when made."""

    def __init__(self, settings: Settings) -> None:
        self.verdict = Verdict(False, True, "the check of the peers ended early")
        self._asked = Asked(
            peers=settings.peers,
            me=Identity(settings.run, settings.attempt, settings.node),
            seconds=settings.peers_seconds,
            link_bytes_per_second=settings.link_bytes_per_second,
        )
        self._thread = threading.Thread(target=self._check, daemon=True)
        self._thread.start()

    def is_running(self, seconds: float) -> bool:
        """Whether it still runs after so long."""
        self._thread.join(seconds)
        return self._thread.is_alive()

    def _check(self) -> None:
        self.verdict = check_peers(self._asked)
