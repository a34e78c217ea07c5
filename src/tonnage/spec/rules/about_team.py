"""Rules about a Team."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import pairwise
from typing import Any

from tonnage.cluster.gpus import find_gpu, nearest_gpus
from tonnage.spec.rules.about_money import budget_is_a_wall
from tonnage.spec.rules.remarks import Remark
from tonnage.spec.team import Team


def guaranteed_within_maximum(team: Team) -> Iterator[Remark]:
    """Nobody can be guaranteed more than they may use."""
    for kind, share in team.spec.gpus.items():
        if share.maximum is not None and share.guaranteed > share.maximum:
            yield Remark(
                code="DOC-032",
                path=("spec", "gpus", kind),
                what=f"{share.guaranteed} guaranteed, at most {share.maximum}",
                expected="guaranteed at most maximum",
                hint=f"try {share.maximum}..{share.guaranteed}",
            )


def gpu_types_are_known(team: Team) -> Iterator[Remark]:
    """Types outside our table are legal; `any` stands for all."""
    for kind in team.spec.gpus:
        if kind != "any" and find_gpu(kind) is None:
            near = nearest_gpus(kind)
            yield Remark(
                code="DOC-052",
                path=("spec", "gpus", kind),
                what=f"the GPU type '{kind}' is not in our table",
                hint=f"did you mean {near[0]}?" if near else None,
                is_mild=True,
            )


def walls_are_amounts(team: Team) -> Iterator[Remark]:
    """`auto` sizes a run; a wall must say where it stands."""
    for part, name in (("compute", team.spec.compute), ("container", team.spec.container.default)):
        for resource in ("cpu", "memory", "disk"):
            value = getattr(name, resource)
            if value is not None and value.is_auto:
                path = ("spec", part, resource) if part == "compute" else ("spec", part, "default", resource)
                yield Remark(
                    code="DOC-025",
                    path=path,
                    what="'auto' is not an amount",
                    expected="an amount, or two with ..",
                )


def container_bounds_agree(team: Team) -> Iterator[Remark]:
    """min <= default request <= default limit <= max, for every resource."""
    bounds = team.spec.container
    for resource in ("cpu", "memory", "disk"):
        low, high = getattr(bounds.min, resource), getattr(bounds.max, resource)
        default = getattr(bounds.default, resource)
        request, limit = (None, None) if default is None else (default.request, default.limit)
        steps = [("min", low), ("default", request), ("default", limit), ("max", high)]
        yield from _ordered(
            "container", resource, [(name, value) for name, value in steps if value is not None]
        )
    if bounds.min.gpus is not None and bounds.max.gpus is not None and bounds.min.gpus > bounds.max.gpus:
        yield from _ordered("container", "gpus", [("min", bounds.min.gpus), ("max", bounds.max.gpus)])


def claim_bounds_agree(team: Team) -> Iterator[Remark]:
    """min <= default <= max, for claims."""
    claim = team.spec.claim
    steps = [("min", claim.min), ("default", claim.default), ("max", claim.max)]
    yield from _ordered("claim", None, [(name, value) for name, value in steps if value is not None])


def claims_fit_the_storage(team: Team) -> Iterator[Remark]:
    """A claim larger than the whole wall can never be made; a class cannot have more than everything."""
    total = team.spec.storage.total
    if total is None:
        return
    if team.spec.claim.min is not None and team.spec.claim.min > total:
        yield Remark(
            code="DOC-033",
            path=("spec", "claim", "min"),
            what=f"the smallest claim {team.spec.claim.min} is above all storage {total}",
            expected="at most spec.storage.total",
        )
    for name, wall in team.spec.storage.classes.items():
        if wall.total is not None and wall.total > total:
            yield Remark(
                code="DOC-033",
                path=("spec", "storage", "classes", name),
                what=f"{wall.total} of class {name}, and {total} in all",
                expected="at most spec.storage.total",
            )


def priority_classes_agree(team: Team) -> Iterator[Remark]:
    """Each class once, and the default is one of them."""
    names = [entry.name for entry in team.spec.priority_classes]
    for index, name in enumerate(names):
        if name in names[:index]:
            yield Remark(
                code="DOC-030",
                path=("spec", "priorityClasses", index),
                what=f"'{name}' is named twice",
                expected="each class once",
            )
    default = team.spec.default_priority
    if default is not None and names and default not in names:
        yield Remark(
            code="DOC-039",
            path=("spec", "defaultPriority"),
            what=f"'{default}' is not among priorityClasses",
            expected=" or ".join(dict.fromkeys(names)),
            absent=(("spec", "priorityClasses"),),
        )


def members_once(team: Team) -> Iterator[Remark]:
    """A member with two roles has none that anybody could predict."""
    seen: set[tuple[str, str]] = set()
    for index, member in enumerate(team.spec.members):
        key = (member.kind, member.name)
        if key in seen:
            yield Remark(
                code="DOC-030",
                path=("spec", "members", index),
                what=f"'{member.name}' is named twice",
                expected="each member once",
            )
        seen.add(key)


def _ordered(part: str, resource: str | None, steps: list[tuple[str, Any]]) -> Iterator[Remark]:
    for (low_name, low), (high_name, high) in pairwise(steps):
        if low > high:
            path: tuple[str, ...] = ("spec", part, low_name, *((resource,) if resource else ()))
            yield Remark(
                code="DOC-033",
                path=path,
                what=f"{low_name} {low} is above {high_name} {high}",
                expected="min, default request, default limit, max in this order",
            )


def budget_has_one_limit(team: Team) -> Iterator[Remark]:
    """What the team may spend."""
    budget = team.spec.budget
    yield from budget_is_a_wall(budget.limit if budget else None, ("spec", "budget", "limit"))


TEAM_RULES: tuple[Callable[[Team], Iterable[Remark]], ...] = (
    guaranteed_within_maximum,
    gpu_types_are_known,
    walls_are_amounts,
    container_bounds_agree,
    claim_bounds_agree,
    claims_fit_the_storage,
    priority_classes_agree,
    members_once,
    budget_has_one_limit,
)
