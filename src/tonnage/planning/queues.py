"""What Kueue's queues would say: is there quota for the whole run now, by borrowing, later, or never?

A run takes one flavor for each group of resources: the first that has room, of those whose labels its node selector
and affinity allow and whose taints it tolerates. The arithmetic is Kueue's own (`queue_quota`), nested cohorts
included. Quota that is the queue's own but lent out is taken back at once where the queue may reclaim it from anyone.
Not asked here: fair sharing, preemption by priority, topology and admission checks; a queue that has checks is said
to have them.

Once admitted, pods carry their flavor's labels and tolerations, so these are put on before nodes are asked.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec
from msgspec.structs import replace

from tonnage.cluster.objects import Pod, Toleration
from tonnage.cluster.objects.loose import Loose
from tonnage.cluster.objects.meta import LabelSelector
from tonnage.cluster.objects.node import Taint
from tonnage.cluster.scheduling.facts import incoming_requests
from tonnage.cluster.scheduling.selecting import required_node_selector, selector_of, term_matches
from tonnage.cluster.scheduling.tainting import REPELLING, tolerated
from tonnage.cluster.snapshot import NOT_INSTALLED, Snapshot
from tonnage.planning.placing import Wanted
from tonnage.planning.queue_quota import Holder, holder_of, maps
from tonnage.planning.walls import Standing, Wall

DEFAULT_QUEUE = "default"
"""A LocalQueue of this name takes in whoever names none."""


class Queued(msgspec.Struct, frozen=True):
    """Where the run stands in its queue, and the pods as the queue would let them go."""

    wall: Wall | None
    roles: tuple[Wanted, ...]


class _Answer(msgspec.Struct, frozen=True, order=True):
    """How one flavor answers: 0 from its own quota, 1 after taking it back, 2 by borrowing, 3 later, 4 never."""

    grade: int
    standing: Standing = "open"
    text: str = ""
    flavor: str = ""


def ask_queue(queue: str, namespace: str, roles: Sequence[Wanted], snapshot: Snapshot) -> Queued:
    """Where the run would stand in its queue; no wall where no queue is asked for or there is no Kueue."""
    local = _find(snapshot.local_queues, queue or DEFAULT_QUEUE, namespace)
    if local is None:
        return Queued(_without_queue(queue, namespace, snapshot), tuple(roles))
    name, shown = str(local.spec.get("clusterQueue", "")), local.metadata.name
    cluster_queue = _find(snapshot.cluster_queues, name)
    if cluster_queue is None:
        text = f"queue {shown} leads to cluster queue {name}, which is not there"
        return Queued(Wall(kind="queue", name=shown, standing="never", text=text), tuple(roles))
    if not _lets_in(cluster_queue, namespace, snapshot):
        text = f"queue {shown}: cluster queue {name} takes nothing from namespace {namespace}"
        return Queued(Wall(kind="queue", name=shown, standing="never", text=text), tuple(roles))
    if closed := _closed(local, cluster_queue):
        text = f"queue {shown} is closed: {closed}"
        return Queued(Wall(kind="queue", name=shown, standing="wait", text=text), tuple(roles))
    return _judge(shown, cluster_queue, roles, snapshot)


def _without_queue(queue: str, namespace: str, snapshot: Snapshot) -> Wall | None:
    if not queue:
        return None
    gap = snapshot.gap("localqueues.kueue.x-k8s.io")
    if gap is None:
        text = f"there is no queue {queue} in namespace {namespace}"
        return Wall(kind="queue", name=queue, standing="never", text=text)
    if gap.reason == NOT_INSTALLED:
        text = f"queue {queue} is asked for, and Kueue is not installed"
        return Wall(kind="queue", name=queue, standing="never", text=text)
    text = f"queue {queue} could not be seen: {gap.message or gap.reason}"
    return Wall(kind="queue", name=queue, standing="unknown", text=text)


def _closed(local: Loose, cluster_queue: Loose) -> str:
    for item in (local, cluster_queue):
        policy = item.spec.get("stopPolicy")
        if policy in ("Hold", "HoldAndDrain"):
            return f"stopPolicy {policy}"
        for condition in maps(item.status.get("conditions")):
            if condition.get("type") == "Active" and condition.get("status") == "False":
                return str(condition.get("message") or condition.get("reason") or "not active")
    return ""


def _lets_in(queue: Loose, namespace: str, snapshot: Snapshot) -> bool:
    """Whether the queue's namespace selector picks the namespace; one without a selector picks none."""
    written = queue.spec.get("namespaceSelector")
    found = next((item for item in snapshot.namespaces if item.metadata.name == namespace), None)
    if not isinstance(written, dict) or not written or found is None:
        return isinstance(written, dict) or "namespaceSelector" not in queue.spec
    try:
        selector = selector_of(msgspec.convert(written, LabelSelector))
    except msgspec.ValidationError:
        return True
    return selector.matches({"kubernetes.io/metadata.name": namespace, **found.metadata.labels})


