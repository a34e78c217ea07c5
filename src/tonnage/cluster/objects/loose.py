"""Objects whose shape belongs to somebody else: Kueue queues, Workloads, JobSets, TrainJobs, and plain
Services.

Their definitions move faster than ours and only a few rules read them, so `spec` and `status` stay plain
maps. Identity is typed like everywhere else.
"""

from __future__ import annotations

from typing import Any

from tonnage.cluster.objects.meta import Meta, Value


class Loose(Value, frozen=True):
    """Any Kubernetes object with a spec and a status; what is neither stays behind."""

    api_version: str = ""
    kind: str = ""
    metadata: Meta = Meta()
    spec: dict[str, Any] = {}
    status: dict[str, Any] = {}
