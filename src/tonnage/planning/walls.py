"""What the namespace says before any node is asked: limit ranges, priority, quotas.

The API server's own rules are asked (`cluster/admission`), about all pods of the run together: a quota that
lets seven of eight pods in makes a gang that holds seven and trains none. A wall that would stand on an empty
namespace needs another request; one that others have used up needs patience, or a word with them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import msgspec

from tonnage.cluster.admission.admitting import Admitted, NamespacePolicies, Rejected, admit
from tonnage.cluster.admission.defaulting import default_limit_range, default_pod
from tonnage.cluster.admission.limiting import fill_defaults, pod_limits_broken
from tonnage.cluster.admission.quota import check_pod, pod_meets, pod_usage
from tonnage.cluster.messages.limiting import LimitBroken
from tonnage.cluster.messages.quota import MustSpecify
from tonnage.cluster.objects import LimitRange, Pod, ResourceQuota
from tonnage.cluster.qos import compute_qos_class
from tonnage.cluster.resources import amounts
from tonnage.cluster.snapshot import Snapshot
from tonnage.planning.placing import Wanted
from tonnage.units import Quantity, format_bytes, parse_quantity

UNREADABLE = 400
"""The status of a pod whose amounts are none."""
Standing = Literal["open", "wait", "never", "unknown"]
"""`open` lets all in now, `wait` would when others leave, `never` not as asked, `unknown` could not be seen."""


class Wall(msgspec.Struct, frozen=True, kw_only=True):
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


class NamespaceAnswer(msgspec.Struct, frozen=True):
    """The pods as the API server would store them, and the walls they met."""

    roles: tuple[Wanted, ...]
    qos: str
    """QoS class of the pods that train; of those that are refused, the one they would have."""
    walls: tuple[Wall, ...]


def ask_namespace(roles: Sequence[Wanted], namespace: str, snapshot: Snapshot) -> NamespaceAnswer:
    """What limit ranges make of the pods, and whether priority classes and quotas let all of them in."""
    policies = NamespacePolicies(
        limit_ranges=[
            default_limit_range(item, printed=False)  # one from a file has not been through the API server
            for item in snapshot.limit_ranges
            if item.metadata.namespace == namespace
        ],
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
        elif answer.status == UNREADABLE:
            stored.append(role)
            walls.append(_refused("pod", role, answer))
        else:  # it goes on as it would be stored, so that quotas and nodes are asked as well
            filled = _as_judged(role.pod, policies.limit_ranges)
            stored.append(Wanted(role.name, filled, role.count))
            qos = qos or compute_qos_class(filled)
            walls.extend(_refusals(role, answer, filled, policies.limit_ranges))
    quotas = [quota for quota in snapshot.quotas if quota.metadata.namespace == namespace]
    for quota in quotas:
        walls.extend(_quota_walls(quota, stored))
    return NamespaceAnswer(tuple(stored), qos, tuple(walls))


def _as_judged(pod: Pod, limit_ranges: Sequence[LimitRange]) -> Pod:
    """A pod with the defaults that it is judged with, refused or not."""
    filled = default_pod(pod)
    for limit_range in limit_ranges:
        filled = fill_defaults(filled, limit_range)
    return filled


def _refusals(role: Wanted, answer: Rejected, filled: Pod, limit_ranges: Sequence[LimitRange]) -> list[Wall]:
    """What refuses a pod: its priority class, its own faults, or every wall of a limit range, one by one."""
    if "PriorityClass" in answer.message:
        return [_refused("priority", role, answer)]
    if " is invalid: " in answer.message:
        return [_refused("pod", role, answer)]
    walls = [
        _limit_wall(limit_range.metadata.name, broken)
        for limit_range in limit_ranges
        for broken in pod_limits_broken(filled, limit_range)
    ]
    return list({wall.text: wall for wall in walls}.values()) or [_refused("pod", role, answer)]


def _refused(kind: Literal["priority", "pod"], role: Wanted, answer: Rejected) -> Wall:
    return Wall(
        kind=kind,
        name=role.name,
        standing="never",
        text=f"the API server would refuse the pods: {answer.message}",
    )


def _limit_wall(name: str, broken: LimitBroken) -> Wall:
    """One wall of a limit range, in amounts that people read."""
    resource, owner = broken.resource, "a pod" if broken.per == "Pod" else "a container"
    bound = broken.bound if broken.wall == "ratio" else _shown(resource, parse_quantity(broken.bound))
    found = None
    if broken.found is not None and broken.wall != "ratio":
        found = _shown(resource, parse_quantity(broken.found))
    most = "at least" if broken.wall == "minimum" else "at most"
    if broken.wall == "ratio":
        said = f"is {float(broken.found):.3g} times" if broken.found else "cannot be told without both"
        text = f"the {resource} limit of {owner} may be at most {bound} times its request, and {said}"
    elif found is None:
        text = f"{owner} must have a {broken.side} for {resource}, {most} {bound}"
    else:
        text = f"{owner} has {most} {bound} of {resource}, and this one's {broken.side} is {found}"
    return Wall(
        kind="limit range",
        name=name,
        standing="never",
        text=f"limit range {name}: {text}",
        resource=resource,
        asked=broken.found or "",
        hard=broken.bound,
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
