"""Launch an attempt: its objects applied in order, the workload last, everything else owned by it.

May be called again after any crash: what exists is left as it is, and what has no owner yet gets one, so that
deleting the workload cleans up the rest. Pods of an earlier attempt must be gone first: two gangs on one checkpoint
folder would be worse than none.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tonnage.errors import ForbiddenError, Problem, RefusedError, TonnageError
from tonnage.kube.running import reading
from tonnage.kube.running.api import Object, Ref, RunApi
from tonnage.kube.running.looking import OVER, Look, is_foreign, workload_ref
from tonnage.kube.running.setting import LINEAGE, KubeSetting
from tonnage.manifests import Rendered
from tonnage.manifests.naming import ATTEMPT_LABEL
from tonnage.planning.workload.template import RUN_LABEL
from tonnage.running.attempts import Size

SHARED = ("PriorityClass",)
"""Kinds that outlive every run."""


@dataclass(frozen=True)
class Launcher:
    """Makes attempts of one run."""

    api: RunApi
    setting: KubeSetting

    def launch(
        self, number: int, size: Size, annotations: Mapping[str, str], told: Mapping[str, Any]
    ) -> bool:
        """Make the attempt; False where something earlier must go first (call again)."""
        ref = workload_ref(self.setting, number)
        existing = self.api.get(ref)
        if existing is not None and is_foreign(existing, self.setting):
            found = Look(existing)
            if not (found.is_finished or found.marked_over or found.is_suspended):
                raise self._alive(reading.name_of(existing))
            self.api.delete(ref, propagation="Foreground")
            return False
        if existing is None and not self._is_alone(number):
            return False
        rendered = self.setting.rendered(number, size, **told)
        if existing is None:
            existing = self._make(number, size, rendered, annotations, told)
        self.adopt(number, existing, rendered)
        return True

    def objects(self, number: int, size: Size | None = None, **told: Any) -> list[Object]:
        """Everything that would be applied, in order."""
        rendered = self.setting.rendered(number, size, **told)
        return [*self._code(number, rendered), *(dict(each) for each in rendered.objects)]

    def adopt(self, number: int, workload: Mapping[str, Any], rendered: Rendered | None = None) -> None:
        """Make the workload own what was made for it."""
        rendered = rendered or self.setting.rendered(number)
        objects = [*self._code(number, rendered), *rendered.objects[:-1]]
        self.adopt_all(workload, [each for each in objects if _is_of_attempt(each)])

    def adopt_all(self, owner: Mapping[str, Any], manifests: Sequence[Mapping[str, Any]]) -> None:
        """Make one object own others: they go when it goes."""
        reference = {
            "apiVersion": owner["apiVersion"],
            "kind": owner["kind"],
            "name": reading.name_of(owner),
            "uid": reading.uid_of(owner),
        }
        for manifest in manifests:
            meta = {**manifest["metadata"], "ownerReferences": [reference]}
            self.api.apply({**manifest, "metadata": meta}, force=True)

    def _make(
        self,
        number: int,
        size: Size,
        rendered: Rendered,
        annotations: Mapping[str, str],
        told: Mapping[str, Any],
    ) -> Object:
        for manifest in [*self._code(number, rendered), *rendered.objects[:-1]]:
            try:
                self.api.apply(manifest, force=True)
            except ForbiddenError:
                if manifest["kind"] not in SHARED:
                    raise
                rendered = self.setting.rendered(number, size, may_make_classes=False, **told)
        workload = dict(rendered.workload)
        meta = workload["metadata"]
        workload["metadata"] = {**meta, "annotations": {**(meta.get("annotations") or {}), **annotations}}
        return self.api.apply(workload)

    def _code(self, number: int, rendered: Rendered) -> list[Object]:
        """The working folder as a ConfigMap, where it fits one."""
        setting = self.setting
        delivery = setting.code_delivery(number)
        if delivery is None or not delivery.config_map or setting.code is None:
            return []
        meta = rendered.workload["metadata"]
        labels = {k: v for k, v in meta["labels"].items() if not k.startswith("kueue.")}
        return [
            {
                "apiVersion": "v1",
                "kind": "ConfigMap",
                "metadata": {"name": delivery.config_map, "namespace": meta["namespace"], "labels": labels},
                "immutable": True,
                "binaryData": {delivery.key: base64.b64encode(setting.code).decode()},
            }
        ]

    def _is_alone(self, number: int) -> bool:
        """Whether no pod of another attempt of this run lives; those that do are asked to end."""
        name = self.setting.run.metadata.name
        others = [
            pod
            for pod in self.api.pods({RUN_LABEL: name})
            if (pod["metadata"].get("labels") or {}).get(ATTEMPT_LABEL) != str(number)
            or (pod["metadata"].get("labels") or {}).get(LINEAGE) != self.setting.launching.lineage
        ]
        living = [pod for pod in others if not reading.is_over(pod) and not self._is_on_lost_node(pod)]
        for pod in living:
            if not reading.is_going(pod):
                self._quiet(pod)
        return not living

    def _quiet(self, pod: Mapping[str, Any]) -> None:
        """End the attempt that a pod belongs to, whatever its controller wants."""
        labels = pod["metadata"].get("labels") or {}
        earlier = labels.get(ATTEMPT_LABEL, "")
        if earlier.isdecimal() and labels.get(LINEAGE) == self.setting.launching.lineage:
            suspend(self.api, self.setting, int(earlier), "another attempt was started")
        else:
            raise self._alive(f"pod {reading.name_of(pod)}")

    def _alive(self, what: str) -> RefusedError:
        """Somebody else's run of this name: two would write to the same places."""
        name, place = self.setting.run.metadata.name, self.setting.namespace
        return RefusedError(
            Problem(
                code="RUN-121",
                what=f"another run named {name} is alive in namespace {place}: {what}",
                hint="`tonnage ps --on` says who keeps it alive; stop it there, or give this one another name",
            )
        )

    def _is_on_lost_node(self, pod: Mapping[str, Any]) -> bool:
        """A pod on a node that is gone cannot be waited for: nobody is left to end it."""
        name = pod.get("spec", {}).get("nodeName")
        if not name:
            return False
        try:
            node = self.api.node(str(name))
        except TonnageError:
            return False
        return node is None or (reading.is_going(pod) and reading.condition(node, "Ready") is None)

    def forget_earlier(self, number: int) -> None:
        """Remove earlier attempts that are not finished by themselves and hold nothing; evidence is kept elsewhere."""
        for earlier in range(1, number):
            ref = workload_ref(self.setting, earlier)
            workload = self.api.get(ref)
            if workload is None or is_foreign(workload, self.setting):
                continue
            if not Look(workload).is_finished:
                self.api.delete(ref)


