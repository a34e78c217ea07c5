"""NodePorts and NodeResourcesFit: whether there is room.

Room is allocatable minus the *requests* of the pods on the node, never what they use. Every resource that
falls short is named. A request larger than the node's whole allocatable cannot be helped by preemption,
one larger than what is free can.
"""

from __future__ import annotations

import msgspec

from tonnage.cluster.messages.scheduling_reasons import INSUFFICIENT, PORTS_TAKEN, TOO_MANY_PODS
from tonnage.cluster.scheduling.counting import Vector
from tonnage.cluster.scheduling.facts import ANY_ADDRESS, HostPort, PodFacts, incoming_requests
from tonnage.cluster.scheduling.refusing import Refusal
from tonnage.cluster.scheduling.rule import Rule
from tonnage.cluster.scheduling.view import ClusterView, NodeInfo


class Shortfall(msgspec.Struct, frozen=True):
    """One resource the node cannot give, in the scheduler's units."""

    resource: str
    requested: int
    used: int
    capacity: int

    @property
    def reason(self) -> str:
        return TOO_MANY_PODS if self.resource == "pods" else INSUFFICIENT + self.resource

    @property
    def beyond_the_node(self) -> bool:
        """Whether even an empty node could not give it. Pod counts are never asked that question."""
        return self.resource != "pods" and self.requested > self.capacity


def shortfalls(wanted: Vector, info: NodeInfo) -> list[Shortfall]:
    """Everything the node lacks for a pod with these requests."""
    have, used = info.allocatable, info.requested
    short: list[Shortfall] = []
    if len(info.pods) + 1 > info.allowed_pods:
        short.append(Shortfall("pods", 1, len(info.pods), info.allowed_pods))
    if wanted.cpu > 0 and wanted.cpu > have.cpu - used.cpu:
        short.append(Shortfall("cpu", wanted.cpu, used.cpu, have.cpu))
    if wanted.memory > 0 and wanted.memory > have.memory - used.memory:
        short.append(Shortfall("memory", wanted.memory, used.memory, have.memory))
    if wanted.storage > 0 and wanted.storage > have.storage - used.storage:
        short.append(Shortfall("ephemeral-storage", wanted.storage, used.storage, have.storage))
    for name, amount in wanted.scalars.items():
        capacity, taken = have.scalars.get(name, 0), used.scalars.get(name, 0)
        if amount and amount > capacity - taken:
            short.append(Shortfall(name, amount, taken, capacity))
    return short


def port_is_taken(wanted: HostPort, info: NodeInfo) -> bool:
    """Whether a host port clashes: any address clashes with every address, else only with the same or any."""
    if wanted.address == ANY_ADDRESS:
        return any((used.protocol, used.port) == (wanted.protocol, wanted.port) for used in info.ports)
    return any(
        HostPort(address, wanted.protocol, wanted.port) in info.ports
        for address in (ANY_ADDRESS, wanted.address)
    )


class NodePorts(Rule):
    plugin = "NodePorts"
    wanted: tuple[HostPort, ...]

    def check(self, info: NodeInfo) -> Refusal | None:
        if info.ports and any(port_is_taken(port, info) for port in self.wanted):
            return Refusal(self.plugin, (PORTS_TAKEN,), resolvable=True)
        return None


class NodeResourcesFit(Rule):
    plugin = "NodeResourcesFit"
    wanted: Vector

    def check(self, info: NodeInfo) -> Refusal | None:
        short = shortfalls(self.wanted, info)
        if not short:
            return None
        return Refusal(
            self.plugin,
            tuple(lack.reason for lack in short),
            resolvable=not any(lack.beyond_the_node for lack in short),
        )


def prepare_ports(pod: PodFacts, _view: ClusterView) -> Rule | None:
    return NodePorts(pod.ports) if pod.ports else None


def prepare_fit(pod: PodFacts, _view: ClusterView) -> Rule:
    return NodeResourcesFit(incoming_requests(pod.pod))