def _judge(shown: str, queue: Loose, roles: Sequence[Wanted], snapshot: Snapshot) -> Queued:
    """The best answer any choice of flavors gives: one flavor for each group of resources."""
    asked = _asked(roles)
    worst = _Answer(0)
    covered: set[str] = set()
    chosen: list[str] = []
    for group in maps(queue.spec.get("resourceGroups")):
        names = [name for name in asked if name in set(map(str, group.get("coveredResources") or ()))]
        covered.update(names)
        if not names:
            continue
        answers = _group_answers(queue, group, names, roles, snapshot)
        if not answers:
            text = f"queue {shown} has no flavor that the pods' node selector and tolerations allow"
            return Queued(Wall(kind="queue", name=shown, standing="never", text=text), tuple(roles))
        best = min(answers, key=lambda answer: answer.grade)
        worst = max(worst, best, key=lambda answer: answer.grade)
        chosen.append(best.flavor)
    missing = [name for name in asked if name not in covered]
    if missing:
        text = f"queue {shown} gives no {', '.join(missing)}"
        return Queued(Wall(kind="queue", name=shown, standing="never", text=text), tuple(roles))
    standing, text = _behind(queue, worst)
    wall = Wall(kind="queue", name=shown, standing=standing, text=f"queue {shown} {text}")
    return Queued(wall, tuple(_admitted(role, chosen, snapshot) for role in roles))


def _behind(queue: Loose, answer: _Answer) -> tuple[Standing, str]:
    """The answer with who waits already, and what else is asked before admission."""
    standing, text = answer.standing, answer.text or "has room"
    pending = int(queue.status.get("pendingWorkloads") or 0)
    if pending:
        text += f"; {pending} already waiting"
        if queue.spec.get("queueingStrategy") == "StrictFIFO" and standing == "open":
            standing, text = "wait", f"{text}, and it is strict: first come, first served"
    if queue.spec.get("admissionChecks") or queue.spec.get("admissionChecksStrategy"):
        text += "; its admission checks are not asked here"
    return standing, text


def _group_answers(
    queue: Loose, group: Mapping[str, Any], names: Sequence[str], roles: Sequence[Wanted], snapshot: Snapshot
) -> list[_Answer]:
    """What each flavor of a group says that the pods may have, in the order they are tried."""
    asked = _asked(roles)
    flavors = [str(flavor.get("name")) for flavor in maps(group.get("flavors"))]
    known = {name: _find(snapshot.flavors, name) for name in flavors}
    keys = {key for item in known.values() if item is not None for key in item.spec.get("nodeLabels") or {}}
    found = []
    for name in flavors:
        item = known[name]
        if item is not None and not all(_may_have(role.pod, item, keys) for role in roles):
            continue
        worst = _Answer(0, flavor=name)
        for resource in names:
            holder = holder_of(queue, snapshot.cluster_queues, snapshot.cohorts, name, resource)
            answer = _stand(holder, queue, resource, asked[resource], name)
            worst = max(worst, answer, key=lambda one: one.grade)
        found.append(worst)
    return found


