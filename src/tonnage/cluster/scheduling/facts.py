"""What the scheduler reads of a pod, worked out once.

Asking "would it fit?" thousands of times must not parse quantities and selectors thousands of times. A
pod's requests, ports, affinity terms and start time never change while the scheduler thinks, so they are
computed when the pod enters the view and shared by every copy of it.
"""

from __future__ import annotations

import datetime as dt
from functools import lru_cache
from typing import NamedTuple

import msgspec

from tonnage.cluster.objects import LabelSelector, Pod, SelectorRequirement
from tonnage.cluster.objects.pod import PodAffinityTerm, WeightedPodAffinityTerm
from tonnage.cluster.resources import (
    SCORING_DEFAULTS,
    aggregate_container_requests,
    amounts,
    is_sidecar,
    pod_level_requests_set,
    pod_requests,
)
from tonnage.cluster.scheduling.counting import Vector, vector_of
from tonnage.cluster.scheduling.selecting import Labels, Selector, selector_of
from tonnage.units import Quantity, parse_quantity

ANY_ADDRESS = "0.0.0.0"
_IDLE_CPU, _IDLE_MEMORY = SCORING_DEFAULTS["cpu"].milli(), SCORING_DEFAULTS["memory"].value()
FINISHED = frozenset({"Succeeded", "Failed"})


class HostPort(NamedTuple):
    address: str
    protocol: str
    port: int


class Term(msgspec.Struct, frozen=True):
    """One pod (anti-)affinity term: pods it means, and the label of nodes within which it counts them."""

    topology_key: str
    selector: Selector
    namespaces: frozenset[str]
    namespace_selector: Selector

    def matches(self, namespace: str, labels: Labels, namespace_labels: Labels) -> bool:
        return (
            namespace in self.namespaces or self.namespace_selector.matches(namespace_labels)
        ) and self.selector.matches(labels)


class WeightedTerm(msgspec.Struct, frozen=True):
    term: Term
    weight: int


class PodFacts(msgspec.Struct, frozen=True, eq=False):
    """A pod with everything the rules ask of it."""

    pod: Pod
    key: str
    """Unique: the UID where there is one, else namespace/name."""
    namespace: str
    labels: Labels
    priority: int
    requests: Vector
    scoring_cpu: int
    scoring_memory: int
    """What it weighs on its node in scores: a container without a request counts as 100m and 200 MiB."""
    ports: tuple[HostPort, ...]
    affinity: tuple[Term, ...]
    anti_affinity: tuple[Term, ...]
    preferred_affinity: tuple[WeightedTerm, ...]
    preferred_anti_affinity: tuple[WeightedTerm, ...]
    started: float
    """Seconds since the epoch; a pod that has not started counts as starting now, later than all others."""

    @property
    def name(self) -> str:
        return self.pod.metadata.name

    @property
    def terminating(self) -> bool:
        return self.pod.metadata.deletion_timestamp is not None

    @property
    def seeks_company(self) -> bool:
        """Whether it has any affinity term, required or preferred."""
        return bool(
            self.affinity or self.anti_affinity or self.preferred_affinity or self.preferred_anti_affinity
        )


def facts_of(pod: Pod) -> PodFacts:
    """Work out everything the rules ask of a pod."""
    meta, affinity = pod.metadata, pod.spec.affinity
    together = affinity.pod_affinity if affinity else None
    apart = affinity.pod_anti_affinity if affinity else None
    requests, cpu, memory = _booked(pod)
    return PodFacts(
        pod=pod,
        key=pod_key(pod),
        namespace=meta.namespace,
        labels=meta.labels,
        priority=pod.spec.priority or 0,
        requests=requests,
        scoring_cpu=cpu,
        scoring_memory=memory,
        ports=_host_ports(pod),
        affinity=_terms(
            pod, together.required_during_scheduling_ignored_during_execution if together else ()
        ),
        anti_affinity=_terms(pod, apart.required_during_scheduling_ignored_during_execution if apart else ()),
        preferred_affinity=_weighted(
            pod, together.preferred_during_scheduling_ignored_during_execution if together else ()
        ),
        preferred_anti_affinity=_weighted(
            pod, apart.preferred_during_scheduling_ignored_during_execution if apart else ()
        ),
        started=_epoch(pod.status.start_time),
    )


def pod_key(pod: Pod) -> str:
    return pod.metadata.uid or f"{pod.metadata.namespace}/{pod.metadata.name}"


