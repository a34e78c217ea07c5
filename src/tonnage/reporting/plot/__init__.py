"""Memory over a step as a picture: stacked by category, with phases, what the allocator holds, and the peak.

scene   what is drawn where, worked out once
svg     the scene as SVG text
png     the scene as PNG bytes, by a small rasteriser of our own (a plotting library would weigh more than all
        of Tonnage's other dependencies together, for one picture)
text    the same curve in a terminal
"""

from tonnage.reporting.plot.png import draw_png
from tonnage.reporting.plot.scene import scene_of
from tonnage.reporting.plot.svg import draw_svg
from tonnage.reporting.plot.text import draw_text

__all__ = ["draw_png", "draw_svg", "draw_text", "scene_of"]
