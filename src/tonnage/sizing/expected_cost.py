"""Tonnage's policy: the limit with the least expected cost, where a death has a price.

A limit costs what it holds and does not use, and, when it is too small, what the dead attempt held, a second attempt,
and the death itself. A death is priced in GiB-hours of an average run *of the whole history*: one price for all
signatures. So a small run gets a generous margin, which costs next to nothing, and a huge one a margin that its own
spread can justify; no fixed percentage can do both, and that is where the advantage over "peak + 15 %" comes from.
How many average runs a death is worth is found in the `ledger`, from the same history: nothing is set per cluster.

What may happen is in `outlook`. Three more facts are used:

- An attempt that died is a peak that is at least known to be larger than its limit. Until the instance ends it counts
  as a peak that lies as far above as the outlook expects of a run that passed that limit.
- The user's request is an upper anchor: runs that ended have run under it. A limit beyond the largest peak is never
  set above it, and at the request a death is not expected.
- Below the largest peak a limit is set only when twenty independent runs say so; and since the cheapest of many noisy
  choices looks cheaper than it is, one more death than was seen is expected there.

Cost: a decision takes the last `WINDOW` runs into account, and once there are many it is made anew only when a
thirty-second of them is new, or a record or a death has changed what is known. So a history of any length costs a
bounded amount per instance.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice

from tonnage.sizing.ledger import Ledger, Shadows
from tonnage.sizing.outlook import Known, Outlook, brought_forward, look_ahead
from tonnage.sizing.policy import Sizer
from tonnage.sizing.task import FLOOR

WINDOW = 256
NEWS_SHARE = 32
GUESS_SHARE = 0.6
LEAST_GUESS, MOST_GUESS = 0.05, 0.4
"""In logarithms over the limit that was died at."""
ENOUGH_TO_GO_BELOW = 20.0
LIKELY_TIME_TO_FAILURE = 0.75
"""A dead attempt is reckoned to have lasted so much of a run."""
RETRY_WASTE = 0.3
"""The attempt after a death wastes about so much of the limit that was died at."""
INSIDE = 0.35
"""A record that stays below a limit lies, on average, so far between the old record and it, in logarithms."""
BUMP_SHARE = 0.75
LEAST_BUMP_BELOW = 0.05
LEAST_BUMP, MOST_BUMP = 0.25, 0.7
"""In logarithms: a quarter more, up to twice as much."""
OLDEST_LOOKED_AT = 64
AGE_POWER = 4.0
MARGINS = (0.005, 0.01, 0.015, 0.02, 0.03, 0.04, 0.055, 0.075, 0.1, 0.13, 0.17, 0.22, 0.28, 0.36, 0.46, 0.6, 0.8,
           1.05, 1.4, 1.8, 2.3)  # fmt: skip
"""Margins that are tried above the largest peak, in logarithms: half a percent to tenfold."""
MOST_BELOW = 64


@dataclass(frozen=True)
class ExpectedCost:
    """The policy; the sizers of one history share one price."""

    name: str = "tonnage"

    def open(self) -> Callable[[], Sizer]:
        ledger = Ledger()
        return lambda: ExpectedCostSizer(ledger)


@dataclass(slots=True)
class Offer:
    """What an instance was given when it started, and what the rivals would have given it."""

    num_known: int
    limit: float
    rivals: list[float]
    lost: float = 0.0


class ExpectedCostSizer:
    """One signature's history and its cheapest limit."""

    def __init__(self, ledger: Ledger) -> None:
        self.ledger = ledger
        self.shadows = Shadows()
        self.num_known = 0
        self.num_started = 0
        self.offer: Offer | None = None
        self.offers: dict[int, Offer] = {}
        self.seen: deque[Known] = deque(maxlen=WINDOW)
        self.dead: dict[int, tuple[float, float]] = {}
        self.running: dict[int, float] = {}
        """Attempts by the moment they began, oldest first."""
        self.longest = 0.0
        self.top = 0.0
        self.num_news = 0
        self.outliving = -1.0
        self.outlook: Outlook | None = None
        self.is_stale = False
        self.decided: dict[float, float] = {}

    def started(self, run: int, now: float) -> None:
        self.running[run] = now
        self.num_started = run + 1
        if self.offer is not None:
            self.offers[run] = self.offer

    def failed(self, run: int, now: float, limit: float, seconds: float) -> None:
        self.dead[run] = (self._guess(limit), seconds)
        if run in self.offers:
            self.offers[run].lost += limit * seconds
        self.running.pop(run, None)
        self.running[run] = now
        self.is_stale = True

    def ended(self, run: int, now: float, peak: float, seconds: float) -> None:
        self.ledger.count(peak * seconds)
        self._settle(run, now, peak, seconds)
        self.num_known += 1
        self.seen.append(Known(run, peak, max(1.0, seconds)))
        self.running.pop(run, None)
        self.longest = max(self.longest, seconds)
        self.num_news += 1
        if (
            self.dead.pop(run, None) is not None
            or peak > self.top
            or self.num_news * NEWS_SHARE >= len(self.seen)
        ):
            self.is_stale = True
        self.top = max(self.top, peak)

    def limit(self, now: float, requested: float) -> float:
        if not self.seen:
            return requested
        outliving = self._outliving(now)
        if self.outlook is None or self.is_stale:
            self.outlook = look_ahead(self._known(), outliving)
            self.is_stale, self.num_news = False, 0
            self.decided = {}
        elif outliving != self.outliving:
            self.outlook = self.outlook.while_outlived(outliving)
            self.decided = {}
        self.outliving = outliving
        if requested not in self.decided:
            self.decided[requested] = cheapest(self.outlook, requested, self.ledger.price(self.num_known))
        limit = self.decided[requested]
        self.offer = Offer(self.num_known, max(FLOOR, limit), self.shadows.limits(now, requested))
        return limit

    def bump(self, failed: float, requested: float) -> float:
        """Enough for three quarters of the runs that need more than this."""
        if self.outlook is None:
            return 2 * failed
        top = self.outlook.top
        base = max(failed, top)
        excess = self.outlook.excess(BUMP_SHARE, beyond=math.log(base / top))
        least = LEAST_BUMP if failed >= top else LEAST_BUMP_BELOW
        bumped = base * math.exp(min(MOST_BUMP, max(least, excess)))
        return requested if failed < requested < bumped else bumped

    def _settle(self, run: int, now: float, peak: float, seconds: float) -> None:
        """Write down what this run has cost us, and what it would have cost others."""
        offer = self.offers.pop(run, None)
        if offer is not None:
            account = self.ledger.account(offer.num_known)
            died = offer.limit < peak
            account.deaths[0] += died
            account.waste[0] += offer.lost + seconds * (RETRY_WASTE * peak if died else offer.limit - peak)
            self.shadows.settle(account, offer.rivals, peak, seconds, now)
        self.shadows.ended(run, now, peak, seconds)

    def _guess(self, died_at: float) -> float:
        """The peak of an instance of which it is known only that this was not enough."""
        if self.outlook is None:
            return died_at * math.exp(MOST_GUESS)
        top = self.outlook.top
        if died_at < top:
            return top
        excess = self.outlook.excess(GUESS_SHARE, beyond=math.log(died_at / top))
        return died_at * math.exp(min(MOST_GUESS, max(LEAST_GUESS, excess)))

    def _known(self) -> list[Known]:
        """Runs that ended, and those that are known to need more than they were given, in order of start."""
        typical = sum(run.seconds for run in self.seen) / len(self.seen)
        newest = islice(reversed(self.dead.items()), WINDOW)
        waiting = [Known(run, peak, max(typical, seconds)) for run, (peak, seconds) in newest]
        return sorted([*brought_forward(self.seen, self.num_started), *waiting])

    def _outliving(self, now: float) -> float:
        """How many running attempts will have been longer than any that ended; nearly as old ones count in part."""
        if self.longest <= 0:
            return 0.0
        count = 0.0
        for place, began in enumerate(self.running.values()):
            age = (now - began) / self.longest
            if age < 0.3 or place >= OLDEST_LOOKED_AT:
                break
            count += 1.0 if age >= 1 else age**AGE_POWER
        return round(count, 1)


