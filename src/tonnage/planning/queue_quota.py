"""Kueue's quota arithmetic for one resource of one flavor: what a queue can have now, and at the very most.

Queues hang on cohorts, cohorts may hang on cohorts. A lending limit keeps part of a quota at home; the rest lies in
the parent, where whoever is below may use it, up to their borrowing limit:

    at home      = what it owns - lending limit (nothing where there is none: all of it is lent)
    owned below  = own quota + everything its children do not keep at home
    used above   = what a child uses beyond what it keeps at home
    available    = rest at home + what is available above, at most what it put there + borrowing limit
    at most      = the same with nobody else using anything

So a queue's own quota can be gone although it uses none of it: others have borrowed it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from tonnage.cluster.objects.loose import Loose
from tonnage.units import Quantity, try_quantity

MOST_LEVELS = 20
"""Cohorts above one another; a circle would have no end."""


class Holder(msgspec.Struct):
    """A queue or cohort: its own quota, what it uses itself, and what hangs below it."""

    nominal: int = 0
    borrowing: int | None = None
    lending: int | None = None
    used: int = 0
    parent: Holder | None = None
    children: list[Holder] = msgspec.field(default_factory=list)

    @property
    def owned(self) -> int:
        return self.nominal + sum(child.owned - child.at_home for child in self.children)

    @property
    def at_home(self) -> int:
        if self.parent is None:
            return self.owned
        return 0 if self.lending is None else max(0, self.owned - self.lending)

    @property
    def usage(self) -> int:
        return self.used + sum(max(0, child.usage - child.at_home) for child in self.children)

    def available(self) -> int:
        """What it can have now, its own and borrowed; below zero where others hold more than there is."""
        if self.parent is None:
            return self.owned - self.usage
        above = self.parent.available()
        if self.borrowing is not None:
            put_there, taken = self.owned - self.at_home, max(0, self.usage - self.at_home)
            above = min(above, put_there - taken + self.borrowing)
        return max(0, self.at_home - self.usage) + above

    def at_most(self) -> int:
        """What it could ever have."""
        if self.parent is None:
            return self.owned
        most = self.at_home + self.parent.at_most()
        return most if self.borrowing is None else min(most, self.owned + self.borrowing)


def holder_of(
    queue: Loose, queues: Iterable[Loose], cohorts: Iterable[Loose], flavor: str, resource: str
) -> Holder:
    """A queue with everything above and beside it, for one resource of one flavor."""
    named = {cohort.metadata.name: cohort for cohort in cohorts}
    above: dict[str, Holder] = {}

    def cohort(name: str, level: int) -> Holder | None:
        if not name or level > MOST_LEVELS:
            return None
        if name not in above:
            item = named.get(name)
            made = above[name] = Holder() if item is None else _own(item, flavor, resource)
            _hang(made, cohort(str(item.spec.get("parentName") or "") if item is not None else "", level + 1))
        return above[name]

    for name in named:  # cohorts beside ours bring quota to a common parent
        cohort(name, 0)
    found = Holder()
    for item in queues:
        one = _own(item, flavor, resource)
        one.used = used_of(item, flavor, resource)
        _hang(one, cohort(cohort_of(item), 0))
        if item.metadata.name == queue.metadata.name:
            found = one
    return found


def cohort_of(queue: Loose) -> str:
    """The cohort a queue hangs on, in the words of either version of the API."""
    return str(queue.spec.get("cohortName") or queue.spec.get("cohort") or "")


def used_of(queue: Loose, flavor: str, resource: str) -> int:
    """What workloads hold of it, admitted or with quota reserved."""
    for item in maps(queue.status.get("flavorsReservation")):
        for line in maps(item.get("resources")) if item.get("name") == flavor else ():
            if line.get("name") == resource:
                return amount(resource, line.get("total"))
    return 0


def amount(resource: str, value: Any) -> int:
    """A quantity in the scheduler's units: cpu in thousandths, all else whole."""
    quantity = try_quantity(str(value)) or Quantity(0)
    return quantity.milli() if resource == "cpu" else quantity.value()


def maps(value: Any) -> list[Mapping[str, Any]]:
    """The mappings of a list, whatever else is in it."""
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def _hang(child: Holder, parent: Holder | None) -> None:
    above, levels = parent, 0
    while above is not None and above is not child and levels <= MOST_LEVELS:
        above, levels = above.parent, levels + 1
    if parent is not None and above is None:  # cohorts in a circle hang on nothing, as in Kueue
        child.parent = parent
        parent.children.append(child)


def _own(item: Loose, flavor: str, resource: str) -> Holder:
    for group in maps(item.spec.get("resourceGroups")):
        for one in maps(group.get("flavors")):
            for line in maps(one.get("resources")) if one.get("name") == flavor else ():
                if line.get("name") == resource:
                    return Holder(
                        nominal=amount(resource, line.get("nominalQuota")),
                        borrowing=_limit(resource, line.get("borrowingLimit")),
                        lending=_limit(resource, line.get("lendingLimit")),
                    )
    return Holder()


def _limit(resource: str, value: Any) -> int | None:
    return None if value is None else amount(resource, value)
