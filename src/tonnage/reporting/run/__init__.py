"""A run as people look at it: where it stands, how far it is, what it holds, what it cost, what is safe."""

from tonnage.reporting.run.listing import RunLine, line_of
from tonnage.reporting.run.viewing import RunView, view_run

__all__ = ["RunLine", "RunView", "line_of", "view_run"]