def occupies_a_node(pod: Pod) -> bool:
    """Whether the pod holds resources: bound and not finished (a terminating pod still does)."""
    return bool(pod.spec.node_name) and pod.status.phase not in FINISHED


def incoming_requests(pod: Pod) -> Vector:
    """What a pod not yet placed asks for; its status says nothing yet."""
    return vector_of(pod_requests(pod, from_status=False))


def incoming_scoring_weight(pod: Pod) -> tuple[int, int]:
    """What LeastAllocated adds for an incoming pod: its containers; pod-level resources are not read."""
    total = vector_of(aggregate_container_requests(pod, missing=SCORING_DEFAULTS))
    total.add(vector_of(amounts(pod.spec.overhead)))
    return total.cpu, total.memory


def _booked(pod: Pod) -> tuple[Vector, int, int]:
    """What a pod takes from its node: its requests, and its weight in cpu and memory for scores."""
    spec, status = pod.spec, pod.status
    if not (spec.init_containers or spec.overhead or spec.resources or status.container_statuses):
        return _booked_plainly(tuple(tuple(c.resources.requests.items()) for c in spec.containers))
    requests = pod_requests(pod)
    missing = dict(SCORING_DEFAULTS)
    if pod_level_requests_set(pod):
        missing = {name: amount for name, amount in missing.items() if name not in requests}
    weight = vector_of(pod_requests(pod, missing=missing))
    return vector_of(requests), weight.cpu, weight.memory


@lru_cache(maxsize=4096)
def _booked_plainly(containers: tuple[tuple[tuple[str, str], ...], ...]) -> tuple[Vector, int, int]:
    """The same for main containers alone; pods of one kind share the answer, which nobody changes."""
    total: dict[str, int] = {}
    cpu = memory = 0
    for requests in containers:
        names = {name for name, _ in requests}
        for name, text in requests:
            total[name] = total.get(name, 0) + parse_quantity(text).nano
        cpu += 0 if "cpu" in names else _IDLE_CPU
        memory += 0 if "memory" in names else _IDLE_MEMORY
    vector = vector_of({name: Quantity(nano) for name, nano in total.items()})
    return vector, vector.cpu + cpu, vector.memory + memory


def _host_ports(pod: Pod) -> tuple[HostPort, ...]:
    running = [*filter(is_sidecar, pod.spec.init_containers), *pod.spec.containers]
    return tuple(
        HostPort(port.host_ip or ANY_ADDRESS, port.protocol or "TCP", port.host_port)
        for container in running
        for port in container.ports
        if port.host_port > 0
    )


def _terms(pod: Pod, written: tuple[PodAffinityTerm, ...]) -> tuple[Term, ...]:
    return tuple(_term(pod, term) for term in written)


def _weighted(pod: Pod, written: tuple[WeightedPodAffinityTerm, ...]) -> tuple[WeightedTerm, ...]:
    return tuple(WeightedTerm(_term(pod, item.pod_affinity_term), item.weight) for item in written)


def _term(pod: Pod, written: PodAffinityTerm) -> Term:
    own_namespace = not written.namespaces and written.namespace_selector is None
    return Term(
        topology_key=written.topology_key,
        selector=selector_of(with_label_keys(pod, written)),
        namespaces=frozenset((pod.metadata.namespace,) if own_namespace else written.namespaces),
        namespace_selector=selector_of(written.namespace_selector),
    )


def with_label_keys(pod: Pod, term: PodAffinityTerm) -> LabelSelector | None:
    """The term's selector with (mis)matchLabelKeys merged in; the API server does so when it stores a pod."""
    selector = term.label_selector
    if selector is None or not (term.match_label_keys or term.mismatch_label_keys):
        return selector
    stored = {(line.key, line.operator) for line in selector.match_expressions}
    more = [
        SelectorRequirement(key=key, operator=operator, values=(pod.metadata.labels[key],))
        for operator, keys in (("In", term.match_label_keys), ("NotIn", term.mismatch_label_keys))
        for key in keys
        if key in pod.metadata.labels and (key, operator) not in stored
    ]
    return LabelSelector(
        match_labels=selector.match_labels, match_expressions=(*selector.match_expressions, *more)
    )


@lru_cache(maxsize=4096)
def _epoch(written: str | None) -> float:
    if not written:
        return float("inf")
    return dt.datetime.fromisoformat(written.replace("Z", "+00:00")).timestamp()
