"""Refusals of rendering, by code: a request for objects that would not work is answered here, not in the cluster."""

from __future__ import annotations

from tonnage.errors import Problem, RefusedError

NO_TARGET = "MAN-001"
"""The object asked for, or needed by the framework, is not installed."""
TOO_MANY_PODS = "MAN-002"
NO_BATCH = "MAN-003"
"""The command has a place for a number that nobody knows."""
NO_IMAGE = "MAN-004"
NOT_GUARANTEED = "MAN-005"
POD_SECURITY = "MAN-006"
NO_RDMA = "MAN-007"
NO_QUEUE_FOR_TARGET = "MAN-008"
UNFIT_FRAMEWORK = "MAN-009"
BAD_PATCH = "MAN-010"
NO_QUEUE = "MAN-011"
NO_GPU = "MAN-012"
"""A remedy chose a GPU type that no node has."""


def refuse(
    code: str, what: str, *, where: str = "", found: str = "", expected: str = "", hint: str = ""
) -> RefusedError:
    """A refusal in its five parts, ready to be raised."""
    return RefusedError(
        Problem(
            code=code,
            what=what,
            where=where or None,
            found=found or None,
            expected=expected or None,
            hint=hint or None,
        )
    )
