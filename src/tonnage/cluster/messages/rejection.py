"""What a kubelet says when it will not run a pod that was bound to it.

A rejected pod is Failed for good: the reason says which check refused it, the message why. The event
carries the bare text, `status.message` the same text behind `Pod was rejected: ` (before 1.24: behind `Pod
`).
"""

from __future__ import annotations

import re

import msgspec

from tonnage.cluster.messages.eviction import EVICTED, NodeHadCondition, format_eviction, parse_eviction

PREFIX = "Pod was rejected: "


class OutOf(msgspec.Struct, frozen=True):
    """The node has less left than the pod requests; amounts in base units (cpu: thousandths)."""

    resource: str
    requested: int
    used: int
    capacity: int


class DevicesUnavailable(msgspec.Struct, frozen=True):
    """The device plugin has fewer healthy, free devices than asked for."""

    resource: str
    requested: int
    available: int


class TopologyMismatch(msgspec.Struct, frozen=True):
    """The NUMA policy cannot be met."""

    pod_scope: bool = False


class PredicateFailed(msgspec.Struct, frozen=True):
    """A scheduling rule that the kubelet checks again: affinity, node name, ports, NoExecute taints."""

    predicate: str
    description: str


class ShuttingDown(msgspec.Struct, frozen=True):
    """The node is going away."""


class Unexpected(msgspec.Struct, frozen=True):
    """Anything else a kubelet handler answered; the reason and text are kept as they are."""

    reason: str
    text: str


Rejection = (
    OutOf
    | DevicesUnavailable
    | TopologyMismatch
    | PredicateFailed
    | ShuttingDown
    | NodeHadCondition
    | Unexpected
)

_OUT_OF = re.compile(
    r"Node didn't have enough resource: (?P<resource>\S+), requested: (?P<requested>-?\d+), "
    r"used: (?P<used>-?\d+), capacity: (?P<capacity>-?\d+)"
)
_DEVICES = re.compile(
    r"Allocate failed due to requested number of devices unavailable for (?P<resource>\S+)\. "
    r"Requested: (?P<requested>\d+), Available: (?P<available>\d+), which is unexpected"
)
_PREDICATE = re.compile(r"Predicate (?P<predicate>\S+) failed: (?P<description>.+)", re.DOTALL)
_TOPOLOGY = "Resources cannot be allocated with Topology locality"
_SHUTDOWN = "Pod was rejected as the node is shutting down."


def rejection_reason(rejection: Rejection) -> str:
    """The pod's `status.reason`."""
    match rejection:
        case OutOf(resource=resource):
            return f"OutOf{resource}"
        case DevicesUnavailable():
            return "UnexpectedAdmissionError"
        case TopologyMismatch():
            return "TopologyAffinityError"
        case PredicateFailed(predicate=predicate):
            return predicate
        case ShuttingDown():
            return "NodeShutdown"
        case NodeHadCondition():
            return EVICTED
        case Unexpected(reason=reason):
            return reason


def format_rejection(rejection: Rejection) -> str:
    """The event's text; put PREFIX before it for `status.message`."""
    match rejection:
        case OutOf(resource, requested, used, capacity):
            return (
                f"Node didn't have enough resource: {resource}, requested: {requested}, "
                f"used: {used}, capacity: {capacity}"
            )
        case DevicesUnavailable(resource, requested, available):
            return (
                f"Allocate failed due to requested number of devices unavailable for {resource}. "
                f"Requested: {requested}, Available: {available}, which is unexpected"
            )
        case TopologyMismatch(pod_scope):
            return f"Pod Scope {_TOPOLOGY}" if pod_scope else _TOPOLOGY
        case PredicateFailed(predicate, description):
            return f"Predicate {predicate} failed: {description}"
        case ShuttingDown():
            return _SHUTDOWN
        case NodeHadCondition():
            return format_eviction(rejection)
        case Unexpected(text=text):
            return text


def parse_rejection(reason: str, message: str) -> Rejection | None:
    """Read a rejection from reason and message (or an event's text); None for other endings."""
    text = message.removeprefix(PREFIX)
    if text == message and reason.startswith("OutOf"):
        text = message.removeprefix("Pod ")
    if found := _OUT_OF.fullmatch(text):
        return OutOf(found["resource"], int(found["requested"]), int(found["used"]), int(found["capacity"]))
    if found := _DEVICES.fullmatch(text):
        return DevicesUnavailable(found["resource"], int(found["requested"]), int(found["available"]))
    if text in {_TOPOLOGY, f"Pod Scope {_TOPOLOGY}"}:
        return TopologyMismatch(text != _TOPOLOGY)
    if found := _PREDICATE.fullmatch(text):
        return PredicateFailed(found["predicate"], found["description"])
    if reason == "NodeShutdown" and text.endswith(_SHUTDOWN.removeprefix("Pod was rejected ")):
        return ShuttingDown()
    if isinstance(condition := parse_eviction(text), NodeHadCondition):
        return condition
    return Unexpected(reason, text) if message.startswith(PREFIX) else None
