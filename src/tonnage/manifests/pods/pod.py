"""The pod template of one attempt: what was planned, filled in and laid under the document's own patch."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tonnage.cluster.qos import BEST_EFFORT, GUARANTEED, compute_qos_class
from tonnage.manifests.amounts import Amounts, amounts_of, quantity
from tonnage.manifests.codes import BAD_PATCH, NO_IMAGE, NO_RDMA, NOT_GUARANTEED, refuse
from tonnage.manifests.delivering import deliver_agent, deliver_code, is_watched
from tonnage.manifests.naming import labels_of
from tonnage.manifests.pods.commands import own_command, watched
from tonnage.manifests.pods.environment import environment, grace_seconds
from tonnage.manifests.pods.placing import keep_together, pod_annotations
from tonnage.manifests.pods.securing import refuse_if_forbidden, secure
from tonnage.manifests.pods.wiring import Gang, ports_of
from tonnage.manifests.request import RenderRequest
from tonnage.planning.workload.decoding import Unreadable, pod_of
from tonnage.planning.workload.merging import merged
from tonnage.planning.workload.template import (
    GPU,
    GUARANTEED_PRIORITIES,
    MAIN,
    OUR_PRIORITIES,
    NodeLabels,
    pod_template,
)

SIDECAR_CPU, SIDECAR_MEMORY = "100m", "128Mi"
"""For containers that a patch adds without saying how much they need, in a run that must be Guaranteed."""
Template = dict[str, Any]
Words = Callable[[list[str]], list[str]]


@dataclass(frozen=True, slots=True)
class Made:
    """A pod template and what there is to say about it."""

    template: Template
    notes: tuple[str, ...]


def make_pod(request: RenderRequest, gang: Gang, *, becomes: Words | None = None) -> Made:
    """The pod of one attempt; `becomes` lets a target run something else than the document's command."""
    run = request.run
    if not run.spec.image:
        raise refuse(
            NO_IMAGE, "a run on a cluster needs an image", where="spec.image", hint="image: NAME:TAG"
        )
    amounts = amounts_of(request.planned, request.size, run.spec.priority)
    template = pod_template(run, _labels(request))
    pod, container = template["spec"], template["spec"]["containers"][0]
    rdma, rdma_notes = _rdma(request)
    words, notes = own_command(request)
    words = becomes(words) if becomes is not None else words
    container["command"] = watched(words) if is_watched(request) else words
    container["env"] = environment(request, gang, amounts)
    container["resources"] = _resources(request, amounts, rdma)
    container["ports"] = _ports(request, gang)
    container["terminationMessagePolicy"] = "FallbackToLogsOnError"
    _fill_shm(pod, amounts)
    deliver_agent(pod, container, request)
    deliver_code(pod, container, request, amounts)
    keep_together(pod, request)
    _finish(pod, request)
    secure(pod, request, locks_memory=bool(rdma))
    template["metadata"] = _metadata(request, gang)
    template = _patched(template, request)
    _named(template, gang)
    notes += [*amounts.notes, *rdma_notes, *_guarded(template, request)]
    refuse_if_forbidden(template["spec"], request.facts.pod_security)
    return Made(_without_empty(template), tuple(notes))


def _labels(request: RenderRequest) -> NodeLabels:
    gpu = [
        [{"key": line.key, "operator": line.operator, "values": list(line.values)} for line in lines]
        for lines in request.facts.gpu_terms
    ]
    return NodeLabels(gpu if request.planned.gpus else [], request.facts.spot_labels)


def _resources(request: RenderRequest, amounts: Amounts, rdma: dict[str, int]) -> dict[str, dict[str, str]]:
    resources = amounts.resources()
    devices = {name: str(count) for name, count in rdma.items()}
    if request.planned.gpus:
        devices[request.planned.gpu_resource or GPU] = str(request.planned.gpus)
    return {side: {**held, **devices} for side, held in resources.items()}


def _rdma(request: RenderRequest) -> tuple[dict[str, int], list[str]]:
    """Devices for RDMA, where the nodes have them and the document does not forbid it."""
    wish, facts = request.run.spec.network.rdma, request.facts
    if wish == "off" or (wish == "auto" and request.planned.nodes == 1):
        return {}, []
    forbidden = facts.pod_security in ("baseline", "restricted")
    if wish == "auto" and forbidden and facts.rdma:
        return {}, [
            f"RDMA is left out: the namespace's Pod Security level {facts.pod_security} forbids IPC_LOCK"
        ]
    if wish == "required" and not facts.rdma:
        raise refuse(
            NO_RDMA,
            "RDMA is required, and not every node that could take this run offers it",
            where="spec.network.rdma",
            hint="rdma: auto uses it where it is",
        )
    return facts.rdma, []


def _ports(request: RenderRequest, gang: Gang) -> list[dict[str, Any]]:
    ports = ports_of(request.run)
    found: list[dict[str, Any]] = [{"name": "metrics", "containerPort": ports.metrics, "protocol": "TCP"}]
    if request.planned.nodes > 1:
        name = gang.port_name or "ranks"
        found += [
            {"name": name, "containerPort": ports.master, "protocol": "TCP"},
            {"name": "peers", "containerPort": ports.peers, "protocol": "TCP"},
        ]
    return found


