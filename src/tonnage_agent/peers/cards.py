"""The RDMA cards a pod can see, named before the command starts.

Their speed is not measured: that needs the card's own library. But a port that is down, or trained to a fraction of
what its neighbour has, is the usual reason for a gang that is ten times slower than planned, and the kernel says so.
"""

from __future__ import annotations

import os
import re

from tonnage_agent.sampling.files import Place, text

_RATE = re.compile(r"([\d.]+)\s*Gb/sec")
_ACTIVE = "ACTIVE"


def cards_line(sys: Place = "/sys") -> str:
    """The ports with their rate and, where they are not up, their state; empty where there are none."""
    ports = [_port(f"{sys}/class/infiniband", card, port) for card, port in _ports(f"{sys}/class/infiniband")]
    if not ports:
        return ""
    down = [f"{name} is {state}" for name, state, _ in ports if state != _ACTIVE]
    rates = {rate for _, state, rate in ports if state == _ACTIVE and rate is not None}
    slow = [
        f"{name} is slow: {rate:g} of {max(rates):g} Gb/s"
        for name, state, rate in ports
        if state == _ACTIVE and rate is not None and rate < max(rates)
    ]
    names = ", ".join(name for name, state, _ in ports if state == _ACTIVE)
    speed = f" at {max(rates):g} Gb/s" if rates else ""
    good = f"{names}{speed}, not measured" if names else "no port is up"
    return "; ".join([f"RDMA {good}", *down, *slow])


def _ports(cards: str) -> list[tuple[str, str]]:
    return [(card, port) for card in _entries(cards) for port in _entries(f"{cards}/{card}/ports")]


def _port(cards: str, card: str, port: str) -> tuple[str, str, float | None]:
    """Name, state (`ACTIVE`, `DOWN`, `INIT`, ...) and Gb/s of one port."""
    folder = f"{cards}/{card}/ports/{port}"
    state = (text(f"{folder}/state") or "").strip().rpartition(" ")[2] or "unknown"
    rate = _RATE.search(text(f"{folder}/rate") or "")
    return f"{card}/{port}", state, float(rate[1]) if rate else None


def _entries(folder: str) -> list[str]:
    try:
        return sorted(os.listdir(folder))
    except OSError:
        return []
