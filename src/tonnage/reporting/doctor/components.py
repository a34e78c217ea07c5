"""The parts people add to a cluster for training: which are there, and what each would give."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from tonnage.cluster.snapshot import FORBIDDEN, NOT_DESCRIBED, NOT_INSTALLED
from tonnage.figures import plural
from tonnage.reporting.doctor.check import ASK_LIVE, Check, Facts, State

AREA = "components"


@dataclass(frozen=True)
class Component:
    """An add-on known by its API group."""

    name: str
    group: str
    gives: str
    remedy: str
    resource: str = ""
    """A resource whose gap tells, where only a snapshot is known."""


COMPONENTS = (
    Component(
        "Kueue",
        "kueue.x-k8s.io",
        "fair queues and quotas for GPUs",
        "install Kueue: https://kueue.sigs.k8s.io/docs/installation/",
        "clusterqueues.kueue.x-k8s.io",
    ),
    Component(
        "JobSet",
        "jobset.x-k8s.io",
        "runs of several kinds of pods that fail and restart as one",
        "install JobSet: https://jobset.sigs.k8s.io/docs/installation/",
        "jobsets.jobset.x-k8s.io",
    ),
    Component(
        "Kubeflow Trainer",
        "trainer.kubeflow.org",
        "TrainJobs with ready runtimes",
        "install Trainer: https://www.kubeflow.org/docs/components/trainer/",
        "trainjobs.trainer.kubeflow.org",
    ),
    Component(
        "Training Operator v1",
        "kubeflow.org",
        "PyTorchJob, TFJob and MPIJob",
        "only needed for existing v1 jobs; new ones use Trainer",
        "pytorchjobs.kubeflow.org",
    ),
    Component(
        "KServe",
        "serving.kserve.io",
        "serving models",
        "install KServe: https://kserve.github.io/website/",
    ),
    Component(
        "Prometheus Operator",
        "monitoring.coreos.com",
        "memory and GPU history that sizing learns from",
        "install kube-prometheus-stack, or give any Prometheus address",
    ),
    Component(
        "metrics-server",
        "metrics.k8s.io",
        "current memory of pods (`kubectl top`)",
        "install metrics-server: https://github.com/kubernetes-sigs/metrics-server",
    ),
)


def check_components(facts: Facts) -> Iterator[Check]:
    """One line per add-on."""
    for component in COMPONENTS:
        yield _component(component, facts)
    if facts.snapshot.cluster_queues or _has(COMPONENTS[0], facts):
        yield _queues(facts)
    yield _prometheus(facts)


def _component(component: Component, facts: Facts) -> Check:
    has = _has(component, facts)
    if has is None:
        text = "a file does not tell"
        return Check(area=AREA, subject=component.name, state=State.UNKNOWN, text=text, remedy=ASK_LIVE)
    if has:
        versions = facts.groups.get(component.group, ()) if facts.groups is not None else ()
        text = f"installed ({', '.join(versions)})" if versions else "installed"
        return Check(area=AREA, subject=component.name, state=State.OK, text=text)
    return Check(
        area=AREA,
        subject=component.name,
        state=State.ABSENT,
        text=f"not installed: no {component.gives}",
        remedy=component.remedy,
    )


def _has(component: Component, facts: Facts) -> bool | None:
    if facts.groups is not None:
        return component.group in facts.groups
    if not component.resource:
        return None
    gap = facts.snapshot.gap(component.resource)
    if gap is not None and gap.reason == NOT_DESCRIBED:
        return None
    return gap is None or gap.reason != NOT_INSTALLED


def _queues(facts: Facts) -> Check:
    cluster, local = len(facts.snapshot.cluster_queues), len(facts.snapshot.local_queues)
    if cluster and local:
        text = f"{plural(cluster, 'cluster queue')}, {plural(local, 'local queue')}"
        return Check(area=AREA, subject="Kueue queues", state=State.OK, text=text)
    missing = "cluster queue" if not cluster else "local queue"
    return Check(
        area=AREA,
        subject="Kueue queues",
        state=State.PROBLEM,
        text=f"Kueue is installed but there is no {missing}: jobs with a queue label would wait for ever",
        remedy="create a ResourceFlavor, a ClusterQueue and a LocalQueue per namespace",
    )


def _prometheus(facts: Facts) -> Check:
    gap = facts.snapshot.gap("services")
    if gap is not None:
        is_forbidden = gap.reason == FORBIDDEN
        remedy = "ask an admin for `list services`" if is_forbidden else ASK_LIVE
        text = f"services: {gap.message}"
        return Check(area=AREA, subject="Prometheus", state=State.UNKNOWN, text=text, remedy=remedy)
    found = [
        f"{service.metadata.namespace}/{service.metadata.name}"
        for service in facts.snapshot.services
        if _is_prometheus(service.metadata.name, service.metadata.labels)
    ]
    if found:
        return Check(area=AREA, subject="Prometheus", state=State.OK, text=f"service {found[0]}")
    return Check(
        area=AREA,
        subject="Prometheus",
        state=State.ABSENT,
        text="no Prometheus service found: sizing learns from Tonnage's own records only",
        remedy="install kube-prometheus-stack, or name your server in the settings",
    )


def _is_prometheus(name: str, labels: dict[str, str]) -> bool:
    app = labels.get("app.kubernetes.io/name") or labels.get("app") or ""
    return name in ("prometheus", "prometheus-operated", "prometheus-server") or app == "prometheus"
