"""Memory over time: its peak, whether and how fast it grows, and when it would reach a limit.

Seconds and bytes. What a leak is and what only looks like one is decided here, once.
"""

from tonnage.memory.series.growing import Growth, growth_of
from tonnage.memory.series.points import Point, peak, troughs
from tonnage.memory.series.reaching import seconds_to

__all__ = ["Growth", "Point", "growth_of", "peak", "seconds_to", "troughs"]
