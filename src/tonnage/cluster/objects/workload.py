"""Jobs and events: who made the pods, and what was said about them."""

from __future__ import annotations

from typing import Any

from tonnage.cluster.objects.meta import Condition, Meta, Value
from tonnage.cluster.objects.pod import PodSpec
from tonnage.cluster.objects.storage import ObjectReference


class EventSeries(Value, frozen=True):
    count: int = 0
    last_observed_time: str | None = None


class EventSource(Value, frozen=True):
    component: str = ""
    host: str = ""


class Event(Value, frozen=True):
    metadata: Meta = Meta()
    involved_object: ObjectReference = ObjectReference()
    type: str = ""
    reason: str = ""
    message: str = ""
    count: int = 1
    first_timestamp: str | None = None
    last_timestamp: str | None = None
    event_time: str | None = None
    series: EventSeries | None = None
    source: EventSource = EventSource()
    reporting_component: str = ""


class PodTemplate(Value, frozen=True):
    metadata: Meta = Meta()
    spec: PodSpec = PodSpec()


class JobSpec(Value, frozen=True):
    parallelism: int | None = None
    completions: int | None = None
    completion_mode: str = ""
    backoff_limit: int | None = None
    backoff_limit_per_index: int | None = None
    max_failed_indexes: int | None = None
    active_deadline_seconds: int | None = None
    ttl_seconds_after_finished: int | None = None
    suspend: bool = False
    pod_replacement_policy: str | None = None
    pod_failure_policy: dict[str, Any] | None = None
    success_policy: dict[str, Any] | None = None
    managed_by: str | None = None
    template: PodTemplate = PodTemplate()


class JobStatus(Value, frozen=True):
    active: int = 0
    ready: int = 0
    succeeded: int = 0
    failed: int = 0
    terminating: int = 0
    completed_indexes: str = ""
    failed_indexes: str | None = None
    start_time: str | None = None
    completion_time: str | None = None
    conditions: tuple[Condition, ...] = ()


class Job(Value, frozen=True):
    metadata: Meta = Meta()
    spec: JobSpec = JobSpec()
    status: JobStatus = JobStatus()
