"""What the policy has paid so far, beside what the common rules would have paid: how it finds its price of a death.

How many GiB-hours a death is worth cannot be known beforehand: it depends on how many of a history's runs are tiny,
how much of the memory is in a few huge ones, how bursty they are. But once a run has ended its peak is known, and so
is what the rule of thumb, KRR and VPA would have done with it. The ledger keeps those accounts, all from the past.
When we have let far fewer runs die than any of them but wasted more, deaths were priced too high, and the price falls;
in the opposite case it rises. Accounts are kept apart by how much history a run had, because the rules' strengths
change with it.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from dataclasses import dataclass, field

from tonnage.sizing.baselines import Krr, RuleOfThumb, Vpa
from tonnage.sizing.policy import Sizer
from tonnage.sizing.task import FLOOR

STAGES = (3, 10)
"""Runs with fewer than three earlier ones, with fewer than ten, and the others."""
DEATH_PRICES = (6.0, 6.0, 18.0)
"""For each of them, in average runs of the history, before the accounts say otherwise. While little is known every rule
lets many die and safety is dear; later deaths are rare and a small margin avoids them."""
UNCERTAIN_DEATHS = 2.0
"""So many deaths are added to both sides: two against one is no evidence."""
WASTE_WEIGHT = 4.0
"""A tenth less waste is as hard to come by as a third fewer deaths."""
EAGERNESS = 0.5
"""The price follows the square root of the imbalance: accounts of a few deaths are not worth a leap."""
MOST_FACTOR = 8.0
TIME_TO_FAILURE = 0.75
"""A dead attempt is reckoned to have lasted so much of a run."""
NUM_RIVALS = 3


@dataclass
class Account:
    """Deaths and wasted byte-seconds: ours first, then each rival's."""

    deaths: list[float] = field(default_factory=lambda: [0.0] * (NUM_RIVALS + 1))
    waste: list[float] = field(default_factory=lambda: [0.0] * (NUM_RIVALS + 1))

    def factor(self) -> float:
        """More than 1 where we have saved too little on deaths, less where we have paid too much for them."""
        rival = min(self.waste[1:])
        if rival <= 0 or self.waste[0] <= 0:
            return 1.0
        deaths = math.log((self.deaths[0] + UNCERTAIN_DEATHS) / (min(self.deaths[1:]) + UNCERTAIN_DEATHS))
        waste = math.log(self.waste[0] / rival)
        return min(MOST_FACTOR, max(1 / MOST_FACTOR, math.exp(EAGERNESS * (deaths - WASTE_WEIGHT * waste))))


@dataclass
class Ledger:
    """All signatures' runs of one history."""

    num_runs: int = 0
    used: float = 0.0
    accounts: list[Account] = field(default_factory=lambda: [Account() for _ in range(len(STAGES) + 1)])

    def count(self, byte_seconds: float) -> None:
        """One more run has ended, having used so much."""
        self.num_runs += 1
        self.used += byte_seconds

    def price(self, num_known: int) -> float:
        """Byte-seconds a death is worth avoiding, for a run with so many earlier ones."""
        stage = bisect_right(STAGES, num_known)
        return DEATH_PRICES[stage] * self.accounts[stage].factor() * self.used / self.num_runs

    def account(self, num_known: int) -> Account:
        return self.accounts[bisect_right(STAGES, num_known)]


class Shadows:
    """What the rivals would give the runs of one signature, and what that would have cost."""

    def __init__(self) -> None:
        self.sizers: tuple[Sizer, ...] = (RuleOfThumb(), Krr(), Vpa())

    def limits(self, now: float, requested: float) -> list[float]:
        return [max(FLOOR, sizer.limit(now, requested)) for sizer in self.sizers]

    def ended(self, run: int, now: float, peak: float, seconds: float) -> None:
        for sizer in self.sizers:
            sizer.ended(run, now, peak, seconds)

    def settle(self, account: Account, limits: list[float], peak: float, seconds: float, now: float) -> None:
        """Write down what each would have paid for a run that is now known; a death teaches them, too."""
        for place, (sizer, limit) in enumerate(zip(self.sizers, limits, strict=True), start=1):
            enough, lost = limit, 0.0
            while enough < peak:
                lost += TIME_TO_FAILURE * enough
                sizer.failed(-1, now, enough, seconds)
                enough = sizer.bump(enough, 0)
            account.deaths[place] += limit < peak
            account.waste[place] += seconds * (lost + enough - peak)
