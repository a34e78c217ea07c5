"""Exact mode's edge: a user's own step, run in their interpreter behind a virtual GPU, as a `Trace`."""
