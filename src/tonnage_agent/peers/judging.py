"""What the measured links say, in one line: all is well, or which node or link is slow. Pure.

A link is slow when it moves less than half of what it should: half of what the plan assumed, as far as one TCP stream
of this agent can show that much, or half of the median of all links. A node is blamed when all its links of one
direction (two or more) are slow; its neighbours then have a fast one left. Otherwise the link is named.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

SLOW = 0.5
Links = Mapping[tuple[int, int], float]
"""Bytes per second from one node to another."""


def judge(
    links: Links, round_trips: Sequence[float], *, assumed: float | None = None, ceiling: float | None = None
) -> tuple[bool, str]:
    """Whether all is well, and the line. `ceiling`: the most this agent can measure."""
    if not links:
        return True, "no links measured"
    rates = sorted(links.values())
    median = rates[len(rates) // 2]
    wanted = [median] if len(rates) > 2 else []
    if assumed is not None:
        # Both ends of a real link are busier than the two ends on one machine that gave the ceiling.
        wanted.append(min(assumed, ceiling / 2) if ceiling is not None else assumed)
    limit = SLOW * max(wanted, default=0.0)
    slow = {link for link, rate in links.items() if rate < limit}
    plan = f", plan {_rate(assumed)}" if assumed is not None else ""
    trip = f", round trip {sorted(round_trips)[len(round_trips) // 2] * 1e3:.2g} ms" if round_trips else ""
    if not slow:
        shown = (
            f" (as fast as this check can tell{plan})"
            if ceiling and assumed and assumed > ceiling / 2
            else plan
        )
        return True, f"links {_rate(rates[0])} to {_rate(rates[-1])}{trip}{shown}"
    if len(slow) == len(links):
        return False, f"all links are slow: {_rate(rates[0])} to {_rate(rates[-1])}{plan}{trip}"
    healthy = sorted(rate for link, rate in links.items() if link not in slow)
    others = f"others {_rate(healthy[len(healthy) // 2])}{plan}"
    nodes = slow_nodes(links, slow)
    if nodes:
        told = "; ".join(f"node {node} is slow: {_rate(_worst(links, slow, node))}" for node in nodes)
        return False, f"{told} ({others})"
    told = "; ".join(f"node {a} to node {b}: {_rate(links[a, b])}" for a, b in sorted(slow))
    return False, f"slow link, {told} ({others})"


def slow_nodes(links: Links, slow: set[tuple[int, int]]) -> list[int]:
    """Nodes all of whose links of one direction are slow, where that singles them out."""
    blamed = []
    for node in sorted({node for link in links for node in link}):
        for side in (0, 1):
            own = [link for link in links if link[side] == node]
            if len(own) > 1 and all(link in slow for link in own):
                blamed.append(node)
                break
    return blamed


def _worst(links: Links, slow: set[tuple[int, int]], node: int) -> float:
    return min(links[link] for link in slow if node in link)


def _rate(bytes_per_second: float) -> str:
    for unit, size in (("GB/s", 1e9), ("MB/s", 1e6), ("kB/s", 1e3)):
        if bytes_per_second >= size:
            return f"{bytes_per_second / size:.3g} {unit}"
    return f"{bytes_per_second:.0f} B/s"
