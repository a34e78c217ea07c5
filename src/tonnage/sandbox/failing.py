"""Failures of this machine and of the sandbox's own API server, in words a user can act on."""

from __future__ import annotations

import http.client
from collections.abc import Iterator
from contextlib import contextmanager

from tonnage.errors import EnvironmentProblem, Problem
from tonnage.sandbox.api import ApiError


@contextmanager
def explained() -> Iterator[None]:
    """Turn what the operating system and the API server refuse into problems with this machine."""
    try:
        yield
    except (ApiError, TimeoutError, http.client.HTTPException) as refusal:
        raise EnvironmentProblem(
            Problem(
                code="BOX-022",
                what=f"the sandbox's API server did not do as asked: {refusal}",
                hint="a very busy machine can be too slow for it; try again, or with fewer nodes",
            )
        ) from refusal
    except OSError as refusal:
        raise EnvironmentProblem(
            Problem(
                code="BOX-014",
                what=f"this machine refused: {refusal.strerror or refusal}",
                where=str(refusal.filename) if refusal.filename else None,
                hint="is there disk left, and may you write there? XDG_STATE_HOME and XDG_CACHE_HOME move it",
            )
        ) from refusal