def _stand(own: Holder, queue: Loose, name: str, asked: int, flavor: str) -> _Answer:
    most, available = own.at_most(), own.available()
    use = f"uses {_shown(name, own.used)} of {_shown(name, own.nominal)} {name}"
    if most > own.nominal:
        use = f"uses {_shown(name, own.used)} of {_shown(name, own.nominal)}+{_shown(name, most - own.nominal)} {name}"
    if asked > most:
        text = f"can never give {_shown(name, asked)} {name}: at most {_shown(name, most)}"
        return _Answer(4, "never", text, flavor)
    is_within = own.used + asked <= own.nominal
    if asked <= available:
        if is_within:
            return _Answer(0, "open", use, flavor)
        borrowed = own.used + asked - max(own.nominal, own.used)
        return _Answer(
            2, "open", f"{use}; {_shown(name, borrowed)} would be borrowed and can be taken back", flavor
        )
    if is_within and _reclaims(queue):
        short = asked - max(0, available)
        return _Answer(
            1, "open", f"{use}; {_shown(name, short)} of it is lent out and would be taken back", flavor
        )
    lent = "; others have borrowed it" if is_within else ""
    return _Answer(3, "wait", f"{use}, you ask {_shown(name, asked)}{lent}", flavor)


def _reclaims(queue: Loose) -> bool:
    """Whether it takes its own quota back from whoever borrowed it, whatever their priority."""
    preemption = queue.spec.get("preemption")
    return isinstance(preemption, dict) and preemption.get("reclaimWithinCohort") == "Any"


def _may_have(pod: Pod, flavor: Loose, keys: set[str]) -> bool:
    """Whether the pod's node selector and affinity allow the flavor's labels, and it bears the flavor's taints."""
    labels = {str(key): str(value) for key, value in (flavor.spec.get("nodeLabels") or {}).items()}
    if any(labels.get(key) != value for key, value in pod.spec.node_selector.items() if key in keys):
        return False
    required = required_node_selector(pod)
    if required is not None:
        terms = [
            replace(
                term, match_expressions=tuple(line for line in term.match_expressions if line.key in keys)
            )
            for term in required.node_selector_terms
        ]
        if not any(not term.match_expressions or term_matches(term, labels, "") for term in terms):
            return False
    bears = (*pod.spec.tolerations, *_tolerations(flavor))
    taints = [msgspec.convert(dict(taint), Taint) for taint in maps(flavor.spec.get("nodeTaints"))]
    return all(taint.effect not in REPELLING or tolerated(bears, taint) for taint in taints)


def _admitted(role: Wanted, flavors: Iterable[str], snapshot: Snapshot) -> Wanted:
    """The pods with what their flavors put on them."""
    spec = role.pod.spec
    selector, tolerations = dict(spec.node_selector), list(spec.tolerations)
    for name in flavors:
        item = _find(snapshot.flavors, name)
        if item is not None:
            selector |= {str(key): str(value) for key, value in (item.spec.get("nodeLabels") or {}).items()}
            tolerations += [one for one in _tolerations(item) if one not in tolerations]
    changed = replace(spec, node_selector=selector, tolerations=tuple(tolerations))
    return Wanted(role.name, replace(role.pod, spec=changed), role.count)


def _tolerations(flavor: Loose) -> tuple[Toleration, ...]:
    return tuple(msgspec.convert(dict(one), Toleration) for one in maps(flavor.spec.get("tolerations")))


def _asked(roles: Sequence[Wanted]) -> dict[str, int]:
    """All pods of the run together, by resource."""
    total: dict[str, int] = {}
    for role in roles:
        vector = incoming_requests(role.pod)
        one = {
            "cpu": vector.cpu,
            "memory": vector.memory,
            "ephemeral-storage": vector.storage,
            **vector.scalars,
        }
        for name, amount in one.items():
            if amount:
                total[name] = total.get(name, 0) + amount * role.count
    return total


def _shown(resource: str, amount: int) -> str:
    if resource == "cpu":
        return f"{amount / 1000:,.0f}"
    if resource in ("memory", "ephemeral-storage"):
        return f"{amount / 2**30:,.0f} GiB"
    return f"{amount:,}"


def _find(items: Iterable[Loose], name: str, namespace: str = "") -> Loose | None:
    return next(
        (item for item in items if item.metadata.name == name and item.metadata.namespace == namespace), None
    )
