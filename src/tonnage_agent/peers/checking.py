"""The check of the peers, from opening our port to closing it.

    reach all --> everybody reached everybody? --> round trips, then a flow around the ring, then one the other way
              --> everybody's figures on everybody's board --> the same line on every node --> the port is closed

Around the ring every node sends to one and receives from one at a time, so no link is measured while another node
uses it. A peer that is missing ends the check: a training would wait for it much longer, with every GPU held. A slow
one is only named. Whoever runs out of time first tells the others why, so all end with the same line.
"""

from __future__ import annotations

import socket
import threading
import time
from dataclasses import dataclass

from tonnage_agent.peers.judging import judge
from tonnage_agent.peers.listening import Board, Identity, Listener
from tonnage_agent.peers.reaching import Reaching
from tonnage_agent.peers.wire import Bucket, Line

_STEP_SECONDS = 30.0
"""For one measuring step of the slowest peer."""
_MEASURABLE = 500e6
"""Up to this rate one Python process certainly fills a link."""


@dataclass(frozen=True)
class Verdict:
    """What the check found."""

    is_complete: bool
    """Every node reached every other."""
    is_fast: bool
    line: str
    """For people, on one line."""


@dataclass(frozen=True)
class Asked:
    """What to check."""

    peers: tuple[str, ...]
    """`host:port` of all nodes in order."""
    me: Identity
    seconds: float
    """How long to wait for everybody."""
    link_bytes_per_second: float | None = None
    send_rate: float | None = None
    """Send no faster than this: to try what a slow node looks like."""


def check_peers(asked: Asked) -> Verdict:
    """Check all peers; never raises for what the network does."""
    places = {node: _split(peer) for node, peer in enumerate(asked.peers)}
    me = asked.me.node
    if len(places) < 2:
        return Verdict(True, True, "no peers")
    board = Board()
    try:
        listener = _listen(places[me], asked.me, board)
    except OSError as error:
        return Verdict(False, True, f"node {me} cannot open port {places[me][1]}: {error.strerror or error}")
    until = time.monotonic() + asked.seconds
    others = {node: place for node, place in places.items() if node != me}
    reaching = Reaching(others, asked.me, until)
    try:
        missing = _gather(reaching, board, set(others), until, asked)
        return missing if missing is not None else _measure(reaching.lines, board, asked)
    except (OSError, ValueError, KeyError, TypeError) as error:
        return Verdict(False, True, f"a peer went away during the check: {error}")
    finally:
        reaching.close()
        listener.close()


def _gather(reaching: Reaching, board: Board, others: set[int], until: float, asked: Asked) -> Verdict | None:
    """Wait until everybody has reached everybody; a verdict where somebody is missing."""
    while time.monotonic() < until:
        if reaching.wait(0.2):
            break
        if any("missing" in notes for notes in board.read().values()):
            break
    missing = {str(node): why for node, why in reaching.reasons.items()}
    told_missing = [notes for notes in board.read().values() if "missing" in notes]
    if missing and told_missing:
        return Verdict(False, True, str(told_missing[0]["missing"]))
    if missing:
        line = _missing_line(reaching.reasons, others, asked)
        _tell_all(reaching.lines, {"missing": line})
        return Verdict(False, True, line)
    _tell_all(reaching.lines, {"ready": True})
    if not board.wait(others, ("ready", "missing"), until + _STEP_SECONDS - time.monotonic()):
        silent = sorted(node for node in others if "ready" not in board.read().get(node, {}))
        names = ", ".join(f"{node} ({asked.peers[node]})" for node in silent)
        return Verdict(False, True, f"node {names} answers, but does not reach all others")
    for notes in board.read().values():
        if "missing" in notes:
            return Verdict(False, True, str(notes["missing"]))
    return None


def _measure(lines: dict[int, Line], board: Board, asked: Asked) -> Verdict:
    me, count = asked.me.node, len(asked.peers)
    bucket = Bucket(asked.send_rate) if asked.send_rate else None
    nearest = (me + 1) % count
    rates: dict[str, float] = {}
    trip = lines[nearest].round_trip()
    _together(lines, board, "trip")
    rates[str(nearest)] = lines[nearest].flow(bucket)
    if count > 2:
        _together(lines, board, "around")
        previous = (me - 1) % count
        rates[str(previous)] = lines[previous].flow(bucket)
    notes = {"rates": rates, "roundTrip": trip}
    board.put(me, notes)
    _tell_all(lines, notes)
    board.wait(set(lines), ("rates",), _STEP_SECONDS)
    verdict = _verdict(board, asked)
    _together(lines, board, "done")
    return verdict


def _verdict(board: Board, asked: Asked) -> Verdict:
    links: dict[tuple[int, int], float] = {}
    trips = []
    for node, notes in board.read().items():
        for other, rate in notes.get("rates", {}).items():
            links[node, int(other)] = float(rate)
        if "roundTrip" in notes:
            trips.append(float(notes["roundTrip"]))
    assumed = asked.link_bytes_per_second
    ceiling = own_speed() if assumed is not None and assumed > _MEASURABLE else None
    is_fast, line = judge(links, trips, assumed=assumed, ceiling=ceiling)
    return Verdict(True, is_fast, f"all {len(asked.peers)} nodes reach each other; {line}")


def own_speed() -> float:
    """What two ends on this machine move: no link can look faster than that in this check."""
    one, other = socket.socketpair()
    with one, other:
        sender, receiver = Line(one), Line(other)
        taken: list[float] = []
        thread = threading.Thread(target=lambda: taken.append(sender.flow()), daemon=True)
        thread.start()
        receiver.hear()
        receiver.say(receiver.take_flow())
        thread.join()
    return taken[0]


def _together(lines: dict[int, Line], board: Board, name: str) -> None:
    """Go on when everybody is here; without those who do not come."""
    _tell_all(lines, {name: True})
    board.wait(set(lines), (name,), _STEP_SECONDS)


def _tell_all(lines: dict[int, Line], notes: dict[str, object]) -> None:
    for line in lines.values():
        try:
            line.ask({"tell": notes})
        except (OSError, ValueError):
            continue  # gone: whoever waits for it notices


def _missing_line(reasons: dict[int, str], others: set[int], asked: Asked) -> str:
    me, waited = asked.me.node, f"after {asked.seconds:.0f} s"
    if len(reasons) == len(others) and len(others) > 1:
        first = min(reasons)
        return f"node {me} reaches none of its {len(others)} peers {waited}; node {first}: {reasons[first]}"
    told = "; ".join(f"node {node} ({asked.peers[node]}): {why}" for node, why in sorted(reasons.items()))
    return f"missing {waited}, seen from node {me}: {told}"


def _listen(place: tuple[str, int], me: Identity, board: Board) -> Listener:
    """On every address of this pod; on one only where that is a loopback, which gangs of one machine share."""
    host, port = place
    try:
        own = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][4][0]
    except (OSError, UnicodeError):
        own = ""
    address = str(own)
    if address.startswith("127.") or address == "::1":
        return Listener(address, port, me, board)
    try:
        return Listener("::", port, me, board)
    except OSError:
        return Listener("0.0.0.0", port, me, board)


def _split(peer: str) -> tuple[str, int]:
    host, _, port = peer.rpartition(":")
    return host.strip("[]"), int(port)
