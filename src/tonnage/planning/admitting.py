"""Everything that may refuse or hold back a run before any node is asked: its namespace, then its queue."""

from __future__ import annotations

import datetime as dt

from msgspec.structs import replace
from msgspec.structs import replace as with_fields

from tonnage.cluster.snapshot import Snapshot
from tonnage.planning.ground import Ground
from tonnage.planning.placing import Wanted
from tonnage.planning.pods import wanted
from tonnage.planning.queues import ask_queue
from tonnage.planning.walls import NamespaceAnswer, ask_namespace
from tonnage.planning.workload import Workload

NO_CLUSTER = Snapshot(taken_at=dt.datetime(1970, 1, 1, tzinfo=dt.UTC), source="")
"""Nothing but the API server's own rules."""


def ask_walls(workload: Workload, ground: Ground | None) -> NamespaceAnswer:
    roles = [wanted(role) for role in workload.roles]
    if ground is None:
        return ask_namespace([_unranked(role) for role in roles], workload.namespace, NO_CLUSTER)
    snapshot = ground.snapshot
    if not snapshot.priority_classes:
        roles = [_unranked(role) for role in roles]
    answer = ask_namespace(roles, workload.namespace, snapshot)
    queued = ask_queue(workload.queue, workload.namespace, answer.roles, snapshot)
    walls = answer.walls if queued.wall is None else (*answer.walls, queued.wall)
    return replace(answer, roles=queued.roles, walls=walls)


def _unranked(role: Wanted) -> Wanted:
    """Without its priority class, where the classes could not be seen: whether it exists is not known."""
    pod = role.pod
    spec = with_fields(pod.spec, priority_class_name="")
    return Wanted(role.name, with_fields(pod, spec=spec), role.count)
