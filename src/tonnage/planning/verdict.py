"""The verdict: what stands in the way, and the smallest change that was found for each.

An obstacle with a change makes "fits if"; one without makes "cannot fit". Waiting is no obstacle: what others
hold now decides when a run starts, not whether it fits.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from tonnage.planning.answers import Change, Need, Plan, Verdict
from tonnage.planning.changing import gib
from tonnage.planning.protecting import change_against_losing
from tonnage.planning.workload import Workload
from tonnage.units import format_bytes

_GIB = 2**30
_FIELDS = {"memory": "memory", "shm": "shm", "disk": "disk", "cpu": "cpu"}
OF_A_NODE = 0.95
"""What a run may have of a node's cores: daemons have the rest."""
_CONSEQUENCES = {
    "memory": "it would be killed (OOMKilled)",
    "shm": "data loader workers would die with a bus error",
    "disk": "it would be evicted",
}


class Obstacle(msgspec.Struct, frozen=True):
    """Something in the way: why, and every single change that was found to remove it, the best first."""

    why: str
    changes: tuple[Change, ...] = ()


def verdict_of(obstacles: Sequence[Obstacle]) -> tuple[Verdict, tuple[Change, ...]]:
    """The verdict, and the other changes that would have done."""
    if not obstacles:
        return Verdict("fits"), ()
    obstacles = _answered_once(obstacles)
    reasons = tuple(obstacle.why for obstacle in obstacles if not obstacle.changes)
    changes = tuple(obstacle.changes[0] for obstacle in obstacles if obstacle.changes)
    others = tuple(change for obstacle in obstacles for change in obstacle.changes[1:])
    if reasons:
        return Verdict("cannot fit", changes, reasons), others
    return Verdict("fits if", changes), others


def _answered_once(obstacles: Sequence[Obstacle]) -> list[Obstacle]:
    """Obstacles without those that the change for an earlier one removes too: it is made once, and does both."""
    left: list[Obstacle] = []
    for obstacle in obstacles:
        same = [
            (number, change)
            for number, earlier in enumerate(left)
            for change in obstacle.changes
            if earlier.changes and earlier.changes[0].what == change.what
        ]
        if not same:
            left.append(obstacle)
            continue
        number, change = same[0]
        first, *others = left[number].changes
        effects = dict.fromkeys(filter(None, (first.effect, change.effect)))
        both = msgspec.structs.replace(first, effect="; ".join(effects))
        left[number] = msgspec.structs.replace(left[number], changes=(both, *others))
    return left


def need_obstacles(needs: Sequence[Need], workload: Workload) -> list[Obstacle]:
    """Needs that a node cannot give, and wishes that are below the need."""
    found = []
    for need in needs:
        if need.state != "does not fit":
            continue
        if need.there is not None and need.needed is not None and need.needed > need.there:
            why = f"{_label(need)}: {_shown(need, need.needed)} needed, a node has {_shown(need, need.there)}"
            found.append(Obstacle(why, _fewer_workers(need, workload, why)))
        elif need.there is not None and need.granted is not None and need.granted > need.there:
            found.append(_asks_too_much(need))
        else:
            found.append(_asks_too_little(need, workload))
    return found


def losing_obstacle(plan: Plan) -> list[Obstacle]:
    """Work that can be lost, with the price of losing it."""
    if not plan.risk.is_refused:
        return []
    change = change_against_losing(plan.workload, plan.risk)
    return [Obstacle(change.why, (change,))]


def claim_obstacles(missing: Sequence[str], workload: Workload) -> list[Obstacle]:
    """Claims that are mounted and do not exist: the pods would wait for ever."""
    return [
        Obstacle(
            f"pvc/{name} does not exist in namespace {workload.namespace}",
            (
                Change(
                    what=f"create the claim {name} in namespace {workload.namespace}",
                    effect="its pods wait until it is there",
                    why=f"pvc/{name} does not exist",
                    answers="claims",
                ),
            ),
        )
        for name in missing
    ]


def _fewer_workers(need: Need, workload: Workload, why: str) -> tuple[Change, ...]:
    """As many loader workers as a node has cores for beside the ranks, where workers are what is too much."""
    asked = workload.run.spec.train.loader.workers if workload.run is not None else 0
    held = {part.name: part.amount for part in need.parts}.get("loader workers", 0)
    if need.name != "cpu" or not asked or not held or need.needed is None or need.there is None:
        return ()
    rest = int(need.there * OF_A_NODE) - (need.needed - held)
    workers = rest * asked // held
    if workers < 0:
        return ()
    return (
        Change(
            what=f"train.loader.workers: {workers}",
            effect=f"{_shown(need, need.needed - held + held * workers // asked)}",
            field="train.loader.workers",
            value=workers,
            why=why,
            answers=need.name,
        ),
    )


def _asks_too_much(need: Need) -> Obstacle:
    assert need.granted is not None
    assert need.there is not None
    why = f"{_label(need)}: {_shown(need, need.granted)} asked for, a node has {_shown(need, need.there)}"
    least = need.needed
    if least is None:
        return Obstacle(why)
    value = _typed(need, least)
    change = Change(
        what=f"{_FIELDS[need.name]}: {value}",
        effect=f"what it needs; a node has {_shown(need, need.there)}",
        field=_FIELDS[need.name],
        value=value,
        why=why,
        answers=need.name,
    )
    return Obstacle(why, (change,))


def _asks_too_little(need: Need, workload: Workload) -> Obstacle:
    assert need.asked is not None
    assert need.needed is not None
    consequence = _CONSEQUENCES[need.name]
    why = f"{_label(need)}: {_shown(need, need.asked)} is below the {_shown(need, need.needed)} needed: {consequence}"
    value = _typed(need, need.needed)
    place = _FIELDS[need.name] if workload.run is not None else f"limits: {need.name}"
    change = Change(
        what=f"{place}: {value}",
        effect=f"instead of {_shown(need, need.asked)}",
        field=_FIELDS[need.name],
        value=value,
        why=why,
        answers=need.name,
    )
    return Obstacle(why, (change,))


def _label(need: Need) -> str:
    return {"memory": "RAM", "shm": "/dev/shm", "disk": "disk", "cpu": "cpu"}[need.name]


def _shown(need: Need, amount: int) -> str:
    return f"{amount / 1000:,.0f} cores" if need.name == "cpu" else format_bytes(amount)


def _typed(need: Need, amount: int) -> str | int:
    """An amount as people type it, rounded up to what they would say."""
    if need.name == "cpu":
        return -(-amount // 1000)
    return f"{-(-amount // _GIB)}Gi"


def memory_why(plan: Plan) -> str:
    """Why the step does not fit, in one line."""
    estimate, usable = plan.memory.estimate, plan.memory.usable
    if estimate is None or usable is None:
        return ""
    return f"GPU memory: {gib(estimate.required)} needed, {plan.memory.gpu} has {gib(usable)}"
