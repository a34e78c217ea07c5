"""The kinds of object we read, in one table: where each lives in the API, and where it goes in a snapshot."""

from __future__ import annotations

from dataclasses import dataclass

from tonnage.cluster.objects.loose import Loose
from tonnage.cluster.objects.meta import Value
from tonnage.cluster.objects.node import Node
from tonnage.cluster.objects.pod import Pod
from tonnage.cluster.objects.policy import (
    LimitRange,
    Namespace,
    PodDisruptionBudget,
    PriorityClass,
    ResourceQuota,
)
from tonnage.cluster.objects.storage import PersistentVolume, PersistentVolumeClaim, StorageClass
from tonnage.cluster.objects.workload import Event, Job


@dataclass(frozen=True)
class Kind:
    """One kind of object: its name in paths, its API, our slim value, and its field in a snapshot."""

    resource: str
    kind: str
    field: str
    type: type[Value] = Loose
    group: str = ""
    versions: tuple[str, ...] = ("v1",)
    """Those we understand, newest first; discovery picks one the cluster serves."""
    namespaced: bool = True

    @property
    def full_name(self) -> str:
        """As kubectl takes it: `pods`, `clusterqueues.kueue.x-k8s.io`."""
        return f"{self.resource}.{self.group}" if self.group else self.resource

    def api_version(self, version: str | None = None) -> str:
        chosen = version or self.versions[0]
        return f"{self.group}/{chosen}" if self.group else chosen

    def path(self, namespace: str = "", *, version: str | None = None, name: str = "") -> str:
        """The path of its collection, or of one object."""
        root = f"/apis/{self.api_version(version)}" if self.group else f"/api/{self.api_version(version)}"
        place = f"/namespaces/{namespace}" if namespace and self.namespaced else ""
        return f"{root}{place}/{self.resource}" + (f"/{name}" if name else "")


def _kueue(resource: str, kind: str, field: str, *, namespaced: bool = False) -> Kind:
    versions = ("v1beta2", "v1beta1")
    return Kind(resource, kind, field, group="kueue.x-k8s.io", versions=versions, namespaced=namespaced)


KINDS: tuple[Kind, ...] = (
    Kind("nodes", "Node", "nodes", Node, namespaced=False),
    Kind("pods", "Pod", "pods", Pod),
    Kind("events", "Event", "events", Event),
    Kind("namespaces", "Namespace", "namespaces", Namespace, namespaced=False),
    Kind("resourcequotas", "ResourceQuota", "quotas", ResourceQuota),
    Kind("limitranges", "LimitRange", "limit_ranges", LimitRange),
    Kind(
        "priorityclasses",
        "PriorityClass",
        "priority_classes",
        PriorityClass,
        "scheduling.k8s.io",
        namespaced=False,
    ),
    Kind("poddisruptionbudgets", "PodDisruptionBudget", "disruption_budgets", PodDisruptionBudget, "policy"),
    Kind("persistentvolumes", "PersistentVolume", "volumes", PersistentVolume, namespaced=False),
    Kind("persistentvolumeclaims", "PersistentVolumeClaim", "claims", PersistentVolumeClaim),
    Kind(
        "storageclasses", "StorageClass", "storage_classes", StorageClass, "storage.k8s.io", namespaced=False
    ),
    Kind("jobs", "Job", "jobs", Job, "batch"),
    Kind("services", "Service", "services"),
    Kind("replicasets", "ReplicaSet", "replica_sets", group="apps"),
    Kind("statefulsets", "StatefulSet", "stateful_sets", group="apps"),
    _kueue("clusterqueues", "ClusterQueue", "cluster_queues"),
    _kueue("localqueues", "LocalQueue", "local_queues", namespaced=True),
    _kueue("cohorts", "Cohort", "cohorts"),
    _kueue("resourceflavors", "ResourceFlavor", "flavors"),
    _kueue("topologies", "Topology", "topologies"),
    _kueue("workloads", "Workload", "workloads", namespaced=True),
    Kind("jobsets", "JobSet", "job_sets", group="jobset.x-k8s.io", versions=("v1alpha2",)),
    Kind("trainjobs", "TrainJob", "train_jobs", group="trainer.kubeflow.org", versions=("v1alpha1",)),
    Kind("pytorchjobs", "PyTorchJob", "training_jobs", group="kubeflow.org"),
    Kind("tfjobs", "TFJob", "training_jobs", group="kubeflow.org"),
    Kind("mpijobs", "MPIJob", "training_jobs", group="kubeflow.org", versions=("v2beta1", "v1")),
)

_BY_NAME = {kind.full_name: kind for kind in KINDS} | {kind.resource: kind for kind in reversed(KINDS)}


def find_kind(resource: str) -> Kind | None:
    """The kind with this plural (`pods`, `jobs.batch`, `clusterqueues`)."""
    return _BY_NAME.get(resource)
