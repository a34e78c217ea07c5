"""Exact mode's edge: a user's own step, run in their interpreter behind a virtual GPU, as a `Trace`."""

from __future__ import annotations

from tonnage.tracing.asking import TraceRequest, parse_step
from tonnage.tracing.failures import CannotTrace
from tonnage.tracing.tracing import trace_step

__all__ = ["CannotTrace", "TraceRequest", "parse_step", "trace_step"]
