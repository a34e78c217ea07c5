"""Objects in the same file as the training are planned as if they had been applied with it."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from plan_builders import GIB, GPU, AnEstimator, a_claim, a_snapshot, a_volume, sources

from tonnage.errors import DocumentError
from tonnage.planning.plan import make_plan
from tonnage.planning.workload import DiesWith
from tonnage.planning.workload.reading import workloads_in

RUN = {
    "apiVersion": "tonnage.dev/v1alpha1",
    "kind": "Run",
    "metadata": {"name": "sft", "namespace": "team"},
    "spec": {
        "gpus": "8 x h100",
        "nodes": 2,
        "image": "a:1",
        "command": "python train.py",
        "train": {"microBatch": 1, "steps": 100_000},
        "checkpoints": {"to": "pvc/ckpt", "keep": 3},
    },
}
SERVICE = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "svc"}, "spec": {"clusterIP": "None"}}
CONFIG = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "conf"}, "data": {"lr": 0.1}}
POLICY = {"apiVersion": "networking.k8s.io/v1", "kind": "NetworkPolicy", "metadata": {"name": "deny"}}


def a_manifest(claim: str = "ckpt", **metadata: Any) -> dict[str, Any]:
    container = {
        "name": "train",
        "image": "a:1",
        "command": ["python", "train.py", "--checkpoint-dir", "/ckpt"],
        "resources": {"limits": {GPU: 8}},
        "volumeMounts": [{"name": "ckpt", "mountPath": "/ckpt"}],
    }
    pod = {
        "containers": [container],
        "volumes": [{"name": "ckpt", "persistentVolumeClaim": {"claimName": claim}}],
        "tolerations": [{"key": GPU, "operator": "Exists"}],
        "restartPolicy": "Never",
    }
    metadata = {"name": "sft", "namespace": "team", **metadata}
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": metadata,
        "spec": {"template": {"spec": pod}},
    }


def claim_document(name: str = "ckpt", **spec: Any) -> dict[str, Any]:
    wanted = {"accessModes": ["ReadWriteMany"], "resources": {"requests": {"storage": "10Ti"}}, **spec}
    return {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": name}, "spec": wanted}


def file_of(*documents: dict[str, Any]) -> str:
    return "\n---\n".join(map(json.dumps, documents))


def planned(*documents: dict[str, Any], snapshot: Any = None, **figures: int) -> Any:
    (workload,) = workloads_in(file_of(*documents), "all.yaml")
    return make_plan(workload, sources(AnEstimator(), **figures), snapshot=snapshot)


@pytest.mark.parametrize("training", [RUN, a_manifest()], ids=["Run", "Job"])
def test_a_claim_in_the_file_is_not_missing_on_the_cluster(training: dict[str, Any]) -> None:
    alone = planned(training, snapshot=a_snapshot())
    together = planned(SERVICE, claim_document(), CONFIG, training, POLICY, snapshot=a_snapshot())

    assert "pvc/ckpt does not exist" in alone.verdict.changes[0].why
    assert together.verdict.kind == "fits"
    assert together.risk.dies_with is DiesWith.NOTHING


def test_a_list_is_taken_apart_like_separate_documents() -> None:
    items = {"apiVersion": "v1", "kind": "List", "items": [claim_document(), a_manifest()]}

    assert planned(items, snapshot=a_snapshot()).verdict.kind == "fits"


def test_its_access_mode_is_minded_without_a_cluster_too() -> None:
    plan = planned(claim_document(accessModes=["ReadWriteOnce"]), RUN)

    assert plan.risk.cautions == ("ReadWriteOnce: 2 pods can mount it only while they share one node",)


def test_a_local_class_in_the_file_makes_checkpoints_die_with_the_node() -> None:
    local = {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "StorageClass",
        "metadata": {"name": "fast"},
        "provisioner": "rancher.io/local-path",
    }

    plan = planned(local, claim_document(storageClassName="fast"), RUN)

    assert plan.risk.dies_with is DiesWith.NODE
    assert plan.risk.is_refused


def test_a_claim_too_small_for_what_is_kept_is_said() -> None:
    small = claim_document(resources={"requests": {"storage": "100Gi"}})

    plan = planned(small, RUN, checkpoint_bytes=50 * GIB)

    assert plan.risk.cautions == (
        "pvc/ckpt holds 100 GiB; 3 checkpoints and the one being written take 200 GiB",
    )


def test_what_the_cluster_has_already_holds_instead() -> None:
    snapshot = a_snapshot(claims=(a_claim(modes=("ReadWriteOncePod",)),), volumes=(a_volume(),))

    plan = planned(claim_document(), RUN, snapshot=snapshot)

    assert "ReadWriteOncePod" in plan.risk.cautions[0]


def test_a_quota_in_the_file_stands_in_the_way() -> None:
    quota = {
        "apiVersion": "v1",
        "kind": "ResourceQuota",
        "metadata": {"name": "wall", "namespace": "team"},
        "spec": {"hard": {f"requests.{GPU}": 4}},
    }

    plan = planned(quota, claim_document(), a_manifest(), snapshot=a_snapshot())

    assert plan.verdict.reasons == (f"quota wall: you ask 8 of requests.{GPU}, the wall is 4",)


def test_a_run_and_a_job_in_one_file_are_both_planned() -> None:
    found = workloads_in(file_of(RUN, a_manifest(name="other")), "all.yaml")

    assert [one.kind for one in found] == ["Run", "Job"]


def test_a_claim_that_is_none_is_refused_with_its_line() -> None:
    with pytest.raises(DocumentError) as refused:
        workloads_in(file_of(RUN, claim_document(accessModes="ReadWriteMany")), "all.yaml")

    assert refused.value.problem.code == "DOC-071"
    assert "PersistentVolumeClaim" in refused.value.problem.what


def test_a_misspelt_document_of_ours_is_still_a_mistake_beside_others() -> None:
    with pytest.raises(DocumentError) as refused:
        workloads_in(file_of({**RUN, "kind": "Rum"}, claim_document()), "all.yaml")

    assert refused.value.problem.code == "DOC-010"


# -- amounts that are none


@pytest.mark.parametrize(
    ("amount", "said"),
    [
        ("64GB", "is '64GB', which is no quantity; write 64G"),
        ("64 GiB", "is '64 GiB', which is no quantity; write 64Gi"),
        ("lots", "is 'lots', which is no quantity"),
        ("", "is '', which is no quantity"),
    ],
)
def test_an_amount_kubernetes_could_not_read_is_named_with_what_to_write(amount: str, said: str) -> None:
    job = a_manifest()
    job["spec"]["template"]["spec"]["containers"][0]["resources"]["limits"]["memory"] = amount

    with pytest.raises(DocumentError) as refused:
        workloads_in(file_of(job), "job.yaml")

    assert refused.value.problem.what.endswith(f"spec.containers[0].resources.limits.memory {said}")


def test_so_is_one_of_a_claim_beside_it() -> None:
    with pytest.raises(DocumentError) as refused:
        workloads_in(file_of(RUN, claim_document(resources={"requests": {"storage": "50GB"}})), "all.yaml")

    assert (
        "spec.resources.requests.storage is '50GB', which is no quantity; write 50G"
        in refused.value.problem.what
    )


@given(
    amount=st.one_of(st.text(max_size=6), st.integers(-5, 10**20), st.floats(), st.booleans(), st.none()),
    resource=st.sampled_from(["memory", "cpu", "ephemeral-storage", GPU, "example.com/x"]),
    side=st.sampled_from(["requests", "limits"]),
)
def test_whatever_amount_is_asked_for_there_is_a_plan_or_a_clear_refusal(
    amount: object, resource: str, side: str
) -> None:
    job = a_manifest()
    job["spec"]["template"]["spec"]["containers"][0]["resources"] = {side: {resource: amount}}
    try:
        found = workloads_in(file_of(job), "job.yaml")
    except DocumentError:
        return
    for workload in found:
        assert make_plan(workload, sources(), snapshot=a_snapshot("8xh100=1,cpu=1")).verdict.kind