def cheapest(outlook: Outlook, requested: float, death: float) -> float:
    """The limit with the least expected byte-seconds, a death counted at its price."""
    choices = [*_above(outlook, requested, death)]
    if outlook.independent >= ENOUGH_TO_GO_BELOW:
        choices += _below(outlook, death)
    return min(choices)[1]


def _above(outlook: Outlook, requested: float, death: float) -> Iterator[tuple[float, float]]:
    """Costs of limits above the largest peak, up to the request."""
    top, chance = outlook.top, outlook.record_chance
    time, use = outlook.time[-1], outlook.use[-1]
    for margin in MARGINS:
        limit = max(FLOOR, top * math.exp(margin))
        is_anchored = top < requested <= limit
        limit = requested if is_anchored else limit
        excess = math.log(limit / top)
        dying = 0.0 if is_anchored else outlook.survival(excess)
        within = (1 - dying) * (limit - top * math.exp(INSIDE * excess))
        lost = dying * (LIKELY_TIME_TO_FAILURE + RETRY_WASTE) * limit
        cost = (1 - chance) * (limit * time - use) + chance * (
            outlook.record_seconds * (within + lost) + dying * death
        )
        yield cost, limit
        if is_anchored:
            return


def _below(outlook: Outlook, death: float) -> Iterator[tuple[float, float]]:
    """Costs of limits just above one of the larger peaks, which let a known share of runs die."""
    peaks, top, chance = outlook.peaks, outlook.top, outlook.record_chance
    time, use = outlook.time[-1], outlook.use[-1]
    retry = 1.1 * top
    for place in range(len(peaks) - 1, max(len(peaks) // 2, len(peaks) - MOST_BELOW), -1):
        limit = max(FLOOR, 1.01 * peaks[place - 1])
        if limit >= peaks[place]:
            continue
        held = bisect_right(peaks, limit)
        over = 1 - outlook.weight[held] + 1 / outlook.independent
        time_over, use_over = time - outlook.time[held], use - outlook.use[held]
        known = (
            limit * outlook.time[held]
            - outlook.use[held]
            + over * death
            + LIKELY_TIME_TO_FAILURE * limit * time_over
            + retry * time_over
            - use_over
        )
        record = (
            outlook.record_seconds * (LIKELY_TIME_TO_FAILURE * limit + retry - top + RETRY_WASTE * top)
            + death
        )
        yield (1 - chance) * known + chance * record, limit
