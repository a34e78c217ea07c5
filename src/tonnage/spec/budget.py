"""Money walls, shared by runs and teams."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from pydantic import Field

from tonnage.spec.fields import Money
from tonnage.spec.parts import ShortPart


class Budget(ShortPart):
    """How much may be spent, and what happens at the wall. Short form: `budget: $400/week`."""

    short: ClassVar[str] = "limit"

    limit: Money
    """The most that may be spent: once (`$1,200`) or per period (`$400/week`)."""

    warn_at: Annotated[float, Field(gt=0, le=1)] = 0.8
    """Share of the limit at which the owner is told."""

    on_exceed: Literal["checkpointAndStop", "suspend", "warn"] = "checkpointAndStop"
    """What to do at the limit: save and stop, hold without deleting, or only tell."""