def _fill_shm(pod: dict[str, Any], amounts: Amounts) -> None:
    for volume in pod["volumes"]:
        if volume["name"] == "shm":
            volume["emptyDir"] = {"medium": "Memory", "sizeLimit": quantity(amounts.shm)}
        elif "emptyDir" in volume and (size := volume["emptyDir"].get("sizeLimit")):
            volume["emptyDir"] = {"sizeLimit": quantity(int(size))}


def _finish(pod: dict[str, Any], request: RenderRequest) -> None:
    """The rest of a pod's own fields."""
    spec = request.run.spec
    pod["terminationGracePeriodSeconds"] = grace_seconds(request)
    pod["enableServiceLinks"] = False
    if spec.network.host_network:
        pod["dnsPolicy"] = "ClusterFirstWithHostNet"
    if spec.image_pull_secrets:
        pod["imagePullSecrets"] = [{"name": name} for name in spec.image_pull_secrets]
    if spec.priority not in OUR_PRIORITIES or has_priority_class(request):
        pod["priorityClassName"] = spec.priority


def has_priority_class(request: RenderRequest) -> bool:
    """Whether the run's class exists, or is made with it."""
    known, name = request.facts.priority_classes, request.run.spec.priority
    if known is not None and name in known:
        return True
    return known is not None and name in OUR_PRIORITIES and request.facts.may_make_priority_classes


def _metadata(request: RenderRequest, gang: Gang) -> dict[str, Any]:
    port = str(ports_of(request.run).metrics)
    said = {
        "kubectl.kubernetes.io/default-container": gang.container,
        "prometheus.io/scrape": "true",
        "prometheus.io/port": port,
        "prometheus.io/path": "/metrics",
    }
    if not is_watched(request):
        said = {"kubectl.kubernetes.io/default-container": gang.container}
    labels = {**labels_of(request), "sidecar.istio.io/inject": "false"}
    return {"labels": labels, "annotations": {**pod_annotations(request), **said}}


def _patched(template: Template, request: RenderRequest) -> Template:
    """The document's own patch, last; what Kubernetes could not read is refused."""
    patch = request.run.spec.pod_template
    if not patch:
        return template
    result = merged(template, patch)
    labels = result.get("metadata", {}).get("labels") or {}
    result["metadata"] = {**result.get("metadata", {}), "labels": {**labels, **_ours(request)}}
    try:
        pod_of(result, "pod", "default")
    except Unreadable as error:
        raise refuse(
            BAD_PATCH, f"the pod cannot be read with this patch: {error}", where="spec.podTemplate"
        ) from None
    return result


def _ours(request: RenderRequest) -> dict[str, str]:
    """Labels by which we find our pods again: a patch may add to them, not change them."""
    return {name: value for name, value in labels_of(request).items() if name.startswith(("tonnage.dev/",))}


def _named(template: Template, gang: Gang) -> None:
    """The training container under the name its controller expects."""
    for container in template["spec"]["containers"]:
        if container["name"] == MAIN:
            container["name"] = gang.container


def _guarded(template: Template, request: RenderRequest) -> list[str]:
    """See that the pod has the class its run needs; what a patch added is given limits of its own."""
    notes: list[str] = []
    is_guaranteed = request.run.spec.priority in GUARANTEED_PRIORITIES
    spec = template["spec"]
    if spec.get("resources") == {}:  # v1.36 takes the empty object for "asks for nothing"
        del spec["resources"]
    if is_guaranteed and "resources" not in spec:
        for container in (*spec.get("initContainers", ()), *spec["containers"]):
            notes += _limited(container)
    qos = compute_qos_class(pod_of(template, "pod", "default"))
    if qos == BEST_EFFORT or (is_guaranteed and qos != GUARANTEED):
        raise refuse(
            NOT_GUARANTEED,
            f"with this patch the pods would be {qos}",
            where="spec.podTemplate",
            expected=f"{GUARANTEED}, since priority is {request.run.spec.priority}"
            if is_guaranteed
            else "requests",
            hint="give every container cpu and memory, requests equal to limits",
        )
    return notes


def _limited(container: dict[str, Any]) -> list[str]:
    """Requests raised to limits, limits to requests, and something small where neither is said."""
    resources = container.setdefault("resources", {})
    requests, limits = dict(resources.get("requests") or {}), dict(resources.get("limits") or {})
    notes = []
    for name, small in (("cpu", SIDECAR_CPU), ("memory", SIDECAR_MEMORY)):
        said = limits.get(name) or requests.get(name)
        if said is None:
            notes.append(f"container {container['name']} is given {small} {name}: its pod must be Guaranteed")
        limits[name] = requests[name] = said or small
    container["resources"] = {"requests": requests, "limits": limits}
    return notes


def _without_empty(template: Template) -> Template:
    """Fields that say nothing are left out, so that what is printed is what was meant."""
    spec = {
        name: value
        for name, value in template["spec"].items()
        if value not in (None, "", {}, []) and not (name == "hostNetwork" and value is False)
    }
    spec["containers"] = [
        {name: value for name, value in container.items() if value not in (None, "", [])}
        for container in spec["containers"]
    ]
    return {"metadata": template["metadata"], "spec": spec}
