"""The check of the peers in a thread of its own, so that a signal meanwhile is heard; and the cards there are."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import replace

from tonnage_agent.peers.cards import cards_line
from tonnage_agent.peers.checking import Asked, Verdict, check_peers
from tonnage_agent.peers.listening import Identity
from tonnage_agent.settings import Settings


def check(settings: Settings, is_interrupted: Callable[[], bool]) -> Verdict | None:
    """The verdict; None where something else came first."""
    asked = Asked(
        peers=settings.peers,
        me=Identity(settings.run, settings.attempt, settings.node),
        seconds=settings.peers_seconds,
        link_bytes_per_second=settings.link_bytes_per_second,
    )
    found: list[Verdict] = []
    thread = threading.Thread(target=lambda: found.append(check_peers(asked)), daemon=True)
    thread.start()
    while thread.is_alive():
        thread.join(0.1)
        if is_interrupted():
            return None
    if found and (cards := cards_line()):
        return replace(found[0], line=f"{found[0].line}; {cards}")
    return found[0] if found else Verdict(False, True, "the check of the peers failed")
