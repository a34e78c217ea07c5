"""What the launcher has said, read once from the environment. Everything may be absent: a script with the SDK also
runs by hand, on a laptop, without an agent.

A launcher's variable wins over what the script itself says: the script states its wish, the launcher knows the place.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Callable, TypeVar

from tonnage_agent import contract

Value = TypeVar("Value")
_RANKS = ("RANK", "OMPI_COMM_WORLD_RANK", "PMI_RANK", "SLURM_PROCID")
_WORLDS = ("WORLD_SIZE", "OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_NTASKS")


class SettingError(ValueError):
    """A variable holds something that cannot be meant."""


@dataclass(frozen=True)
class Settings:
    """One process' part of the contract."""

    run: str = ""
    attempt: int | None = None
    rank: int = 0
    world: int = 1
    num_nodes: int = 1
    socket: str = ""
    control: str = ""
    checkpoints: str = ""
    every: float | None = None
    """Seconds between checkpoints; None means the optimum."""
    keep: int = 3
    verify: bool = True
    failure_seconds: float | None = None
    grace_seconds: float = 30.0
    deadline: float | None = None
    probe_steps: int | None = None


def read_settings(
    environment: Mapping[str, str],
    *,
    checkpoints: str = "",
    every: float | str = "auto",
    keep: int = 3,
    verify: bool = True,
) -> Settings:
    """The variables of `contract`, over what the script says."""
    rank, world = _place_in_world(environment)
    return Settings(
        run=environment.get(contract.RUN, ""),
        attempt=_read(environment, contract.ATTEMPT, _whole, None),
        rank=rank,
        world=world,
        num_nodes=_read(environment, contract.NODES, _whole, 1) or 1,
        socket=environment.get(contract.SOCKET, ""),
        control=environment.get(contract.CONTROL, ""),
        checkpoints=environment.get(contract.CHECKPOINTS, "") or checkpoints,
        every=_read(environment, contract.CHECKPOINT_EVERY, read_interval, read_interval(str(every))),
        keep=_read(environment, contract.CHECKPOINT_KEEP, _whole, keep),
        verify=_read(environment, contract.CHECKPOINT_VERIFY, _flag, verify),
        failure_seconds=_read(environment, contract.FAILURE_SECONDS, _positive, None),
        grace_seconds=_read(environment, contract.GRACE_SECONDS, _seconds, 30.0),
        deadline=_read(environment, contract.DEADLINE, _seconds, None),
        probe_steps=_read(environment, contract.PROBE_STEPS, _whole, None) or None,
    )


def read_interval(text: str) -> float | None:
    """Seconds, or None for `auto`.

    >>> read_interval("auto"), read_interval("90")
    (None, 90.0)
    """
    return None if text.strip() == "auto" else _seconds(text)


def _place_in_world(environment: Mapping[str, str]) -> tuple[int, int]:
    """Rank and number of processes: the launcher's of the framework, else this pod's index in the gang."""
    for rank, world in zip(_RANKS, _WORLDS):
        if environment.get(rank, "") and environment.get(world, ""):
            return _read(environment, rank, _whole, 0), max(_read(environment, world, _whole, 1), 1)
    if environment.get("TF_CONFIG"):
        return _from_tensorflow(environment["TF_CONFIG"])
    num_nodes = _read(environment, contract.NODES, _whole, 1) or 1
    index = contract.NODE if environment.get(contract.NODE) else "JOB_COMPLETION_INDEX"
    return (_read(environment, index, _whole, 0), num_nodes) if num_nodes > 1 else (0, 1)


def _from_tensorflow(text: str) -> tuple[int, int]:
    """TensorFlow's cluster: the chief is rank 0, workers follow."""
    try:
        values = json.loads(text)
        cluster, task = values["cluster"], values["task"]
        chiefs = len(cluster.get("chief", ())) + len(cluster.get("master", ()))
        index = int(task["index"]) + (chiefs if task["type"] == "worker" else 0)
        return index, max(chiefs + len(cluster.get("worker", ())), 1)
    except (ValueError, KeyError, TypeError, AttributeError):
        return 0, 1


def _read(environment: Mapping[str, str], name: str, read: Callable[[str], Value], default: Value) -> Value:
    text = environment.get(name, "").strip()
    if not text:
        return default
    try:
        return read(text)
    except ValueError as error:
        raise SettingError(f"{name} is {text!r}: {error}") from None


def _whole(text: str) -> int:
    if not text.isdecimal():
        raise ValueError("expected a whole number from 0")
    return int(text)


def _seconds(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        raise ValueError("expected seconds, such as 90") from None
    if not 0 <= value < float("inf"):
        raise ValueError("expected seconds from 0")
    return value


def _positive(text: str) -> float:
    value = _seconds(text)
    if value == 0:
        raise ValueError("expected more than 0 seconds")
    return value


def _flag(text: str) -> bool:
    if text.lower() in ("1", "true", "yes", "on"):
        return True
    if text.lower() in ("0", "false", "no", "off"):
        return False
    raise ValueError("expected true or false")
