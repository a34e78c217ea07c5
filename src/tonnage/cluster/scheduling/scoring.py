"""Which of the nodes that will do is best: the default score plugins, weights and arithmetic.

Every plugin gives 0 to 100, integers throughout, and the weighted sum decides; equal sums are drawn by
lot, so the answer is a set. What people expect and do not get: GPUs are not scored at all by default.
Pods are spread by cpu and memory, which leaves GPU nodes half full.

With 100 nodes or more the scheduler stops looking once it has found enough (`nodes_to_find`), starting
where it stopped the time before. Then the best set here is the best of *all* feasible nodes, and the real
choice may be the best of a part of them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import msgspec

from tonnage.cluster.objects import Pod
from tonnage.cluster.scheduling.attracting import preferred_weight
from tonnage.cluster.scheduling.facts import PodFacts, facts_of, incoming_requests, incoming_scoring_weight
from tonnage.cluster.scheduling.neighbours import neighbour_scores
from tonnage.cluster.scheduling.spreading import spread_scores
from tonnage.cluster.scheduling.tainting import discouraging_taints
from tonnage.cluster.scheduling.view import ClusterView, NodeInfo

MAX_SCORE = 100
EXAMINE_ALL_BELOW = 100
SMALLEST_SHARE = 5
MB = 1024 * 1024
IMAGE_TOO_SMALL_TO_MATTER = 23 * MB
IMAGE_AS_LARGE_AS_IT_COUNTS = 1000 * MB

Scores = dict[str, int]
ScorePlugin = Callable[[PodFacts, ClusterView, Sequence[NodeInfo]], Scores | None]


class NodeScore(msgspec.Struct, frozen=True):
    """A node's weighted total and what each plugin gave it (before weights)."""

    total: int
    by_plugin: Mapping[str, int]


def best_of(scores: Mapping[str, NodeScore]) -> frozenset[str]:
    """The nodes that share the highest total."""
    top = max((score.total for score in scores.values()), default=0)
    return frozenset(name for name, score in scores.items() if score.total == top)


def score_nodes(pod: PodFacts | Pod, view: ClusterView, feasible: Sequence[NodeInfo]) -> dict[str, NodeScore]:
    """Score the feasible nodes against each other."""
    facts = pod if isinstance(pod, PodFacts) else facts_of(pod)
    by_plugin: dict[str, Scores] = {}
    for name, (plugin, _) in PLUGINS.items():
        scores = plugin(facts, view, feasible)
        if scores is not None:
            by_plugin[name] = scores
    return {
        info.name: NodeScore(
            total=sum(PLUGINS[plugin][1] * scores[info.name] for plugin, scores in by_plugin.items()),
            by_plugin={plugin: scores[info.name] for plugin, scores in by_plugin.items()},
        )
        for info in feasible
    }


def nodes_to_find(nodes: int) -> int:
    """How many feasible nodes the scheduler looks for before it stops and scores them."""
    if nodes < EXAMINE_ALL_BELOW:
        return nodes
    share = max(50 - nodes // 125, SMALLEST_SHARE)
    return max(nodes * share // 100, EXAMINE_ALL_BELOW)


def least_allocated(pod: PodFacts, _view: ClusterView, feasible: Sequence[NodeInfo]) -> Scores:
    """NodeResourcesFit: the emptier in cpu and memory, the better."""
    cpu, memory = incoming_scoring_weight(pod.pod)
    scores: Scores = {}
    for info in feasible:
        pairs = (
            (info.scoring_cpu + cpu, info.allocatable.cpu),
            (info.scoring_memory + memory, info.allocatable.memory),
        )
        known = [
            0 if asked > room else (room - asked) * MAX_SCORE // room for asked, room in pairs if room != 0
        ]
        scores[info.name] = sum(known) // len(known) if known else 0
    return scores


def balanced_allocation(pod: PodFacts, _view: ClusterView, feasible: Sequence[NodeInfo]) -> Scores | None:
    """NodeResourcesBalancedAllocation (1.36): whether the pod brings cpu and memory use closer together."""
    wanted = incoming_requests(pod.pod)
    if wanted.cpu == 0 and wanted.memory == 0:
        return None
    scores: Scores = {}
    for info in feasible:
        room, used = info.allocatable, info.requested
        before = _balance((used.cpu, room.cpu), (used.memory, room.memory))
        after = _balance((used.cpu + wanted.cpu, room.cpu), (used.memory + wanted.memory, room.memory))
        half = MAX_SCORE // 2
        scores[info.name] = half + (half + after - before) // 2
    return scores


def taint_scores(pod: PodFacts, _view: ClusterView, feasible: Sequence[NodeInfo]) -> Scores:
    """TaintToleration: fewer untolerated PreferNoSchedule taints are better."""
    raw = {info.name: discouraging_taints(pod.pod, info.node) for info in feasible}
    return _normalised(raw, reverse=True)


def node_affinity_scores(pod: PodFacts, _view: ClusterView, feasible: Sequence[NodeInfo]) -> Scores | None:
    """NodeAffinity: the weights of the preferred terms a node satisfies."""
    raw: Scores = {}
    for info in feasible:
        weight = preferred_weight(pod.pod, info.node)
        if weight is None:
            return None
        raw[info.name] = weight
    return _normalised(raw)


def image_scores(pod: PodFacts, view: ClusterView, feasible: Sequence[NodeInfo]) -> Scores:
    """ImageLocality: images already there, weighted by how widespread they are."""
    spec = pod.pod.spec
    wanted = [container.image for container in (*spec.init_containers, *spec.containers)]
    wanted += [volume.image.reference for volume in spec.volumes if volume.image is not None]
    most = IMAGE_AS_LARGE_AS_IT_COUNTS * (len(spec.init_containers) + len(spec.containers))
    held = [view.images[name] for name in map(_with_tag, wanted) if name in view.images]
    scores: Scores = {}
    for info in feasible:
        here = sum(
            int(float(image.size) * (float(len(image.nodes)) / float(len(view.nodes))))
            for image in held
            if info.name in image.nodes
        )
        here = min(max(here, IMAGE_TOO_SMALL_TO_MATTER), most)
        scores[info.name] = (
            MAX_SCORE * (here - IMAGE_TOO_SMALL_TO_MATTER) // (most - IMAGE_TOO_SMALL_TO_MATTER)
        )
    return scores


PLUGINS: dict[str, tuple[ScorePlugin, int]] = {
    "TaintToleration": (taint_scores, 3),
    "NodeAffinity": (node_affinity_scores, 2),
    "PodTopologySpread": (spread_scores, 2),
    "InterPodAffinity": (neighbour_scores, 2),
    "NodeResourcesFit": (least_allocated, 1),
    "NodeResourcesBalancedAllocation": (balanced_allocation, 1),
    "ImageLocality": (image_scores, 1),
}
"""Plugin to its function and default weight."""


def _balance(*pairs: tuple[int, int]) -> int:
    """100 when all resources are used to the same part, 50 at the worst."""
    parts = [min(float(used) / float(room), 1.0) for used, room in pairs if room != 0]
    deviation = abs((parts[0] - parts[1]) / 2) if len(parts) == 2 else 0.0
    return int((1 - deviation) * float(MAX_SCORE))


def _normalised(raw: Scores, *, reverse: bool = False) -> Scores:
    """Stretch to 0..100 by the highest; reversed where less is better."""
    top = max(raw.values(), default=0)
    if top == 0:
        return dict.fromkeys(raw, MAX_SCORE) if reverse else raw
    stretched = {name: MAX_SCORE * score // top for name, score in raw.items()}
    return {name: MAX_SCORE - score for name, score in stretched.items()} if reverse else stretched


def _with_tag(image: str) -> str:
    """An image name as nodes report it: without a tag means `latest`."""
    return image if image.rfind(":") > image.rfind("/") else image + ":latest"
