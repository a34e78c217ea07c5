"""One look at an attempt: its workload object and its pods, as the API server has them now."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from tonnage.kube.running import reading
from tonnage.kube.running.api import Object, Ref, RunApi
from tonnage.kube.running.setting import LINEAGE, KubeSetting

OVER = "tonnage.dev/over"
"""Annotation: this attempt has ended, whatever its controller would do next; the value says why."""
SUSPENDED = "suspended"
"""Why, where it was let go of and is to be launched again."""
DONE = {
    "Job": (("Complete",), ("Failed",)),
    "JobSet": (("Completed",), ("Failed",)),
    "TrainJob": (("Complete",), ("Failed",)),
}
_KUBEFLOW = (("Succeeded",), ("Failed",))
ENDING = ("FailureTarget", "SuccessCriteriaMet")


@dataclass(frozen=True, slots=True)
class Look:
    """What there is of one attempt."""

    workload: Object | None
    pods: tuple[Object, ...] = ()
    nodes: int = 1
    known: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """Pods by uid that were known before the API server was asked, and those it named: of these, what it did not name
    is gone. A watch learns of others while a look is still at work on what it saw; nothing follows from those."""

    @property
    def is_absent(self) -> bool:
        return self.workload is None and not self.pods

    @property
    def marked_over(self) -> str:
        if self.workload is None:
            return ""
        return str((self.workload["metadata"].get("annotations") or {}).get(OVER, ""))

    @property
    def is_finished(self) -> bool:
        """Whether the controller itself calls it finished, well or not."""
        if self.workload is None:
            return False
        good, bad = DONE.get(self.workload["kind"], _KUBEFLOW)
        return reading.condition(self.workload, *good, *bad) is not None

    @property
    def is_ending(self) -> bool:
        return self.workload is not None and reading.condition(self.workload, *ENDING) is not None

    @property
    def is_suspended(self) -> bool:
        if self.workload is None:
            return False
        spec = self.workload.get("spec") or {}
        return bool(spec.get("suspend") or (spec.get("runPolicy") or {}).get("suspend"))

    @property
    def newest(self) -> dict[int, Mapping[str, Any]]:
        return reading.newest(self.pods, self.nodes)

    @property
    def living(self) -> tuple[Object, ...]:
        """Pods that hold something: a pod that ended holds nothing."""
        return tuple(pod for pod in self.pods if not reading.is_over(pod))


def look(api: RunApi, setting: KubeSetting, number: int) -> Look:
    """Ask for both; an object of an earlier run of the same name is not ours."""
    workload = api.get(workload_ref(setting, number))
    if workload is not None and is_foreign(workload, setting):
        workload = None
    pods = api.pods(setting.labels(number))
    return Look(workload, tuple(pods), setting.nodes)


def with_known(seen: Look, before: Collection[str], memory: Mapping[str, Mapping[str, Any]]) -> Look:
    """The look with what it may be held against: uids known `before` it, as the memory has them now."""
    uids = {*before, *(reading.uid_of(pod) for pod in seen.pods)}
    return replace(seen, known={uid: pod for uid, pod in memory.items() if uid in uids})


def workload_ref(setting: KubeSetting, number: int) -> Ref:
    return Ref.of(setting.rendered(number).workload)


def is_foreign(workload: Object, setting: KubeSetting) -> bool:
    labels = workload["metadata"].get("labels") or {}
    return bool(labels.get(LINEAGE) != setting.launching.lineage)
