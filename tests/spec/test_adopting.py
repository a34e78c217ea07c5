"""The Run for a manifest: everything is carried, patched in or named as lost, and the truth is told."""

from __future__ import annotations

from typing import Any

import pytest
from adopted_manifests import adopted, container, job, pod_spec
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tonnage.spec.adopting import adopt
from tonnage.spec.dumping import write_yaml


def test_a_job_becomes_a_run() -> None:
    main = container(
        args=["--lr", "1e-5"],
        env=[
            {"name": "EPOCHS", "value": "3"},
            {"name": "HF_TOKEN", "valueFrom": {"secretKeyRef": {"name": "hf", "key": "token"}}},
            {"name": "IP", "valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}},
        ],
        resources={
            "requests": {"cpu": "32", "memory": "200Gi", "ephemeral-storage": "50Gi"},
            "limits": {"nvidia.com/gpu": 8, "cpu": "64", "memory": "500Gi", "rdma/ib": 1},
        },
        volumeMounts=[
            {"name": "shm", "mountPath": "/dev/shm"},
            {"name": "data", "mountPath": "/data", "readOnly": True},
            {"name": "odd", "mountPath": "/odd"},
        ],
    )
    template = pod_spec(
        main,
        nodeSelector={"nvidia.com/gpu.product": "NVIDIA-H100-80GB-HBM3", "zone": "a"},
        priorityClassName="ml-high",
        serviceAccountName="trainer",
        imagePullSecrets=[{"name": "login"}],
        volumes=[
            {"name": "shm", "emptyDir": {"medium": "Memory", "sizeLimit": "64Gi"}},
            {"name": "data", "persistentVolumeClaim": {"claimName": "corpus"}},
            {"name": "odd", "csi": {"driver": "odd.example"}},
        ],
    )
    manifest = job(template, backoffLimit=3, activeDeadlineSeconds=7200, ttlSecondsAfterFinished=86400)
    manifest["metadata"]["labels"] = {"kueue.x-k8s.io/queue-name": "research", "app": "x"}
    run, result = adopted(manifest)

    assert run["metadata"] == {"name": "train", "namespace": "ml", "labels": {"app": "x"}}
    assert run["spec"] == {
        "queue": "research",
        "priority": "ml-high",
        "image": "ml/train:1",
        "command": "python train.py --lr 1e-5",
        "env": {"EPOCHS": "3"},
        "secrets": {"HF_TOKEN": "hf/token"},
        "serviceAccount": "trainer",
        "imagePullSecrets": ["login"],
        "gpus": "8 x h100",
        "cpu": "32..64",
        "memory": "200Gi..500Gi",
        "shm": "64Gi",
        "disk": "50Gi",
        "volumes": [{"mount": "/data", "pvc": "corpus", "readOnly": True}],
        "retries": 3,
        "deadline": "2h",
        "keep": "1d",
        "podTemplate": {
            "spec": {
                "tolerations": [{"key": "nvidia.com/gpu", "operator": "Exists"}],
                "nodeSelector": {"zone": "a"},
                "volumes": [{"name": "odd", "csi": {"driver": "odd.example"}}],
                "containers": [
                    {
                        "name": "main",
                        "env": [{"name": "IP", "valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}}],
                        "resources": {"limits": {"rdma/ib": 1}},
                        "volumeMounts": [{"name": "odd", "mountPath": "/odd"}],
                    }
                ],
            }
        },
    }
    assert result.notes.lost == []


@pytest.mark.parametrize(
    ("fields", "truth"),
    [
        ({"resources": {"requests": {"nvidia.com/gpu": 1, "memory": "1Gi"}}}, "in requests only"),
        ({"resources": {"limits": {"nvidia.com/gpu": "0.5", "memory": "1Gi"}}}, "must be an integer"),
        ({"resources": {"limits": {"nvidia.com/gpu": 1}}}, "BestEffort"),
        ({"resources": {"requests": {"memory": "64Gi"}, "limits": {"memory": "128Gi"}}}, "Burstable"),
        ({"resources": {"limits": {"memory": "512m", "cpu": "1"}}}, "thousandths"),
        (
            {"resources": {"limits": {"nvidia.com/gpu": 2, "cpu": 1}, "requests": {"nvidia.com/gpu": 1}}},
            "differ",
        ),
    ],
)
def test_the_truth_about_resources_is_told(fields: dict[str, Any], truth: str) -> None:
    _, result = adopted(job(pod_spec(container(**fields))))

    assert any(truth in said for said in result.notes.truths), result.notes.truths
    assert truth in " ".join(result.text.replace("#", "").split()), "and in the file's comments too"


@pytest.mark.parametrize(
    ("template", "truth"),
    [
        (pod_spec(restartPolicy="Always"), "Kubernetes refuses such a Job"),
        (pod_spec(restartPolicy="OnFailure"), "deleted at the last failure"),
        (pod_spec(tolerations=[]), "no toleration"),
        (pod_spec(nodeSelector={"nvidia.com/gpu": "true"}), "only where an admin set it"),
        (
            pod_spec(
                container(volumeMounts=[{"name": "s", "mountPath": "/ckpt"}]),
                volumes=[{"name": "s", "emptyDir": {}}],
            ),
            "die with the pod",
        ),
    ],
)
def test_the_truth_about_the_pod_is_told(template: dict[str, Any], truth: str) -> None:
    _, result = adopted(job(template))

    assert any(truth in said for said in result.notes.truths), result.notes.truths


def test_half_a_gpu_is_carried_as_asked() -> None:
    run, _ = adopted(job(pod_spec(container(resources={"limits": {"nvidia.com/gpu": "0.5"}}))))

    assert run["spec"]["gpus"] == 0.5


def test_what_a_run_does_not_carry_is_named() -> None:
    manifest = job(podReplacementPolicy="Failed", suspend=True, podFailurePolicy={"rules": []})
    manifest["spec"]["podFailurePolicy"] = {"rules": [{"action": "Ignore"}]}
    _, result = adopted(manifest)

    assert [said.split(":")[0] for said in result.notes.lost] == [
        "podFailurePolicy",
        "suspend",
        "spec.podReplacementPolicy",
    ]
    assert "Not carried: spec.podReplacementPolicy" in result.text


def test_a_pods_own_labels_and_annotations_stay_on_the_pod() -> None:
    head = {"name": "p", "labels": {"app": "t"}, "annotations": {"karpenter.sh/do-not-disrupt": "true"}}
    run, result = adopted({"apiVersion": "v1", "kind": "Pod", "metadata": head, "spec": pod_spec()})

    assert run["spec"]["labels"] == {"app": "t"}
    assert run["spec"]["podTemplate"]["metadata"]["annotations"] == head["annotations"]
    assert run["metadata"] == {"name": "p"}
    assert result.notes.lost == []


def test_labels_and_annotations_that_controllers_read_are_carried_or_named() -> None:
    manifest = job()
    manifest["metadata"] |= {
        "labels": {"kueue.x-k8s.io/priority-class": "high", "owner": "ada"},
        "annotations": {"alpha.jobset.sigs.k8s.io/exclusive-topology": "rack", "note": "mine"},
    }

    run, result = adopted(manifest)

    assert run["spec"]["labels"] == {"kueue.x-k8s.io/priority-class": "high"}
    assert run["metadata"]["labels"] == {"owner": "ada"}
    (lost,) = result.notes.lost
    assert "alpha.jobset.sigs.k8s.io/exclusive-topology" in lost


def test_a_claim_for_one_node_mounted_by_two_pods_is_told() -> None:
    claim = {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": "ckpt"},
        "spec": {"accessModes": ["ReadWriteOnce"]},
    }
    template = pod_spec(
        container(volumeMounts=[{"name": "c", "mountPath": "/ckpt"}]),
        volumes=[{"name": "c", "persistentVolumeClaim": {"claimName": "ckpt"}}],
    )
    two = job(template, completions=2, parallelism=2, completionMode="Indexed")
    result = adopt(f"{write_yaml(claim)}---\n{write_yaml(two)}", "f")

    assert any("ReadWriteOnce" in said for said in result.notes.truths)
    assert any("PersistentVolumeClaim" in said for said in result.notes.lost), (
        "the claim itself stays the user's"
    )
    assert any("checkpoints: {to: pvc/ckpt" in said for said in result.notes.hints)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("apiVersion: apps/v1\nkind: Deployment\n", "for ever"),
        ("apiVersion: ray.io/v1\nkind: RayJob\n", "cluster of its own"),
        ("apiVersion: v1\nkind: Service\n", "not a training job"),
        ("resources: {requests: {nvidia.com/gpu: 1}}\n", "in requests only"),
        ("apiVersion: v1\nkind: ResourceQuota\nspec: {hard: {limits.nvidia.com/gpu: 3}}\n", "never counted"),
        (
            "apiVersion: v1\nkind: LimitRange\nspec: {limits: [{max: {nvidia.com/gpu: 8}}]}\n",
            "gives 8 to every container",
        ),
        ("apiVersion: tonnage.dev/v1alpha1\nkind: Run\n", "already"),
        ("apiVersion: v1\nkind: Pod\nspec: {containers: []}\n", "no pod template"),
        ("apiVersion: batch/v1\nkind: Job\nspec: 5\n", "no pod template"),
        ("[1, 2]\n", "not a Kubernetes manifest"),
        ("", "empty"),
    ],
)
def test_what_is_no_training_job_is_refused_with_its_reason(text: str, reason: str) -> None:
    result = adopt(text, "f")

    assert result.text == ""
    assert any(reason in mistake.what for mistake in result.mistakes), result.mistakes


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 5) | st.sampled_from(["", "x", "1Gi", "/dev/shm", "0.5"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                [
                    "name",
                    "image",
                    "command",
                    "env",
                    "resources",
                    "limits",
                    "volumes",
                    "volumeMounts",
                    "spec",
                    "template",
                ]
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)


@settings(max_examples=80, suppress_health_check=[HealthCheck.too_slow])
@given(st.sampled_from(["Pod", "Job", "JobSet", "TrainJob", "PyTorchJob", "TFJob", "MPIJob"]), VALUES, VALUES)
def test_any_manifest_is_taken_over_or_refused(kind: str, spec: Any, trainer: Any) -> None:
    manifest = {"apiVersion": "v1", "kind": kind, "metadata": {"name": "a"}, "spec": spec}
    roles = ("pytorchReplicaSpecs", "tfReplicaSpecs", "mpiReplicaSpecs", "replicatedJobs")
    for name in ("containers", "trainer", *roles):
        if isinstance(spec, dict):
            spec[name] = trainer
    result = adopt(write_yaml(manifest), "f")

    assert bool(result.text) != bool(result.mistakes)
