"""What Tonnage needs to be allowed, verb by verb, and what each missing verb costs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from tonnage.cluster.port import Permission
from tonnage.reporting.doctor.check import ASK_LIVE, Check, Facts, State

AREA = "permissions"
READ = ("list", "watch")


@dataclass(frozen=True)
class Need:
    """A thing to do, and the permissions it takes."""

    name: str
    permissions: tuple[Permission, ...]
    without: str
    is_optional: bool = False


def needs(namespace: str, groups: frozenset[str]) -> tuple[Need, ...]:
    """What to ask for in a namespace (empty: all), leaving out add-ons that are not there."""
    looking = [
        ("pods", ""),
        ("events", ""),
        ("jobs", "batch"),
        ("resourcequotas", ""),
        ("limitranges", ""),
        ("persistentvolumeclaims", ""),
        ("poddisruptionbudgets", "policy"),
    ]
    around = [
        ("nodes", ""),
        ("namespaces", ""),
        ("persistentvolumes", ""),
        ("storageclasses", "storage.k8s.io"),
        ("priorityclasses", "scheduling.k8s.io"),
    ]
    kueue = [
        ("workloads", namespace),
        ("localqueues", namespace),
        ("clusterqueues", ""),
        ("resourceflavors", ""),
    ]
    running = [("jobs", "batch"), ("configmaps", ""), ("services", ""), ("jobsets", "jobset.x-k8s.io")]
    running += [("trainjobs", "trainer.kubeflow.org"), ("pytorchjobs", "kubeflow.org")]
    found = [
        Need("see runs", _each(READ, looking, namespace), "runs, waits and deaths cannot be seen"),
        Need(
            "see the cluster", _each(READ, around, ""), "what is free, and where a run fits, cannot be told"
        ),
        Need("read logs", (Permission("get", "pods", "", namespace, "log"),), "no logs as evidence"),
        Need(
            "start and stop runs",
            _each(("create", "patch", "delete"), [r for r in running if _is_served(r[1], groups)], namespace),
            "runs can be planned but not started",
        ),
        Need(
            "evict pods",
            (Permission("create", "pods", "", namespace, "eviction"),),
            "pods cannot be moved away gently",
            is_optional=True,
        ),
        Need(
            "manage teams",
            _each(("create", "patch"), [("namespaces", ""), ("resourcequotas", ""), ("limitranges", "")], ""),
            "Team documents cannot be applied (an admin's task)",
            is_optional=True,
        ),
    ]
    if "kueue.x-k8s.io" in groups:
        asked = tuple(
            Permission(verb, name, "kueue.x-k8s.io", place) for name, place in kueue for verb in READ
        )
        found.insert(2, Need("see queues", asked, "why a queued run waits cannot be told"))
    return tuple(found)


def check_permissions(facts: Facts) -> Iterator[Check]:
    """One line per thing to do; missing verbs are listed by name."""
    answers = dict(facts.answers)
    if not answers:
        text = f"{facts.snapshot.source} knows no users"
        yield Check(area=AREA, subject="permissions", state=State.UNKNOWN, text=text, remedy=ASK_LIVE)
        return
    place = next((p.namespace for p in answers if p.namespace), "")
    groups = frozenset(facts.groups or ())
    for need in needs(place, groups):
        missing = [p for p in need.permissions if p in answers and answers[p].allowed is False]
        yield _check(need, missing, place)


def _check(need: Need, missing: list[Permission], place: str) -> Check:
    is_inside = place and any(permission.namespace for permission in need.permissions)
    where = f"in namespace {place}" if is_inside else "in the whole cluster"
    if not missing:
        return Check(area=AREA, subject=need.name, state=State.OK, text=f"allowed {where}")
    return Check(
        area=AREA,
        subject=need.name,
        state=State.ABSENT if need.is_optional else State.PROBLEM,
        text=f"{'not' if len(missing) == len(need.permissions) else 'not all of it'} allowed {where}: "
        f"{need.without}",
        remedy=f"ask an admin for: {grouped(missing)}",
        permissions=tuple(str(permission) for permission in missing),
    )


def grouped(missing: list[Permission]) -> str:
    """Missing verbs by resource: `list, watch on nodes, pods; get on pods/log`."""
    verbs: dict[str, list[str]] = {}
    for permission in missing:
        verbs.setdefault(str(permission).split(" ", 1)[1], []).append(permission.verb)
    resources: dict[tuple[str, ...], list[str]] = {}
    for resource, found in verbs.items():
        resources.setdefault(tuple(found), []).append(resource)
    return "; ".join(f"{', '.join(found)} on {', '.join(names)}" for found, names in resources.items())


def _each(verbs: tuple[str, ...], resources: list[tuple[str, str]], namespace: str) -> tuple[Permission, ...]:
    return tuple(Permission(verb, name, group, namespace) for name, group in resources for verb in verbs)


def _is_served(group: str, groups: frozenset[str]) -> bool:
    return group in ("", "batch") or group in groups