def suspend(api: RunApi, setting: KubeSetting, number: int, why: str) -> None:
    """Let go of everything an attempt holds and mark it over, so that its controller starts nothing again."""
    ref = workload_ref(setting, number)
    if setting.facts.queue:
        _deactivate(api, ref)
    spec = (
        {"suspend": True} if ref.kind in ("Job", "JobSet", "TrainJob") else {"runPolicy": {"suspend": True}}
    )
    api.patch(ref, {"metadata": {"annotations": {OVER: why or "stopped"}}})
    try:
        api.patch(ref, {"spec": spec})
    except TonnageError as error:
        if error.problem.code != "KUBE-061":
            raise  # a finished Job cannot be suspended, and need not be


def _deactivate(api: RunApi, ref: Ref) -> None:
    """Kueue starts what it admitted: tell it that this one is not to be admitted."""
    for workload in workloads_of(api, ref):
        kueue = Ref(workload["apiVersion"], "Workload", reading.name_of(workload))
        api.patch(kueue, {"spec": {"active": False}})


def workloads_of(api: RunApi, ref: Ref) -> Sequence[Object]:
    """Kueue's own objects for a workload."""
    for version in ("kueue.x-k8s.io/v1beta2", "kueue.x-k8s.io/v1beta1"):
        try:
            found = api.objects(version, "Workload")
        except TonnageError:
            continue
        mine = [
            each
            for each in found
            if any(
                owner.get("kind") == ref.kind and owner.get("name") == ref.name
                for owner in each["metadata"].get("ownerReferences") or ()
            )
        ]
        if found:
            return mine
    return []


def _is_of_attempt(manifest: Mapping[str, Any]) -> bool:
    """Whether an object lives and dies with the attempt: it carries the attempt's labels."""
    return manifest["kind"] not in SHARED and ATTEMPT_LABEL in (manifest["metadata"].get("labels") or {})
