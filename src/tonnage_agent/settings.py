"""The agent's settings: one place that reads the environment, once, and names every mistake at once.

Everything is optional. A mistake is not guessed away: a deadline that cannot be read would be a deadline that is not
kept, so the agent says what is wrong and ends with a code of its own before the command starts.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from tonnage_agent import contract

DEFAULT_GRACE = 30.0
"""What Kubernetes gives a pod that says nothing."""
PROBE_SAMPLE_SECONDS = 0.2
"""A probe is short, and made to measure."""


class SettingsError(Exception):
    """One or more variables hold something else than they should; the text has a line for each."""


@dataclass(frozen=True)
class Settings:
    """What the launcher asked for; see `contract` for each name."""

    run: str = ""
    attempt: int = 1
    node: int = 0
    nodes: int = 1
    record: str = ""
    termination_message: str = ""
    socket: str = ""
    control: str = ""
    asked: str = ""
    sample_seconds: float = 1.0
    step_pattern: str = ""
    memory_limit: int | None = None
    metrics_port: int = 0
    checkpoints: str = ""
    grace_seconds: float = DEFAULT_GRACE
    deadline: float | None = None
    seconds_left: float | None = None
    price_per_hour: int = 0
    budget: int | None = None
    spent: int = 0
    peers: tuple[str, ...] = ()
    peers_seconds: float = 300.0
    link_bytes_per_second: float | None = None
    probe_steps: int | None = None

    def deadline_from(self, begun: float) -> float | None:
        """The moment by which it must have ended, for an agent that began at `begun`."""
        told = (self.deadline, None if self.seconds_left is None else begun + self.seconds_left)
        return min((at for at in told if at is not None), default=None)

    @property
    def reserve_seconds(self) -> float:
        """The part of the grace period the agent keeps for its own last words."""
        return reserve_of(self.grace_seconds)


def reserve_of(grace_seconds: float) -> float:
    """Of a grace period, what the agent keeps for its own last words.

    >>> reserve_of(30), reserve_of(1)
    (2.0, 0.1)
    """
    return min(2.0, grace_seconds / 10)


def read_settings(environment: Mapping[str, str]) -> Settings:
    """Settings from variables; raises SettingsError with all mistakes."""
    found: dict[str, Any] = {}
    wrong: list[str] = []
    for field, variable, reader, expected in _TABLE:
        written = environment.get(variable, "").strip()
        if not written:
            continue
        try:
            found[field] = reader(written)
        except (ValueError, re.error) as error:
            detail = f" ({error})" if isinstance(error, re.error) else ""
            wrong.append(f"{variable}: found {written!r}; expected {expected}{detail}")
    peers, node = found.get("peers", ()), found.get("node", 0)
    if peers and node >= len(peers):
        wrong.append(
            f"{contract.PEERS}: lists {len(peers)} pods; this one is {contract.NODE}={node}, counted from 0"
        )
    if "probe_steps" in found:
        found.setdefault("sample_seconds", PROBE_SAMPLE_SECONDS)
    if wrong:
        raise SettingsError("\n".join(wrong))
    return Settings(**found)


def _count(text: str) -> int:
    if not text.isdecimal():
        raise ValueError
    return int(text)


def _positive(text: str) -> float:
    value = float(text)
    if not 0 < value < float("inf"):
        raise ValueError
    return value


def _not_negative(text: str) -> float:
    value = float(text)
    if not 0 <= value < float("inf"):
        raise ValueError
    return value


def _port(text: str) -> int:
    port = _count(text)
    if port > 65535:
        raise ValueError
    return port


def _pattern(text: str) -> str:
    if "step" not in re.compile(text).groupindex:
        raise ValueError
    return text


def _peers(text: str) -> tuple[str, ...]:
    peers = tuple(part.strip() for part in text.split(",") if part.strip())
    for peer in peers:
        host, colon, port = peer.rpartition(":")
        if not colon or not host or not _port(port) > 0:
            raise ValueError
    return peers


_TABLE: tuple[tuple[str, str, Callable[[str], Any], str], ...] = (
    ("run", contract.RUN, str, "a name"),
    ("attempt", contract.ATTEMPT, _count, "a whole number"),
    ("node", "JOB_COMPLETION_INDEX", _count, "a whole number"),
    ("node", contract.NODE, _count, "a whole number from 0"),
    ("nodes", contract.NODES, _count, "a whole number"),
    ("record", contract.RECORD, str, "a folder or s3://bucket/prefix"),
    ("termination_message", contract.TERMINATION_MESSAGE, str, "a file"),
    ("socket", contract.SOCKET, str, "a path"),
    ("control", contract.CONTROL, str, "a path"),
    ("asked", contract.ASKED, str, "a path"),
    ("sample_seconds", contract.SAMPLE_SECONDS, _positive, "seconds, more than 0"),
    ("step_pattern", contract.STEP_PATTERN, _pattern, "a regular expression with a group (?P<step>...)"),
    ("memory_limit", contract.MEMORY_LIMIT, _count, "bytes as a whole number"),
    ("metrics_port", contract.METRICS_PORT, _port, "a port from 1 to 65535, or 0 for none"),
    ("checkpoints", contract.CHECKPOINTS, str, "a folder or s3://bucket/prefix"),
    ("grace_seconds", contract.GRACE_SECONDS, _not_negative, "seconds"),
    ("deadline", contract.DEADLINE, _positive, "seconds since 1970"),
    ("seconds_left", contract.SECONDS_LEFT, _not_negative, "seconds"),
    ("price_per_hour", contract.PRICE_PER_HOUR, _count, "micro-dollars as a whole number"),
    ("budget", contract.BUDGET, _count, "micro-dollars as a whole number"),
    ("spent", contract.SPENT, _count, "micro-dollars as a whole number"),
    ("peers", contract.PEERS, _peers, "host:port,host:port,... of all pods in order"),
    ("peers_seconds", contract.PEERS_SECONDS, _positive, "seconds, more than 0"),
    ("probe_steps", contract.PROBE_STEPS, _count, "a whole number of steps"),
    ("link_bytes_per_second", contract.LINK_BYTES_PER_SECOND, _positive, "bytes per second"),
)
