"""The smallest real object of each kind the controllers serve.

A simulated pod runs as long as its annotation says; without one it runs until it is deleted.
"""

from __future__ import annotations

from typing import Any

Manifest = dict[str, Any]

FOR_A_MOMENT = {"tonnage.dev/runs-for": "300ms"}


def a_pod_template(container: str = "main", gpus: int = 0, ends: bool = True) -> Manifest:
    devices = {"nvidia.com/gpu": str(gpus)} if gpus else {}
    resources = {"requests": {"cpu": "1", "memory": "1Gi", **devices}, "limits": devices}
    return {
        "metadata": {"annotations": FOR_A_MOMENT if ends else {}},
        "spec": {
            "restartPolicy": "Never",
            "containers": [{"name": container, "image": "local/python", "resources": resources}],
        },
    }


def a_job(name: str, pods: int = 1, queue: str = "", gpus: int = 0, ends: bool = True) -> Manifest:
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {
            "name": name,
            "namespace": "default",
            "labels": {"kueue.x-k8s.io/queue-name": queue} if queue else {},
        },
        "spec": {
            "parallelism": pods,
            "completions": pods,
            "template": a_pod_template(gpus=gpus, ends=ends),
        },
    }


def a_jobset(name: str, queue: str = "", waits_for: str = "workers") -> Manifest:
    job = {"parallelism": 1, "completions": 1, "template": a_pod_template()}
    return {
        "apiVersion": "jobset.x-k8s.io/v1alpha2",
        "kind": "JobSet",
        "metadata": {
            "name": name,
            "namespace": "default",
            "labels": {"kueue.x-k8s.io/queue-name": queue} if queue else {},
        },
        "spec": {
            "replicatedJobs": [{"name": "workers", "replicas": 2, "template": {"spec": job}}],
            "successPolicy": {"operator": "All", "targetReplicatedJobs": [waits_for]},
        },
    }


def a_training_runtime(name: str) -> Manifest:
    """A runtime like the shipped torch one, whose pods end by themselves."""
    step = {"trainer.kubeflow.org/trainjob-ancestor-step": "trainer"}
    job = {
        "name": "node",
        "template": {"metadata": {"labels": step}, "spec": {"template": a_pod_template("node")}},
    }
    return {
        "apiVersion": "trainer.kubeflow.org/v1alpha1",
        "kind": "TrainingRuntime",
        "metadata": {
            "name": name,
            "namespace": "default",
            "labels": {"trainer.kubeflow.org/framework": "torch"},
        },
        "spec": {
            "mlPolicy": {"numNodes": 1, "torch": {"numProcPerNode": "auto"}},
            "template": {"spec": {"replicatedJobs": [job]}},
        },
    }


def a_trainjob(name: str, runtime: str, kind: str = "TrainingRuntime", env: str = "EPOCHS") -> Manifest:
    return {
        "apiVersion": "trainer.kubeflow.org/v1alpha1",
        "kind": "TrainJob",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {
            "runtimeRef": {"apiGroup": "trainer.kubeflow.org", "kind": kind, "name": runtime},
            "trainer": {"numNodes": 2, "env": [{"name": env, "value": "1"}]},
        },
    }


def a_pytorchjob(name: str, container: str = "pytorch") -> Manifest:
    replica = {"replicas": 1, "restartPolicy": "Never", "template": a_pod_template(container)}
    return {
        "apiVersion": "kubeflow.org/v1",
        "kind": "PyTorchJob",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {"pytorchReplicaSpecs": {"Master": replica, "Worker": replica}},
    }
