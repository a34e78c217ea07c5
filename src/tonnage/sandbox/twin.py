"""A twin of a saved cluster: its nodes, pods and walls in a sandbox, so that the real scheduler can be asked
about it.

The order lets every object in: classes and accounts before the pods that name them, nodes and bound pods
before pending ones (the scheduler must not see free room that was taken), quotas and limit ranges last (what
runs today was admitted by the rules of its own day). An object the API server refuses does not stop the rest:
it is counted, and the first reasons are shown. Jobs are recreated as nobody's work; controllers of
Deployments and the like rest in a twin, see `control_plane`. Objects of training operators are left out,
because their pods are there already.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from tonnage.figures import plural
from tonnage.sandbox import twin_objects as made
from tonnage.sandbox.api import Api, ApiError, Object
from tonnage.sandbox.kwok import create_fake_nodes, wait_for_nodes
from tonnage.sandbox.showing import Show
from tonnage.sandbox.state import Sandbox

QUEUES = ("resourceflavors", "topologies", "cohorts", "clusterqueues", "localqueues", "workloads")
_OWN = ("kube-system", "kube-public", "kube-node-lease", "default")


@dataclass
class Outcome:
    """What became of the saved objects."""

    created: Counter[str] = field(default_factory=Counter)
    refused: list[str] = field(default_factory=list)
    left_out: Counter[str] = field(default_factory=Counter)


def make_twin(sandbox: Sandbox, path: Path, show: Show) -> Outcome:
    """Recreate a saved snapshot in the sandbox; what was refused or left out is said."""
    maker = _Maker(sandbox, _read(path))
    outcome = maker.make()
    (sandbox.places.root / "twin.json").write_text(
        json.dumps(
            {"created": outcome.created, "refused": outcome.refused, "leftOut": outcome.left_out}, indent=1
        )
    )
    counted = f"{plural(outcome.created['Node'], 'node')}, {plural(outcome.created['Pod'], 'pod')}"
    others = sum(outcome.created.values()) - outcome.created["Node"] - outcome.created["Pod"]
    show.step("twin", f"{counted} and {others} other objects of {path.name}")
    for kind, count in outcome.left_out.items():
        show.line(f"                left out: {count} {kind}")
    for reason in outcome.refused[:5]:
        show.line(f"                refused: {reason}")
    if len(outcome.refused) > 5:
        show.line(f"                and {len(outcome.refused) - 5} more: {sandbox.places.root / 'twin.json'}")
    return outcome


def _read(path: Path) -> dict[str, list[Object]]:
    """Saved objects by resource, each with its apiVersion and kind."""
    import msgspec

    from tonnage.kube.saved import read_saved

    found: dict[str, list[Object]] = {}
    for resource, held in read_saved(path).resources.items():
        items = [msgspec.json.decode(raw) for raw in held.items]
        found[resource] = [{"apiVersion": held.api_version, "kind": held.kind, **item} for item in items]
    return found


class _Maker:
    """Creates saved objects one kind after the other, and remembers what became of each."""

    def __init__(self, sandbox: Sandbox, saved: dict[str, list[Object]]) -> None:
        self.sandbox, self.api, self.saved = sandbox, sandbox.api, saved
        self.new_uids: dict[str, str] = {}
        self.outcome = Outcome()

    def make(self) -> Outcome:
        pods = self._originals("pods")
        self._create(self._originals("namespaces"), made.namespace, skip=_OWN)
        self._classes(pods)
        self._nodes()
        self._storage()
        for resource in ("services", "replicasets.apps", "statefulsets.apps"):
            self._create(self._originals(resource), made.service if resource == "services" else _plain)
        self._create(self._originals("jobs.batch"), made.job, with_status=True)
        self._pods([pod for pod in pods if pod["spec"].get("nodeName")])
        for resource in ("poddisruptionbudgets.policy", "limitranges", "resourcequotas"):
            self._create(self._originals(resource), _plain)
        self._wait_for_quotas()
        for resource in QUEUES:
            self._create(
                self._originals(f"{resource}.kueue.x-k8s.io"), _plain, with_status=resource == "workloads"
            )
        pending = [pod for pod in pods if not pod["spec"].get("nodeName")]
        # The oldest first and one by one: equal priorities are scheduled in the order they came.
        pending.sort(key=lambda pod: str(pod["metadata"].get("creationTimestamp")))
        self._pods(pending, at_once=1)
        self._guards()
        for resource in self.saved:
            if resource.split(".")[0] in ("jobsets", "trainjobs", "pytorchjobs", "tfjobs", "mpijobs"):
                self._leave_out(resource, "their pods are here already")
        return self.outcome

    def _classes(self, pods: list[Object]) -> None:
        classes = self._originals("priorityclasses.scheduling.k8s.io")
        names = [item["metadata"]["name"] for item in classes]
        self._create(classes, _plain, skip=("system-cluster-critical", "system-node-critical"))
        self._create(made.missing_priority_classes(pods, names), _plain)
        self._create(made.runtime_classes(pods), _plain)
        self._create(made.service_accounts(pods), _plain)

    def _nodes(self) -> None:
        nodes = [made.node(made.stripped(item, "v1", "Node")) for item in self._originals("nodes")]
        create_fake_nodes(self.api, nodes, is_tainted=self.sandbox.request.real_nodes > 0)
        self.outcome.created["Node"] += len(nodes)
        wait_for_nodes(self.sandbox, len(nodes))

    def _storage(self) -> None:
        self._create(self._originals("storageclasses.storage.k8s.io"), _plain)
        self._create(self._originals("persistentvolumeclaims"), _plain, with_status=True)
        self._create(
            self._originals("persistentvolumes"),
            lambda item: made.volume(item, self.new_uids),
            with_status=True,
        )

    def _pods(self, pods: list[Object], at_once: int = 8) -> None:
        self._create(pods, made.pod, with_status=True, at_once=at_once)

    def _wait_for_quotas(self) -> None:
        """Until each is counted: before that, admission refuses every pod its namespace still waits for."""
        for item in self._originals("resourcequotas"):
            metadata = item["metadata"]
            if metadata.get("uid") not in self.new_uids:
                continue
            path = f"/api/v1/namespaces/{metadata['namespace']}/resourcequotas/{metadata['name']}"
            with suppress(TimeoutError):
                self.api.wait(path, lambda quota: "used" in quota.get("status", {}))

    def _guards(self) -> None:
        for item in self._originals("namespaces"):
            if labels := made.guarded_labels(item):
                self.api.patch(
                    f"/api/v1/namespaces/{item['metadata']['name']}", {"metadata": {"labels": labels}}
                )

    def _create(
        self,
        originals: Iterable[Object],
        fit: Callable[[Object], Object],
        *,
        skip: tuple[str, ...] = (),
        with_status: bool = False,
        at_once: int = 8,
    ) -> None:
        items = [item for item in originals if item["metadata"]["name"] not in skip]
        if not items:
            return
        if not _knows(self.api, items[0]):
            kind, version = items[0]["kind"], items[0]["apiVersion"]
            self.outcome.left_out[f"{kind} (no {version} here; see --with)"] += len(items)
            return
        self.api.each(lambda item: self._create_one(item, fit, with_status), items, at_once=at_once)

    def _create_one(self, original: Object, fit: Callable[[Object], Object], with_status: bool) -> None:
        item = fit(made.stripped(original, original["apiVersion"], original["kind"]))
        item = made.owned(item, original, self.new_uids)
        metadata = original["metadata"]
        is_leaving = bool(metadata.get("deletionTimestamp")) and original["kind"] == "Pod"
        if is_leaving:
            # Held back by a finalizer: a pod that was leaving still holds its room.
            item["metadata"]["finalizers"] = [made.KEEP_STILL]
        try:
            created = self.api.create(item)
            if uid := metadata.get("uid"):
                self.new_uids[uid] = created["metadata"].get("uid", "")
            status = original.get("status")
            if with_status and status and _has_status_worth_keeping(original):
                self._set_status(item, status)
            if is_leaving:
                self.api.delete(self.api.path(item))
        except ApiError as answer:
            name = "/".join(filter(None, (metadata.get("namespace"), metadata["name"])))
            self.outcome.refused.append(f"{original['kind']} {name}: {answer.message}")
            return
        self.outcome.created[original["kind"]] += 1

    def _set_status(self, item: Object, status: Object) -> None:
        path = f"{self.api.path(item)}/status"
        self.api.patch(path, {"status": status})

    def _originals(self, resource: str) -> list[Object]:
        return self.saved.get(resource, [])

    def _leave_out(self, resource: str, why: str) -> None:
        if items := self._originals(resource):
            self.outcome.left_out[f"{items[0]['kind']} ({why})"] += len(items)


def _plain(item: Object) -> Object:
    return {key: value for key, value in item.items() if key != "status"}


def _has_status_worth_keeping(original: Object) -> bool:
    """A pending pod's status is what the scheduler here is to find out."""
    return original["kind"] != "Pod" or bool(original["spec"].get("nodeName"))


def _knows(api: Api, item: Object) -> bool:
    try:
        api.collection(item)
        return True
    except ApiError as answer:
        if answer.status == 404:
            return False
        raise
