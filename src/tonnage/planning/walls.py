"""What the namespace says before any node is asked: limit ranges, priority, quotas.

The API server's own rules are asked (`cluster/admission`), about all pods of the run together: a quota that
lets seven of eight pods in makes a gang that holds seven and trains none. A wall that would stand on an empty
namespace needs another request; one that others have used up needs patience, or a word with them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from tonnage.cluster.admission.admitting import Admitted, NamespacePolicies, admit
from tonnage.cluster.admission.quota import check_pod, pod_meets, pod_usage
from tonnage.cluster.messages.quota import MustSpecify
from tonnage.cluster.objects import Pod, ResourceQuota
from tonnage.cluster.resources import amounts
from tonnage.cluster.snapshot import Snapshot
from tonnage.planning.placing import Wanted
from tonnage.units import Quantity, format_bytes

Standing = Literal["open", "wait", "never", "unknown"]
"""`open` lets all in now, `wait` would when others leave, `never` not as asked, `unknown` could not be seen."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wall:
    """One thing that may hold the run back, and where it stands."""

    kind: Literal["quota", "limit range", "priority", "pod", "queue"]
    name: str
    standing: Standing
    text: str
    """One sentence for people."""
    resource: str = ""
    asked: str = ""
    used: str = ""
    hard: str = ""


@dataclass(frozen=True, slots=True)
class NamespaceAnswer:
    """The pods as the API server would store them, and the walls they met."""

    roles: tuple[Wanted, ...]
    qos: str
    """QoS class of the pods that train; empty where one was refused."""
    walls: tuple[Wall, ...]


def ask_namespace(roles: Sequence[Wanted], namespace: str, snapshot: Snapshot) -> NamespaceAnswer:
    """What limit ranges make of the pods, and whether priority classes and quotas let all of them in."""
    policies = NamespacePolicies(
        limit_ranges=[item for item in snapshot.limit_ranges if item.metadata.namespace == namespace],
        priority_classes=snapshot.priority_classes,
    )
    stored: list[Wanted] = []
    walls: list[Wall] = []
    qos = ""
    for role in roles:
        answer = admit(role.pod, policies)
        if isinstance(answer, Admitted):
            stored.append(Wanted(role.name, answer.pod, role.count))
            qos = qos or answer.qos
        else:
            stored.append(role)
            walls.append(_refused(role, answer.message))
    quotas = [quota for quota in snapshot.quotas if quota.metadata.namespace == namespace]
    for quota in quotas:
        walls.extend(_quota_walls(quota, stored))
    return NamespaceAnswer(tuple(stored), qos, tuple(walls))


def _refused(role: Wanted, message: str) -> Wall:
    if "PriorityClass" in message:
        kind: Literal["limit range", "priority", "pod"] = "priority"
    else:
        kind = "pod" if " is invalid: " in message else "limit range"
    return Wall(
        kind=kind,
        name=role.name,
        standing="never",
        text=f"the API server would refuse the pods: {message}",
    )


def _quota_walls(quota: ResourceQuota, roles: Sequence[Wanted]) -> list[Wall]:
    """Where each resource of a quota stands with all pods of the run added to what is used."""
    met = [role for role in roles if pod_meets(role.pod, quota)]
    if not met:
        return []
    name = quota.metadata.name
    if missing := [text for role in met if (text := _unsaid(role.pod, quota))]:
        return [Wall(kind="quota", name=name, standing="never", text=missing[0])]
    asked = _together(met)
    hard, used = amounts(quota.status.hard), amounts(quota.status.used)
    walls = []
    for key in sorted(set(asked) & set(hard)):
        if asked[key].is_zero():
            continue
        walls.append(_one_wall(name, key, asked[key], used.get(key), hard[key]))
    return walls


def _one_wall(name: str, key: str, asked: Quantity, used: Quantity | None, hard: Quantity) -> Wall:
    if used is None:
        standing: Standing = "unknown"
        text = f"quota {name}: {key} has not been counted yet"
    elif asked > hard:
        standing = "never"
        text = f"quota {name}: you ask {_shown(key, asked)} of {key}, the wall is {_shown(key, hard)}"
    elif used + asked > hard:
        standing = "wait"
        text = (
            f"quota {name}: {key} {_shown(key, used)} of {_shown(key, hard)} in use, "
            f"you ask {_shown(key, asked)}"
        )
    else:
        standing = "open"
        text = f"quota {name}: {key} {_shown(key, used + asked)} of {_shown(key, hard)} with this run"
    return Wall(
        kind="quota",
        name=name,
        standing=standing,
        text=text,
        resource=key,
        asked=str(asked),
        used="" if used is None else str(used),
        hard=str(hard),
    )


def _shown(key: str, amount: Quantity) -> str:
    """An amount as people read it: a worked-out request is a number of bytes that nobody can."""
    is_bytes = key.endswith(("memory", "storage"))
    return format_bytes(amount.value()) if is_bytes else str(amount)


def _together(roles: Sequence[Wanted]) -> dict[str, Quantity]:
    total: dict[str, Quantity] = {}
    for role in roles:
        for key, amount in pod_usage(role.pod).items():
            all_of_them = Quantity(amount.nano * role.count, amount.format)
            total[key] = total[key] + all_of_them if key in total else all_of_them
    return total


def _unsaid(pod: Pod, quota: ResourceQuota) -> str | None:
    for refusal in check_pod(pod, [quota]):
        if isinstance(refusal, MustSpecify):
            return f"quota {quota.metadata.name} refuses pods that leave out {', '.join(refusal.missing)}"
    return None
