"""The shape all filter rules share.

The real scheduler splits each plugin in three: PreFilter looks at the pod and the whole cluster once,
Filter looks at one node, and AddPod/RemovePod keep the first one's sums true while preemption tries
things out. A `Rule` is the same: `prepare` functions build one (or say that it does not apply, or stop
everything), `check` asks it about a node, and `pod_changed` tells it that a pod came to or left a node. A
rule that is skipped in `prepare` stays skipped for the whole attempt, also where a trial would have given
it something to say: Kubernetes does the same.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

import msgspec

from tonnage.cluster.scheduling.facts import PodFacts
from tonnage.cluster.scheduling.refusing import Refusal, Stopped
from tonnage.cluster.scheduling.view import ClusterView, NodeInfo


class Rule(msgspec.Struct):
    """One filter plugin, ready for one pod. By default it holds no sums to update or copy."""

    plugin: ClassVar[str]

    def check(self, info: NodeInfo) -> Refusal | None:
        """Why this node will not do, or None."""
        raise NotImplementedError

    def pod_changed(self, pod: PodFacts, info: NodeInfo, by: int) -> None:
        """A pod came to the node (+1) or left it (-1) in a trial."""

    def copy(self) -> Rule:
        """A rule whose sums may be changed; stateless rules are shared."""
        return self

    def only_nodes(self) -> frozenset[str] | None:
        """The only nodes worth looking at, by name, where the pod itself names them."""
        return None


Prepare = Callable[[PodFacts, ClusterView], Rule | Stopped | None]
