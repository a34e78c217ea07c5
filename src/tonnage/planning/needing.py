"""RAM, /dev/shm, disk and cores of one pod: needed, asked for, granted, and there on a node.

What a person wrote is granted as written and compared with the need; what was left to us is granted as
needed. Below the need a pod is killed (memory) or evicted (disk), so that is said as loudly as a GPU that is too
small. With fewer cores it is slower and nothing else: that has a price (`waiting`) and is no obstacle.
"""

from __future__ import annotations

from typing import Literal

from tonnage.cluster.resources import amounts
from tonnage.planning.answers import Need, State
from tonnage.planning.catalogue import Offer
from tonnage.planning.sources import Figure, PodFigures
from tonnage.planning.workload import Role

Name = Literal["memory", "shm", "disk", "cpu"]
RESOURCES: dict[Name, str] = {"memory": "memory", "disk": "ephemeral-storage", "cpu": "cpu"}
DEFAULT_SHM = 64 * 2**20
"""What a container runtime gives /dev/shm when nothing is mounted there."""
TIGHT = 0.9


def needs_of(
    role: Role, figures: PodFigures, offer: Offer | None, *, leaves_shm_to_us: bool
) -> tuple[Need, ...]:
    """The four needs of a role's pod, those of which nothing is known left out."""
    found = [
        _need(name, role, figures, offer, leaves_shm_to_us=leaves_shm_to_us)
        for name in ("memory", "shm", "disk", "cpu")
    ]
    return tuple(need for need in found if need is not None)


def amounts_to_fill(needs: tuple[Need, ...]) -> dict[str, str]:
    """What to write into a pod that leaves it to us, as Kubernetes quantities."""
    filled: dict[str, str] = {}
    for need in needs:
        if need.name == "shm" or need.asked is not None or need.granted is None:
            continue
        resource = RESOURCES[need.name]
        filled[resource] = f"{need.granted}m" if need.name == "cpu" else str(need.granted)
    return filled


def asked_of(role: Role, resource: str) -> int | None:
    """The limit (or request) the training container names, in bytes or thousandths of a core."""
    chosen = _trainer(role)
    for container in role.pod.spec.containers:
        if container.name != chosen:
            continue
        said = amounts(container.resources.limits) or {}
        said = {**amounts(container.resources.requests), **said}
        if resource in said:
            return said[resource].milli() if resource == "cpu" else said[resource].value()
    return None


def cpu_given(role: Role) -> tuple[int | None, bool]:
    """Cores the training container may use, in thousandths, and whether a limit holds it to them."""
    for container in role.pod.spec.containers:
        if container.name == _trainer(role):
            limits, requests = amounts(container.resources.limits), amounts(container.resources.requests)
            said = limits.get("cpu") or requests.get("cpu")
            return (None if said is None else said.milli()), "cpu" in limits
    return None, False


def _trainer(role: Role) -> str:
    names = [container.name for container in role.pod.spec.containers]
    return role.container if role.container in names else (names[0] if names else "")


def _need(
    name: Name, role: Role, figures: PodFigures, offer: Offer | None, *, leaves_shm_to_us: bool
) -> Need | None:
    figure = figures.figures.get(name)
    asked = _asked(name, role, leaves_shm_to_us)
    if figure is None and asked is None:
        return None
    needed = figure.amount if figure else None
    there = _there(name, offer)
    granted = asked if asked is not None else needed
    gpu_share = role.gpus.count / offer.per_node if offer and role.gpus.count else None
    share = granted / there if granted is not None and there else None
    return Need(
        name=name,
        needed=needed,
        asked=asked,
        granted=granted,
        limit=figure.limit if figure else None,
        there=there,
        state="tight" if _is_bare_shm(name, role, figure, asked) else _state(name, needed, asked, there),
        parts=figure.parts if figure else (),
        gpu_share=gpu_share,
        share=share,
        text=figure.text if figure else _without_figure(name, role, asked),
    )


def _is_bare_shm(name: Name, role: Role, figure: Figure | None, asked: int | None) -> bool:
    """Whether /dev/shm is the runtime's own in a pod that most likely needs more."""
    return name == "shm" and figure is None and asked == DEFAULT_SHM and role.gpus.count > 0


def _without_figure(name: Name, role: Role, asked: int | None) -> str:
    if _is_bare_shm(name, role, None, asked):
        return "the runtime's default; loader workers and ranks of one pod need more: mount an emptyDir of memory there"
    return ""


def _asked(name: Name, role: Role, leaves_shm_to_us: bool) -> int | None:
    if name != "shm":
        return asked_of(role, RESOURCES[name])
    if role.shm_bytes is not None:
        return role.shm_bytes
    return None if leaves_shm_to_us else DEFAULT_SHM


def _there(name: Name, offer: Offer | None) -> int | None:
    if offer is None:
        return None
    return {"memory": offer.memory, "shm": offer.memory, "disk": offer.disk, "cpu": offer.cpu}[name]


def _state(name: Name, needed: int | None, asked: int | None, there: int | None) -> State:
    granted = asked if asked is not None else needed
    if there is not None and granted is not None and granted > there:
        return "does not fit"
    if needed is None:
        return "set" if there is None else "fits"
    if asked is not None and asked < needed:
        return "slow" if name == "cpu" else "does not fit"
    if there is None:
        return "set"
    return "tight" if asked is not None and needed > TIGHT * asked and asked != needed else "fits"
