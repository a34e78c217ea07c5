"""How often to save, what interruptions cost in time, and whether capacity that can be taken back pays.

    C  time a save blocks training            R  time to restart
    M  mean time between interruptions of the whole gang (one node's, divided by the nodes)
    T  time between saves                     all in the same unit

Young (1974): T = sqrt(2 C M). Daly (2006) refines it where C is not small against M. The slowdown under
exponential interruptions is f(T) = (M/T) e^(R/M) (e^((T+C)/M) - 1): spot pays where its price is below 1/f of
the on-demand price. Real up-times are heavier-tailed than that, so f is a guide and not a promise.
"""

from __future__ import annotations

import math

FAILURES_PER_NODE_DAY = 6.5 / 1000
"""Of Meta's research clusters (arXiv 2410.21680): what to assume of nodes nobody has watched."""


def young_interval(save: float, mean: float) -> float:
    """Young's interval between saves.

    >>> round(young_interval(2, 90))
    19
    """
    return math.sqrt(2 * save * mean)


def daly_interval(save: float, mean: float) -> float:
    """Daly's interval between saves; where a save takes longer than the time to fail, that time itself."""
    if save >= 2 * mean:
        return mean
    ratio = save / (2 * mean)
    return young_interval(save, mean) * (1 + math.sqrt(ratio) / 3 + ratio / 9) - save


def slowdown(interval: float, save: float, restart: float, mean: float) -> float:
    """By how much interruptions, restarts and saves stretch a run; infinite where it never gets anywhere."""
    if interval <= 0 or mean <= 0:
        return math.inf
    try:
        return mean / interval * math.exp(restart / mean) * math.expm1((interval + save) / mean)
    except OverflowError:
        return math.inf


def mean_of_gang(mean_of_node: float, nodes: int) -> float:
    """A gang of N nodes is interrupted N times as often as one."""
    return mean_of_node / max(nodes, 1)


def spot_pays(spot_price: int, on_demand_price: int, factor: float) -> bool:
    """Whether spot capacity is cheaper although it takes `factor` times as long."""
    return spot_price * factor < on_demand_price
