"""What Kueue's queues would say: is there quota for the whole run now, by borrowing, later, or never?

The arithmetic is Kueue's own for one run against the cohort as it stands: a queue may use its nominal quota,
and beyond it what others of the cohort leave unused, up to its borrowing limit and their lending limits. Not
asked here: fair sharing, preemption of others, topology, nested cohorts and admission checks; a queue that
has those is said to have them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tonnage.cluster.objects.loose import Loose
from tonnage.cluster.scheduling.facts import incoming_requests
from tonnage.cluster.snapshot import NOT_INSTALLED, Snapshot
from tonnage.planning.placing import Wanted
from tonnage.planning.walls import Standing, Wall
from tonnage.units import Quantity, try_quantity

DEFAULT_QUEUE = "default"
_UNLIMITED = 2**63


@dataclass(frozen=True, slots=True)
class Quota:
    """One resource of one flavor of a queue, in the scheduler's units (cpu in thousandths)."""

    nominal: int
    borrowing: int
    lending: int
    used: int

    @property
    def lent_at_most(self) -> int:
        """What others may take of it now."""
        return max(0, min(self.lending, self.nominal - self.used))


def ask_queue(queue: str, namespace: str, roles: Sequence[Wanted], snapshot: Snapshot) -> Wall | None:
    """Where the run would stand in its queue; nothing where no queue is asked for or there is no Kueue."""
    local = _find(snapshot.local_queues, queue or DEFAULT_QUEUE, namespace)
    if local is None:
        return _without_queue(queue, namespace, snapshot)
    name = str(local.spec.get("clusterQueue", ""))
    cluster_queue = _find(snapshot.cluster_queues, name)
    shown = local.metadata.name
    if cluster_queue is None:
        text = f"queue {shown} leads to cluster queue {name}, which is not there"
        return Wall(kind="queue", name=shown, standing="never", text=text)
    if closed := _closed(local, cluster_queue):
        return Wall(kind="queue", name=shown, standing="wait", text=f"queue {shown} is closed: {closed}")
    return _judge(shown, cluster_queue, _asked(roles), snapshot)


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
        for condition in _maps(item.status.get("conditions")):
            if condition.get("type") == "Active" and condition.get("status") == "False":
                return str(condition.get("message") or condition.get("reason") or "not active")
    return ""


def _judge(shown: str, queue: Loose, asked: Mapping[str, int], snapshot: Snapshot) -> Wall:
    """The best answer any choice of flavors gives: one flavor for each group of resources."""
    cohort = _cohort_of(queue)
    others = [
        item
        for item in snapshot.cluster_queues
        if cohort and _cohort_of(item) == cohort and item.metadata.name != queue.metadata.name
    ]
    worst: tuple[int, Standing, str] = (0, "open", "")
    covered: set[str] = set()
    for group in _maps(queue.spec.get("resourceGroups")):
        names = [name for name in asked if name in set(map(str, group.get("coveredResources") or ()))]
        covered.update(names)
        flavors = [str(flavor.get("name")) for flavor in _maps(group.get("flavors"))]
        answers = [_flavor_answer(queue, others, flavor, names, asked) for flavor in flavors]
        if names and answers:
            worst = max(worst, min(answers))
    missing = [name for name in asked if name not in covered]
    if missing:
        text = f"queue {shown} gives no {', '.join(missing)}"
        return Wall(kind="queue", name=shown, standing="never", text=text)
    pending = int(queue.status.get("pendingWorkloads") or 0)
    ahead = f"; {pending} already waiting" if pending else ""
    text = worst[2] or "has room"
    return Wall(kind="queue", name=shown, standing=worst[1], text=f"queue {shown} {text}{ahead}")


def _flavor_answer(
    queue: Loose, others: Iterable[Loose], flavor: str, names: Iterable[str], asked: Mapping[str, int]
) -> tuple[int, Standing, str]:
    """How one flavor answers for its resources, the worst of them: 0 nominal, 1 borrows, 2 waits, 3 never."""
    worst: tuple[int, Standing, str] = (0, "open", "")
    for name in names:
        own = _quota(queue, flavor, name)
        rest = [_quota(item, flavor, name) for item in others]
        worst = max(worst, _stand(own, rest, name, asked[name]))
    return worst


def _stand(own: Quota, others: Sequence[Quota], name: str, asked: int) -> tuple[int, Standing, str]:
    lendable = sum(min(quota.lending, quota.nominal) for quota in others)
    most = own.nominal + min(own.borrowing, lendable)
    use = f"uses {_shown(name, own.used)} of {_shown(name, own.nominal)} {name}"
    if most > own.nominal:
        use = f"uses {_shown(name, own.used)} of {_shown(name, own.nominal)}+{_shown(name, most - own.nominal)} {name}"
    if asked > most:
        return 3, "never", f"can never give {_shown(name, asked)} {name}: at most {_shown(name, most)}"
    if own.used + asked <= own.nominal:
        return 0, "open", use
    free = max(0, own.nominal - own.used) + sum(quota.lent_at_most for quota in others)
    if asked <= free and own.used + asked <= own.nominal + own.borrowing:
        borrowed = own.used + asked - max(own.nominal, own.used)
        return 1, "open", f"{use}; {_shown(name, borrowed)} would be borrowed and can be taken back"
    return 2, "wait", f"{use}, you ask {_shown(name, asked)}"


def _quota(queue: Loose, flavor: str, resource: str) -> Quota:
    nominal = borrowing = lending = 0
    for group in _maps(queue.spec.get("resourceGroups")):
        for item in _maps(group.get("flavors")):
            for line in _maps(item.get("resources")) if item.get("name") == flavor else ():
                if line.get("name") == resource:
                    nominal = _amount(resource, line.get("nominalQuota"))
                    borrowing = _amount(resource, line.get("borrowingLimit"), missing=_UNLIMITED)
                    lending = _amount(resource, line.get("lendingLimit"), missing=_UNLIMITED)
    if not _cohort_of(queue):
        borrowing = lending = 0
    return Quota(nominal, borrowing, lending, _used(queue, flavor, resource))


def _used(queue: Loose, flavor: str, resource: str) -> int:
    for item in _maps(queue.status.get("flavorsReservation")):
        for line in _maps(item.get("resources")) if item.get("name") == flavor else ():
            if line.get("name") == resource:
                return _amount(resource, line.get("total"))
    return 0


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
    if resource == "memory":
        return f"{amount / 2**30:,.0f} GiB"
    return f"{amount:,}"


def _amount(resource: str, value: Any, *, missing: int = 0) -> int:
    if value is None:
        return missing
    quantity = try_quantity(str(value)) or Quantity(0)
    return quantity.milli() if resource == "cpu" else quantity.value()


def _cohort_of(queue: Loose) -> str:
    return str(queue.spec.get("cohortName") or queue.spec.get("cohort") or "")


def _find(items: Iterable[Loose], name: str, namespace: str = "") -> Loose | None:
    return next(
        (item for item in items if item.metadata.name == name and item.metadata.namespace == namespace), None
    )


def _maps(value: Any) -> list[dict[str, Any]]:
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []
