"""Where a run's pods would go: now, beside everybody else, and on the same nodes were they empty.

The scheduler's own rules are asked, pod by pod, on a copy of its books, because a gang is placed whole or it
holds GPUs and waits. Two questions are kept apart, since people act differently on them: "not now" means
wait (somebody else holds it), "not even empty" means change the request.

Empty means without the work of others. Daemon pods and static pods stay: no node is ever without them, and
their few cores are what makes a request for all 192 wait for ever.

Pods of one role are alike, so a node is filled with them until it refuses, each node once: a thousand nodes
cost a thousand checks, not a thousand for each pod. Roles whose pods mind each other (affinity, spreading,
volumes that one pod holds) are placed one by one as the scheduler would.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

import msgspec
from msgspec.structs import replace

from tonnage.cluster.objects import Pod, Volume
from tonnage.cluster.scheduling import (
    ClusterView,
    PodFacts,
    Refusal,
    Scheduled,
    Stopped,
    Unschedulable,
    facts_of,
    schedule,
)
from tonnage.cluster.scheduling.cycle import Cycle, filter_nodes, prepare
from tonnage.cluster.scheduling.view import NodeInfo

_STAYING_OWNERS = ("DaemonSet", "Node")


class Wanted(msgspec.Struct, frozen=True):
    """Pods that are alike and how many of them must run together."""

    name: str
    pod: Pod
    count: int


class Gang(msgspec.Struct, frozen=True):
    """An attempt to place all pods of a run together."""

    wanted: int
    places: Mapping[str, int]
    """Node to how many of the pods it would take."""
    feasible: tuple[str, ...] = ()
    """Nodes that would take the first pod of the role that trains."""
    refused: Mapping[str, Refusal] = msgspec.field(default_factory=dict)
    """Why the other nodes would not, in the scheduler's words."""
    message: str = ""
    """What the first pod left over would be told; empty where all are placed."""
    stuck: int = 0
    """Which of the roles has that pod."""
    in_the_way: Mapping[str, Refusal] = msgspec.field(default_factory=dict)
    """Why nodes would not take its first pod."""

    @property
    def placed(self) -> int:
        return sum(self.places.values())

    @property
    def fits(self) -> bool:
        return self.placed >= self.wanted


def place_gang(roles: Sequence[Wanted], view: ClusterView) -> Gang:
    """Place every pod of every role on the view's nodes; the view itself is left as it was."""
    trial = view.copy()
    places: Counter[str] = Counter()
    first: tuple[tuple[str, ...], Mapping[str, Refusal]] | None = None
    message, stuck = "", 0
    in_the_way: Mapping[str, Refusal] = {}
    for number, role in enumerate(roles):
        if role.count == 0:
            continue
        feasible, refused, stopped = _first_look(role, trial)
        if first is None:
            first = feasible, refused
        landed = _fill(role, trial, feasible) if _is_solitary(role.pod, trial) else _one_by_one(role, trial)
        places.update(landed)
        if sum(landed.values()) < role.count and not message:
            message = stopped or _refusal_text(role, trial, len(landed))
            stuck, in_the_way = number, refused
    found = first or ((), {})
    wanted = sum(role.count for role in roles)
    return Gang(wanted, dict(places), found[0], found[1], message, stuck, in_the_way)


def emptied(view: ClusterView) -> ClusterView:
    """The same nodes without anybody's work; daemon pods and static pods stay."""
    empty = view.copy()
    empty.nominated = {}
    for info in view.nodes.values():
        for key, pod in info.pods.items():
            if not _stays(pod.pod):
                empty.remove(key)
    return empty


def copies(pod: Pod, count: int) -> Iterator[Pod]:
    """The pods of a role by name, as a controller would number them; made as they are asked for: a document may
    want a million of them, and no cluster takes the second hundred."""
    meta = pod.metadata
    name = meta.name or meta.generate_name or "pod"
    return (
        replace(pod, metadata=replace(meta, name=f"{name}-{index}", uid=f"planned/{name}-{index}"))
        for index in range(count)
    )


def _stays(pod: Pod) -> bool:
    return any(owner.kind in _STAYING_OWNERS for owner in pod.metadata.owner_references)


def _first_look(role: Wanted, view: ClusterView) -> tuple[tuple[str, ...], Mapping[str, Refusal], str]:
    """The nodes that would take one pod, why the others would not, and what stopped it before any node."""
    cycle = prepare(facts_of(next(copies(role.pod, 1))), view)
    if isinstance(cycle, Stopped):
        return (), {}, cycle.message
    found = filter_nodes(cycle)
    return tuple(info.name for info in found.feasible), found.refused, ""


def _is_solitary(pod: Pod, view: ClusterView) -> bool:
    """Whether one pod of the role never minds where another is."""
    if facts_of(pod).seeks_company or pod.spec.topology_spread_constraints:
        return False
    return all(_is_shared_freely(volume, pod.metadata.namespace, view) for volume in pod.spec.volumes)


def _is_shared_freely(volume: Volume, namespace: str, view: ClusterView) -> bool:
    """Whether any number of pods on any nodes may mount the volume at once."""
    if volume.gce_persistent_disk or volume.aws_elastic_block_store or volume.iscsi or volume.rbd:
        return False
    if volume.ephemeral is not None:
        return False
    source = volume.persistent_volume_claim
    if source is None:
        return True
    claim = view.storage.claims.get((namespace, source.claim_name))
    return claim is not None and "ReadWriteMany" in claim.spec.access_modes and bool(claim.spec.volume_name)


def _fill(role: Wanted, view: ClusterView, feasible: Iterable[str]) -> Counter[str]:
    """Fill one node after the other; nodes in the same state take the same number."""
    cycle = prepare(facts_of(next(copies(role.pod, 1))), view)
    landed: Counter[str] = Counter()
    if isinstance(cycle, Stopped):
        return landed
    left = role.count
    pods = map(facts_of, copies(role.pod, role.count))
    for name in feasible:
        if left == 0:
            break
        taken = _take(view, view.nodes[name], pods, left, cycle)
        if taken:
            landed[name] = taken
            left -= taken
    return landed


def _take(view: ClusterView, info: NodeInfo, pods: Iterator[PodFacts], left: int, cycle: Cycle) -> int:
    """How many of the pods that are left a node takes; each is made only where there is room for it."""
    taken = 0
    while taken < left and cycle.check(info) is None:
        view.add(next(pods), info.name)
        taken += 1
    return taken


def _one_by_one(role: Wanted, view: ClusterView) -> Counter[str]:
    landed: Counter[str] = Counter()
    for pod in copies(role.pod, role.count):
        facts = facts_of(pod)
        decision = schedule(facts, view)
        if not isinstance(decision, Scheduled):
            break
        node = min(decision.best)
        view.add(facts, node)
        landed[node] += 1
    return landed


def _refusal_text(role: Wanted, view: ClusterView, placed: int) -> str:
    """What the scheduler would write on the first pod that is left over."""
    left_over = replace(
        role.pod, metadata=replace(role.pod.metadata, name=f"{role.name}-{placed}", uid="planned/left-over")
    )
    decision = schedule(left_over, view)
    return decision.message if isinstance(decision, Unschedulable) else ""
