"""Aim pods at GPU types by the labels that nodes really carry.

GPU feature discovery is not everywhere: some clusters have only their cloud's label, some only one their
administrator wrote. A selector for a label that no node has keeps a run waiting for ever, so the labels are looked
up on the nodes that have the wanted GPUs. Where no node says which GPU it has, the resource alone decides, and a
label that says "there is a GPU" is used if all of them carry it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import msgspec
from msgspec.structs import replace

from tonnage.cluster.announcing import devices_of
from tonnage.cluster.gpu_labels import PRODUCT, TYPE_LABELS, gpu_by_labels, presence_label, type_label
from tonnage.cluster.gpus import GpuType
from tonnage.cluster.objects import Node, Toleration
from tonnage.cluster.objects.meta import SelectorRequirement
from tonnage.cluster.objects.pod import Affinity, NodeAffinity, NodeSelector, NodeSelectorTerm, PodSpec
from tonnage.planning.workload import Role, Workload
from tonnage.planning.workload.of_run import role_of_run
from tonnage.planning.workload.spot import marks_on
from tonnage.planning.workload.template import NodeLabels, Terms, gpu_types_within
from tonnage.spec.run import Run


def labels_for(run: Run, nodes: Sequence[Node]) -> NodeLabels:
    """The labels by which this run's pods find their nodes on this cluster."""
    gpus = run.spec.gpus
    types = gpu_types_within(gpus) if gpus.milli else ()
    spot = marks_on((node.metadata.labels for node in nodes), only=run.spec.spot.use == "only")
    return NodeLabels(gpu_terms(types, nodes) if types else [], spot)


def gpu_terms(types: Sequence[GpuType], nodes: Iterable[Node], part: str = "") -> list[Terms]:
    """Alternatives of label lines for nodes that have one of these GPUs (whole, or this part of one)."""
    having = [node.metadata.labels for node in nodes if devices_of(node).get(part)]
    if having and all(type_label(labels) is None for labels in having):
        said = presence_label(having)
        return [[_in(said[0], [said[1]])]] if said is not None else []
    wanted = [labels for labels in having if gpu_by_labels(labels) in types]
    if not wanted:
        return [[_in(PRODUCT, [gpu.product for gpu in types])]]
    values: dict[str, list[str]] = {}
    for labels in wanted:
        key, value = type_label(labels) or ("", "")
        values.setdefault(key, []).append(value)
    return [[_in(key, sorted(set(values[key])))] for key in TYPE_LABELS if key in values]


def with_real_labels(workload: Workload, nodes: Sequence[Node]) -> Workload:
    """A Run's workload with selectors from the labels of these nodes."""
    if workload.run is None or not nodes:
        return workload
    role = workload.trainer
    assumed = role_of_run(workload.run, workload.namespace).pod.spec
    if _choice(role.pod.spec) != _choice(assumed):  # somebody has aimed it already
        return workload
    real = role_of_run(workload.run, workload.namespace, labels_for(workload.run, nodes)).pod.spec
    selector, affinity, tolerations = _choice(real)
    spec = msgspec.structs.replace(
        role.pod.spec, node_selector=selector, affinity=affinity, tolerations=tolerations
    )
    return workload.with_roles(replace(role, pod=msgspec.structs.replace(role.pod, spec=spec)))


def aimed_at(role: Role, gpu: GpuType, nodes: Sequence[Node]) -> Role:
    """The role with its pods kept to one GPU type, where they do not choose one themselves."""
    if any(key in TYPE_LABELS for key in role.pod.spec.node_selector):
        return role
    terms = gpu_terms([gpu], nodes, role.gpus.profile)
    spec = role.pod.spec
    if len(terms) == 1 and all(len(line["values"]) == 1 for line in terms[0]):
        selector = {**spec.node_selector, **{line["key"]: line["values"][0] for line in terms[0]}}
        aimed = msgspec.structs.replace(spec, node_selector=selector)
    else:
        aimed = msgspec.structs.replace(spec, affinity=_narrowed(spec.affinity, terms))
    return replace(role, pod=msgspec.structs.replace(role.pod, spec=aimed))


def _choice(spec: PodSpec) -> tuple[dict[str, str], Affinity | None, tuple[Toleration, ...]]:
    """What of a pod decides between nodes."""
    return spec.node_selector, spec.affinity, spec.tolerations


def _in(key: str, values: list[str]) -> dict[str, Any]:
    return {"key": key, "operator": "In", "values": values}


def _terms(affinity: Affinity | None) -> tuple[NodeSelectorTerm, ...]:
    node = affinity.node_affinity if affinity else None
    required = node.required_during_scheduling_ignored_during_execution if node else None
    return required.node_selector_terms if required else ()


def _narrowed(affinity: Affinity | None, terms: Sequence[Terms]) -> Affinity | None:
    """Every alternative there was, with every alternative of the type."""
    lines = [
        tuple(SelectorRequirement(**{**line, "values": tuple(line["values"])}) for line in term)
        for term in terms
    ]
    before = _terms(affinity) or (NodeSelectorTerm(),)
    both = tuple(
        msgspec.structs.replace(old, match_expressions=(*old.match_expressions, *new))
        for old in before
        for new in lines
    )
    if not both:
        return affinity
    held = affinity or Affinity()
    node = msgspec.structs.replace(
        held.node_affinity or NodeAffinity(),
        required_during_scheduling_ignored_during_execution=NodeSelector(node_selector_terms=both),
    )
    return msgspec.structs.replace(held, node_affinity=node)
