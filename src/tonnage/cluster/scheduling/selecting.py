"""Selectors: which labels, nodes and pods a line of a manifest means.

Kubernetes' selectors have sharp corners that decide placements, and all are kept. No selector at all
selects nothing, an empty one selects everything; `NotIn` and `DoesNotExist` also match what lacks the
key; `Gt` and `Lt` compare whole numbers and never match text. A node selector is an OR of terms, each an
AND of lines, and a term without lines matches nothing.
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from tonnage.cluster.objects import LabelSelector, Node, Pod, SelectorRequirement
from tonnage.cluster.objects.pod import NodeSelector, NodeSelectorTerm

Labels = Mapping[str, str]


class Selector(msgspec.Struct, frozen=True):
    """A label selector made ready: `requirements` must all hold; `nothing` matches never."""

    requirements: tuple[SelectorRequirement, ...] = ()
    nothing: bool = False

    @property
    def matches_everything(self) -> bool:
        return not self.requirements and not self.nothing

    def matches(self, labels: Labels) -> bool:
        if self.nothing:
            return False
        for line in self.requirements:  # noqa: SIM110 - asked for every pod of a cluster; a generator costs double
            if not holds(line, labels):
                return False
        return True

    def joined(self, more: Mapping[str, str]) -> Selector:
        """The selector narrowed to these labels; nothing stays nothing."""
        return Selector((*equal_to(more), *self.requirements), self.nothing)


EVERYTHING = Selector()
NOTHING = Selector(nothing=True)


def selector_of(written: LabelSelector | None) -> Selector:
    """A manifest's label selector; an absent one selects nothing."""
    if written is None:
        return NOTHING
    return Selector((*equal_to(written.match_labels), *written.match_expressions))


def equal_to(labels: Labels) -> tuple[SelectorRequirement, ...]:
    return tuple(SelectorRequirement(key=k, operator="In", values=(v,)) for k, v in labels.items())


def holds(line: SelectorRequirement, labels: Labels) -> bool:
    """Whether one line of a selector is true of these labels."""
    value = labels.get(line.key)
    if line.operator == "In":  # by far the most frequent
        return value is not None and value in line.values
    match line.operator:
        case "NotIn":
            return value is None or value not in line.values
        case "Exists":
            return value is not None
        case "DoesNotExist":
            return value is None
        case "Gt" | "Lt" if value is not None and len(line.values) == 1:
            have, bound = whole_number(value), whole_number(line.values[0])
            if have is None or bound is None:
                return False
            return have > bound if line.operator == "Gt" else have < bound
    return False


def whole_number(text: str) -> int | None:
    """A 64-bit integer as Go's ParseInt reads it; spaces, underscores and other scripts are not numbers."""
    digits = text[1:] if text[:1] in {"+", "-"} else text
    if not digits or not digits.isascii() or not digits.isdigit():
        return None
    number = int(text)
    return number if -(2**63) <= number < 2**63 else None


def selects_node(selector: NodeSelector, labels: Labels, name: str) -> bool:
    """Whether a node selector picks the node with these labels and this name (no name: no fields)."""
    return any(term_matches(term, labels, name) for term in selector.node_selector_terms)


def term_matches(term: NodeSelectorTerm, labels: Labels, name: str) -> bool:
    if not term.match_expressions and not term.match_fields:
        return False
    if not all(_well_formed(line) and holds(line, labels) for line in term.match_expressions):
        return False
    if not all(line.operator in {"In", "NotIn"} and len(line.values) == 1 for line in term.match_fields):
        return False
    # Kubernetes knows one field; a field it does not know has no value.
    fields = {"metadata.name": name}
    return not name or all(_field_holds(line, fields) for line in term.match_fields)


def required_node_affinity_matches(pod: Pod, node: Node) -> bool:
    """Whether the node satisfies the pod's `nodeSelector` and required node affinity."""
    labels = node.metadata.labels
    if any(labels.get(key) != value for key, value in pod.spec.node_selector.items()):
        return False
    required = required_node_selector(pod)
    return required is None or selects_node(required, labels, node.metadata.name)


def required_node_selector(pod: Pod) -> NodeSelector | None:
    affinity = pod.spec.affinity
    if affinity is None or affinity.node_affinity is None:
        return None
    return affinity.node_affinity.required_during_scheduling_ignored_during_execution


def _field_holds(line: SelectorRequirement, fields: Mapping[str, str]) -> bool:
    value = fields.get(line.key, "")
    return (value == line.values[0]) is (line.operator == "In")


def _well_formed(line: SelectorRequirement) -> bool:
    """A malformed line spoils its whole term: Kubernetes keeps such terms but never matches them."""
    match line.operator:
        case "In" | "NotIn":
            return bool(line.values)
        case "Exists" | "DoesNotExist":
            return not line.values
        case "Gt" | "Lt":
            return len(line.values) == 1 and whole_number(line.values[0]) is not None
    return False
