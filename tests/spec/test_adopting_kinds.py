"""Every kind of training job becomes a Run; what one kind alone says is carried or named as lost."""

from __future__ import annotations

from typing import Any

import pytest
from adopted_manifests import adopted, job, pod_spec

KUBEFLOW = {"template": {"spec": pod_spec()}}


@pytest.mark.parametrize(
    ("manifest", "expected"),
    [
        (
            {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}, "spec": pod_spec()},
            {"gpus": 8},
        ),
        (
            job(completions=4, parallelism=4, completionMode="Indexed"),
            {"nodes": 4, "target": "IndexedJob"},
        ),
        (
            {
                "apiVersion": "jobset.x-k8s.io/v1alpha2",
                "kind": "JobSet",
                "metadata": {"name": "a"},
                "spec": {
                    "failurePolicy": {"maxRestarts": 5},
                    "replicatedJobs": [
                        {
                            "name": "w",
                            "replicas": 2,
                            "template": {"spec": job(parallelism=2, completionMode="Indexed")["spec"]},
                        }
                    ],
                },
            },
            {"nodes": 4, "target": "JobSet", "retries": 5},
        ),
        (
            {
                "apiVersion": "kubeflow.org/v1",
                "kind": "PyTorchJob",
                "metadata": {"name": "a"},
                "spec": {
                    "nprocPerNode": "8",
                    "runPolicy": {"backoffLimit": 2},
                    "pytorchReplicaSpecs": {
                        "Master": {"replicas": 1, **KUBEFLOW},
                        "Worker": {"replicas": 3, **KUBEFLOW},
                    },
                },
            },
            {"nodes": 4, "target": "PyTorchJob", "framework": "torch", "processesPerNode": 8, "retries": 2},
        ),
        (
            {
                "apiVersion": "kubeflow.org/v1",
                "kind": "TFJob",
                "metadata": {"name": "a"},
                "spec": {
                    "tfReplicaSpecs": {
                        "Chief": {"replicas": 1, **KUBEFLOW},
                        "Worker": {"replicas": 2, **KUBEFLOW},
                    }
                },
            },
            {"nodes": 3, "target": "TFJob", "framework": "tensorflow"},
        ),
        (
            {
                "apiVersion": "kubeflow.org/v2beta1",
                "kind": "MPIJob",
                "metadata": {"name": "a"},
                "spec": {
                    "slotsPerWorker": 8,
                    "mpiReplicaSpecs": {
                        "Launcher": {
                            "template": {
                                "spec": {
                                    "containers": [
                                        {"name": "l", "image": "x:1", "command": ["mpirun", "python", "t.py"]}
                                    ]
                                }
                            }
                        },
                        "Worker": {"replicas": 2, **KUBEFLOW},
                    },
                },
            },
            {
                "nodes": 2,
                "target": "MPIJob",
                "framework": "mpi",
                "processesPerNode": 8,
                "command": "mpirun python t.py",
            },
        ),
        (
            {
                "apiVersion": "trainer.kubeflow.org/v1alpha1",
                "kind": "TrainJob",
                "metadata": {"name": "a"},
                "spec": {
                    "runtimeRef": {"name": "torch-distributed"},
                    "trainer": {
                        "numNodes": 2,
                        "numProcPerNode": 8,
                        "image": "x:1",
                        "command": ["torchrun", "t.py"],
                        "resourcesPerNode": {"limits": {"nvidia.com/gpu": 8, "memory": "1Ti"}},
                    },
                },
            },
            {
                "nodes": 2,
                "target": "TrainJob",
                "framework": "torch",
                "gpus": 8,
                "memory": "1Ti",
                "command": "torchrun t.py",
            },
        ),
    ],
    ids=["Pod", "IndexedJob", "JobSet", "PyTorchJob", "TFJob", "MPIJob", "TrainJob"],
)
def test_every_training_kind_is_taken_over(manifest: dict[str, Any], expected: dict[str, Any]) -> None:
    run, _ = adopted(manifest)

    assert {name: run["spec"].get(name) for name in expected} == expected


def test_nothing_of_a_job_set_or_an_mpi_job_is_lost_in_silence() -> None:
    inner = {"template": {"spec": pod_spec()}, "backoffLimit": 6}
    child = {"metadata": {"annotations": {"kueue.x-k8s.io/podset-required-topology": "rack"}}, "spec": inner}
    policy = {"maxRestarts": 4}
    head = {"apiVersion": "jobset.x-k8s.io/v1alpha2", "kind": "JobSet", "metadata": {"name": "s"}}
    spec = {"failurePolicy": policy, "replicatedJobs": [{"name": "w", "template": child}]}
    mpi = {
        "apiVersion": "kubeflow.org/v2beta1",
        "kind": "MPIJob",
        "metadata": {"name": "m"},
        "spec": {
            "sshAuthMountPath": "/home/me/.ssh",
            "mpiReplicaSpecs": {"Worker": {"template": {"spec": pod_spec()}}},
        },
    }

    lost_of_set = " ".join(adopted({**head, "spec": spec})[1].notes.lost)
    lost_of_mpi = " ".join(adopted(mpi)[1].notes.lost)

    assert "podset-required-topology" in lost_of_set
    assert "backoffLimit 6" in lost_of_set
    assert "sshAuthMountPath" in lost_of_mpi


def test_half_an_elastic_policy_is_named_as_lost() -> None:
    spec = {
        "elasticPolicy": {"minReplicas": 2},
        "pytorchReplicaSpecs": {"Worker": {"replicas": 3, "template": {"spec": pod_spec()}}},
    }
    head = {"apiVersion": "kubeflow.org/v1", "kind": "PyTorchJob", "metadata": {"name": "p"}}

    run, result = adopted({**head, "spec": spec})

    assert run["spec"]["nodes"] == 3
    assert "elasticPolicy.minReplicas: Tonnage sets it" in result.notes.lost
