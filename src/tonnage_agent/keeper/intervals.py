"""How often to save: Daly's optimum of what a save costs and how often everything is interrupted.

    C  seconds a save blocks training, as measured      M  mean seconds between interruptions of the whole gang

Young (1974): sqrt(2 C M); Daly (2006) refines it where C is not small against M. It is the formula the planner uses
(a test compares the two), held between a minute and two hours, and long enough that saving takes no more than the
allowed share of the time.
"""

from __future__ import annotations

import math

FAILURES_PER_NODE_DAY = 6.5 / 1000
"""Of Meta's research clusters (arXiv 2410.21680): what to assume of nodes nobody has watched."""
SHORTEST = 60.0
LONGEST = 2 * 3600.0
LARGEST_SHARE = 0.1


def daly_interval(save: float, mean: float) -> float:
    """Daly's interval between saves; where a save takes longer than the time to fail, that time itself.

    >>> round(daly_interval(40, 4.3 * 3600) / 60)
    18
    """
    if save >= 2 * mean:
        return mean
    ratio = save / (2 * mean)
    return math.sqrt(2 * save * mean) * (1 + math.sqrt(ratio) / 3 + ratio / 9) - save


def best_interval(save: float, mean: float, largest_share: float = LARGEST_SHARE) -> float:
    """Seconds between the end of a save and the next one.

    >>> best_interval(60, 600)  # Daly says 218 s; a tenth of the time is 9 times the save
    540.0
    """
    bounded = min(LONGEST, max(SHORTEST, daly_interval(save, mean)))
    return max(bounded, save * (1 - largest_share) / largest_share)


def assumed_mean(num_nodes: int) -> float:
    """Mean seconds between failures of a gang nobody has watched."""
    return 86400 / FAILURES_PER_NODE_DAY / max(num_nodes, 1)
