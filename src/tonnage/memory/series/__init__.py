"""Memory over time: its peak, whether and how fast it grows, what it does, and when it would reach a limit.

Seconds and bytes. What a leak is and what only looks like one is decided here, once.

    points, growing, reaching   short series of a running attempt: a slope, and whether it counts
    forecasting                 the verdict on a series, with evidence and a range (docs/forecasting.md):
                                thinning, leaking, extrapolating, parting, spiking, shaping, wording
"""

from tonnage.memory.series.growing import Growth, growth_of
from tonnage.memory.series.points import Point, peak, troughs
from tonnage.memory.series.reaching import Reach, reach_of, seconds_to

__all__ = ["Growth", "Point", "Reach", "growth_of", "peak", "reach_of", "seconds_to", "troughs"]
