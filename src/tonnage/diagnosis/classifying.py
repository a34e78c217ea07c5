"""From all evidence of an end to one finding: every family looks, the most credible sign wins, the rest contributes.

Order of belief is the tier (what Tonnage did itself, the control plane, the runtime, kernel and GPU, exceptions that
name a cause, other exceptions, symptoms, exit codes). Two corrections make it a search for the *first* fault across
ranks: a root that is known to have ended earlier on another pod displaces a later one, and an exception that follows
a symptom on the same pod is its consequence.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Sequence

from tonnage.diagnosis.classes import CLASSES, UNKNOWN
from tonnage.diagnosis.evidence import Evidence
from tonnage.diagnosis.families import FAMILIES
from tonnage.diagnosis.finding import Finding
from tonnage.diagnosis.rules import Sign, Tier, apply
from tonnage.diagnosis.statements import View

EARLIER_SECONDS = 2.0
"""How much earlier another pod must have ended for its fault to be the first: clocks and kubelets differ by less."""
MAX_LINES = 6


def classify(evidence: Evidence) -> Finding:
    """What happened, with the lines it rests on; what else was seen is in `contributing`."""
    view = View(evidence)
    signs = _gathered(view)
    if not signs:
        return _unknown(evidence)
    first = _first_fault(signs)
    return _finding(first, signs, evidence)


def _gathered(view: View) -> list[Sign]:
    found: list[Sign] = []
    for family in FAMILIES:
        found.extend(apply(family.rules, view))
        found.extend(family.signs(view))
    return sorted(_without_consequences(found), key=_belief)


def _belief(sign: Sign) -> tuple[object, ...]:
    """Tier, then time where there is one, then place in the log, then how sure."""
    when = sign.when.timestamp() if sign.when is not None else float("inf")
    return (sign.tier, when, sign.node if sign.node is not None else -1, sign.order, -sign.confidence)


def _without_consequences(signs: Iterable[Sign]) -> list[Sign]:
    """Exceptions that tell a symptom, or follow one on the same pod, only repeat it; so do later failed meetings."""
    signs = list(signs)
    cried = [(each.node, each.order) for each in signs if each.tier is Tier.SYMPTOM]

    def follows(each: Sign) -> bool:
        if each.tier is Tier.PROGRAM:
            return any(node == each.node and at <= each.order for node, at in cried)
        return each.code == "NET-04" and any(node == each.node and at < each.order for node, at in cried)

    return [each for each in signs if not follows(each)]


def _first_fault(signs: Sequence[Sign]) -> Sign:
    """The most credible sign, unless another pod is known to have failed on its own before."""
    best = signs[0]
    for other in signs[1:]:
        is_rival = Tier.OURS < other.tier <= Tier.ROOT and other.node != best.node
        if is_rival and best.tier > Tier.OURS and _is_earlier(other.when, best.when):
            best = other
    return best


def _is_earlier(one: dt.datetime | None, other: dt.datetime | None) -> bool:
    return one is not None and other is not None and (other - one).total_seconds() > EARLIER_SECONDS


def _finding(first: Sign, signs: Sequence[Sign], evidence: Evidence) -> Finding:
    same = [each for each in signs if each.code == first.code]
    lines = dict.fromkeys(line for each in (first, *same) for line in each.lines)
    others: dict[str, Sign] = {}
    for each in signs:
        if each.code not in (first.code, UNKNOWN):
            others.setdefault(each.code, each)
    known = CLASSES[first.code]
    return Finding(
        code=first.code,
        title=known.title,
        confidence=first.confidence,
        retry=first.retry or known.retry,
        evidence=tuple(lines)[:MAX_LINES],
        node=first.node,
        is_root=first.is_root,
        victims=_victims(first, evidence),
        contributing=tuple(_contribution(each) for each in others.values()),
    )


def _contribution(sign: Sign) -> Finding:
    known = CLASSES[sign.code]
    return Finding(
        code=sign.code,
        title=known.title,
        confidence=sign.confidence,
        retry=sign.retry or known.retry,
        evidence=sign.lines,
        node=sign.node,
        is_root=sign.is_root,
    )


def _victims(first: Sign, evidence: Evidence) -> tuple[int, ...]:
    """The other pods that did not end well."""
    if first.node is None or first.is_root is not True:
        return ()
    bad = (
        pod.index
        for pod in evidence.pods
        if pod.index != first.node and any(end.exit_code for end in pod.containers)
    )
    return tuple(sorted(bad))


def _unknown(evidence: Evidence) -> Finding:
    known = CLASSES[UNKNOWN]
    return Finding(
        code=UNKNOWN,
        title=known.title,
        confidence=0.5 if evidence.missing else 0.6,
        retry=known.retry,
    )
