"""What a kubelet says when it evicts: the texts of `status.message` and of the `Evicted` event.

Five kinds of text, one value each. `parse_eviction` reads any of them, as written by current kubelets and
by those before 1.27 (no threshold sentence, `which exceeds its request of`); `format_eviction` writes the
same characters back, with the trailing blank that really is there. Quantities stay text: they are evidence
to show, and `tonnage.units` reads them where arithmetic is wanted.
"""

from __future__ import annotations

import re

import msgspec


class Offender(msgspec.Struct, frozen=True):
    """A container, or the pod itself, that used more than it requested."""

    name: str
    usage: str
    request: str
    is_pod: bool = False


class NodeLow(msgspec.Struct, frozen=True):
    """Node pressure: the node ran short, and this pod was first in the ranking."""

    resource: str
    threshold: str | None = None
    available: str | None = None
    offenders: tuple[Offender, ...] = ()
    before_1_27: bool = False
    """Whether offenders are worded as old kubelets did."""


class EmptyDirOverLimit(msgspec.Struct, frozen=True):
    """A volume grew beyond its own sizeLimit."""

    volume: str
    limit: str


class PodOverLimit(msgspec.Struct, frozen=True):
    """All local storage of the pod together grew beyond the sum of its containers' limits."""

    limit: str


class ContainerOverLimit(msgspec.Struct, frozen=True):
    """One container's writable layer and logs grew beyond its limit."""

    container: str
    limit: str


class NodeHadCondition(msgspec.Struct, frozen=True):
    """Not evicted but never let in: the node was under pressure when the pod arrived."""

    conditions: tuple[str, ...] = msgspec.field(default=())


Eviction = NodeLow | EmptyDirOverLimit | PodOverLimit | ContainerOverLimit | NodeHadCondition

EVICTED = "Evicted"
"""The pod's `status.reason`, and the event's, for all of them."""
THRESHOLD_MET = "EvictionThresholdMet"
"""The reason of the node's own event."""

LOCAL_STORAGE = (EmptyDirOverLimit, PodOverLimit, ContainerOverLimit)
"""The kinds that carry no DisruptionTarget: the pod broke its own limit."""

_LOW = re.compile(
    r"The node was low on resource: (?P<resource>[\w\-/.\[\] ]+?)\. ?"
    r"(?:Threshold quantity: (?P<threshold>\S+), available: (?P<available>\S+)\. ?)?(?P<rest>.*)",
    re.DOTALL,
)
_OFFENDER = re.compile(
    r"(?P<kind>Container|Pod) (?P<name>\S+) was using (?P<usage>\S+), "
    r"(?:request is (?P<request>\S+), has larger consumption of (?P<of>\S+)"
    r"|which exceeds its request of (?P<old>\S+))\. ?"
)
_EMPTY_DIR = re.compile(
    r'Usage of EmptyDir volume "(?P<volume>[^"]+)" exceeds the limit "(?P<limit>[^"]+)"\. ?'
)
_POD = re.compile(
    r"Pod ephemeral local storage usage exceeds the total limit of containers (?P<limit>\S+)\. ?"
)
_CONTAINER = re.compile(
    r'Container (?P<container>\S+) exceeded its local ephemeral storage limit "(?P<limit>[^"]+)"\. ?'
)
_RECLAIMING = "Attempting to reclaim "
# Kubelets before 1.24 wrote "Pod " where "Pod was rejected: " stands now; the event has neither.
_CONDITION = re.compile(r"(?:Pod was rejected: |Pod )?The node had condition: \[(?P<conditions>[^\]]*)\]\. ?")


def parse_eviction(text: str) -> Eviction | None:
    """Read an eviction text; None when it is not one."""
    if found := _EMPTY_DIR.fullmatch(text):
        return EmptyDirOverLimit(found["volume"], found["limit"])
    if found := _POD.fullmatch(text):
        return PodOverLimit(found["limit"])
    if found := _CONTAINER.fullmatch(text):
        return ContainerOverLimit(found["container"], found["limit"])
    if found := _CONDITION.fullmatch(text):
        return NodeHadCondition(tuple(found["conditions"].split()))
    return _parse_low(text)


def format_eviction(eviction: Eviction) -> str:
    """Write the text, trailing blank included (for a rejection: the event's text, without prefix)."""
    match eviction:
        case EmptyDirOverLimit(volume, limit):
            return f'Usage of EmptyDir volume "{volume}" exceeds the limit "{limit}". '
        case PodOverLimit(limit):
            return f"Pod ephemeral local storage usage exceeds the total limit of containers {limit}. "
        case ContainerOverLimit(container, limit):
            return f'Container {container} exceeded its local ephemeral storage limit "{limit}". '
        case NodeHadCondition(conditions):
            return f"The node had condition: [{' '.join(conditions)}]. "
        case NodeLow():
            return _format_low(eviction)


def format_reclaiming(resource: str) -> str:
    """The text of the node's `EvictionThresholdMet` event."""
    return _RECLAIMING + resource


def parse_reclaiming(text: str) -> str | None:
    """Which resource the node is short of."""
    return text.removeprefix(_RECLAIMING) if text.startswith(_RECLAIMING) else None


def _parse_low(text: str) -> NodeLow | None:
    found = _LOW.fullmatch(text)
    if found is None:
        return None
    offenders, position, rest, old = [], 0, found["rest"], False
    while item := _OFFENDER.match(rest, position):
        position = item.end()
        old = old or item["old"] is not None
        offenders.append(
            Offender(item["name"], item["usage"], item["request"] or item["old"], item["kind"] == "Pod")
        )
    if position != len(rest):
        return None
    return NodeLow(found["resource"], found["threshold"], found["available"], tuple(offenders), old)


def _format_low(low: NodeLow) -> str:
    text = f"The node was low on resource: {low.resource}. "
    if low.threshold is not None and low.available is not None:
        text += f"Threshold quantity: {low.threshold}, available: {low.available}. "
    for offender in low.offenders:
        text += f"{'Pod' if offender.is_pod else 'Container'} {offender.name} was using {offender.usage}, "
        if low.before_1_27:
            text += f"which exceeds its request of {offender.request}. "
        else:
            text += f"request is {offender.request}, has larger consumption of {low.resource}. "
    return text
