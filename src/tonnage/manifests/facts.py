"""Read off a snapshot what objects depend on: what is installed, what the chosen nodes carry, whose queue it is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tonnage.cluster.announcing import part_of
from tonnage.cluster.gpus import find_gpu
from tonnage.cluster.objects import Node
from tonnage.cluster.objects.loose import Loose
from tonnage.cluster.snapshot import FORBIDDEN, Snapshot
from tonnage.manifests.larger import larger_gpus
from tonnage.manifests.planned import part_wanted, planned_of
from tonnage.manifests.reading_nodes import SCRAPER_LABEL, SCRAPERS, count_on, near_of, node_lines, rdma_of
from tonnage.manifests.request import ClusterFacts
from tonnage.planning.aiming import gpu_terms, labels_for
from tonnage.planning.answers import Plan
from tonnage.planning.catalogue import PriceOf, offers
from tonnage.planning.parting import kind_of
from tonnage.planning.sources import no_price
from tonnage.planning.workload.template import GPU, Terms
from tonnage.spec.run import Run
from tonnage.timing.collective import Interconnect

DEFAULT_QUEUE = "default"
"""The LocalQueue that Kueue itself puts a job into which names none."""
ENFORCE = "pod-security.kubernetes.io/enforce"
HOSTNAME = "kubernetes.io/hostname"
KINDS = {
    "JobSet": ("jobsets.jobset.x-k8s.io", "jobset.x-k8s.io/v1alpha2"),
    "TrainJob": ("trainjobs.trainer.kubeflow.org", "trainer.kubeflow.org/v1alpha1"),
    "PyTorchJob": ("pytorchjobs.kubeflow.org", "kubeflow.org/v1"),
    "TFJob": ("tfjobs.kubeflow.org", "kubeflow.org/v1"),
    "MPIJob": ("mpijobs.kubeflow.org", "kubeflow.org/v1"),
}


def facts_of(
    snapshot: Snapshot,
    plan: Plan,
    *,
    served: Mapping[str, str] | None = None,
    price_of: PriceOf = no_price,
) -> ClusterFacts:
    """The facts for one planned Run; `served` is what discovery found, where somebody asked it."""
    run = plan.workload.run
    if run is None:
        raise ValueError("only a Run is rendered; a manifest is applied as it is")
    nodes = _chosen(snapshot, plan)
    labels = labels_for(run, snapshot.nodes)
    queue = _queue(snapshot, run, plan.workload.namespace)
    rdma = rdma_of(nodes, plan)
    many = plan.workload.pods > 1
    return ClusterFacts(
        served=dict(served if served is not None else served_by(snapshot)),
        gpu_terms=tuple(node_lines(terms) for terms in _gpu_terms(snapshot, plan, labels.gpu or [])),
        spot_labels=tuple(labels.spot),
        near=near_of(nodes) if many else (),
        rdma=rdma,
        queue=queue.metadata.name if queue is not None else "",
        queue_topology=_level(snapshot, queue) if queue is not None else "",
        priority_classes=_classes(snapshot),
        pod_security=_security(snapshot, plan.workload.namespace),
        monitoring=_monitoring(snapshot),
        larger=larger_gpus(snapshot, plan, planned_of(plan, snapshot), price_of),
        link_bytes_per_second=Interconnect().network if many and plan.workload.gpus and not rdma else None,
    )


def served_by(snapshot: Snapshot) -> dict[str, str]:
    """What could be listed, or exists and may not be listed."""
    found = {}
    for kind, (resource, version) in KINDS.items():
        gap = snapshot.gap(resource)
        if gap is None or gap.reason == FORBIDDEN:
            found[kind] = version
    if "MPIJob" in found and "TFJob" not in found:  # the MPI operator alone, whose kind has another version
        found["MPIJob"] = "kubeflow.org/v2beta1"
    return found


def _chosen(snapshot: Snapshot, plan: Plan) -> list[Node]:
    """The nodes that would take the run, were they empty."""
    names = set(plan.placement.empty.feasible) if plan.placement is not None else set()
    return [node for node in snapshot.nodes if node.metadata.name in names]


def _gpu_terms(snapshot: Snapshot, plan: Plan, own: Sequence[Terms]) -> Sequence[Terms]:
    """As the plan aimed: at what the document names, else at the type it chose where there are others."""
    chosen = find_gpu(plan.devices.gpu) if plan.devices is not None else None
    if chosen is None:
        return own
    part = part_wanted(plan)
    if part is not None:
        gpu = find_gpu(part.gpu) or chosen
        return gpu_terms([gpu], snapshot.nodes, kind_of(part))
    kinds = {offer.gpu for offer in offers(snapshot.nodes, no_price)}
    is_named = len(own) == 1 and all(len(line["values"]) == 1 for line in own[0])
    if is_named or not (len(kinds) > 1 or any(map(_is_cut, snapshot.nodes))):
        return own
    return gpu_terms([chosen], snapshot.nodes)


def _is_cut(node: Node) -> bool:
    """Whether what a node announces as GPUs are parts of GPUs, which the scheduler cannot know."""
    return count_on(node, GPU) > 0 and part_of(GPU, node.metadata.labels) != ""


def _queue(snapshot: Snapshot, run: Run, namespace: str) -> Loose | None:
    wanted = run.spec.queue or DEFAULT_QUEUE
    return next(
        (
            queue
            for queue in snapshot.local_queues
            if queue.metadata.name == wanted and queue.metadata.namespace == namespace
        ),
        None,
    )


def _level(snapshot: Snapshot, queue: Loose) -> str:
    """The closest level above a single node on which the queue's flavors can place a gang."""
    named = {item.metadata.name: item for item in snapshot.cluster_queues}.get(
        str(queue.spec.get("clusterQueue"))
    )
    groups = named.spec.get("resourceGroups", []) if named is not None else []
    flavors = {flavor.get("name") for group in groups for flavor in group.get("flavors", [])}
    used = {
        flavor.spec.get("topologyName", "") for flavor in snapshot.flavors if flavor.metadata.name in flavors
    }
    if len(used) != 1:  # a flavor without a topology would make the whole request inadmissible
        return ""
    found = {item.metadata.name: item for item in snapshot.topologies}.get(str(used.pop()))
    levels = (
        [str(level.get("nodeLabel")) for level in found.spec.get("levels", [])] if found is not None else []
    )
    return next((level for level in reversed(levels) if level != HOSTNAME), "")


def _classes(snapshot: Snapshot) -> tuple[str, ...] | None:
    if snapshot.gap("priorityclasses.scheduling.k8s.io") is not None:
        return None
    return tuple(sorted(item.metadata.name for item in snapshot.priority_classes))


def _security(snapshot: Snapshot, namespace: str) -> str:
    return next(
        (
            item.metadata.labels.get(ENFORCE, "")
            for item in snapshot.namespaces
            if item.metadata.name == namespace
        ),
        "",
    )


def _monitoring(snapshot: Snapshot) -> tuple[str, ...]:
    """Namespaces in which something runs that reads metrics."""
    found = {
        pod.metadata.namespace for pod in snapshot.pods if pod.metadata.labels.get(SCRAPER_LABEL) in SCRAPERS
    }
    return tuple(sorted(found))
