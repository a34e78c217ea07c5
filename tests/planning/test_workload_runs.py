"""A Run becomes the pods it promises: tolerations, selectors, volumes, shares, and the patch laid over them."""

from __future__ import annotations

from typing import Any

import pytest

from tonnage.cluster.qos import compute_qos_class
from tonnage.errors import DocumentError
from tonnage.planning.workload import DiesWith, Workload
from tonnage.planning.workload.of_run import gpu_types_within, workload_of_run
from tonnage.planning.workload.reading import workloads_in
from tonnage.spec.literals import Gpus
from tonnage.spec.run import Run

GIB = 1024**3


def a_run(**spec: Any) -> Workload:
    return workload_of_run(Run.model_validate({"metadata": {"name": "llama"}, "spec": spec}))


def test_a_run_is_one_role_of_as_many_pods_as_nodes() -> None:
    run = a_run(nodes=2, gpus="8 x h100", memory="260Gi", cpu="32..64", disk="1Ti", queue="research")
    pod = run.trainer.pod

    assert (run.pods, run.gpus, run.ranks) == (2, 16, 16)
    assert pod.spec.containers[0].resources.limits == {
        "memory": str(260 * GIB), "ephemeral-storage": str(1024 * GIB), "cpu": "64000m", "nvidia.com/gpu": "8",
    }  # fmt: skip
    assert pod.spec.containers[0].resources.requests["cpu"] == "32000m"
    assert pod.spec.node_selector == {"nvidia.com/gpu.product": "NVIDIA-H100-80GB-HBM3"}
    assert run.queue == "research"


def test_what_is_left_to_us_is_not_in_the_pod_yet() -> None:
    run = a_run(gpus=1)

    assert run.trainer.pod.spec.containers[0].resources.limits == {"nvidia.com/gpu": "1"}
    assert run.trainer.shm_bytes is None
    assert compute_qos_class(run.trainer.pod) == "BestEffort"


def test_a_run_tolerates_gpu_nodes_by_itself_and_one_without_gpus_does_not() -> None:
    keys = [toleration.key for toleration in a_run(gpus=1).trainer.pod.spec.tolerations]

    assert keys == ["nvidia.com/gpu"]
    assert a_run().trainer.pod.spec.tolerations == ()


def test_a_range_of_memory_allows_every_type_in_it_by_its_round_figure() -> None:
    names = [gpu.name for gpu in gpu_types_within(Gpus.parse("24GB..80GB"))]

    assert {"l4", "a10g", "a100-40", "l40s", "a100-80", "h100"} <= set(names)
    assert not {"t4", "h200", "b200", "v100"} & set(names)
    assert {gpu.name for gpu in gpu_types_within(Gpus.parse("2 x 24Gi..24Gi"))} >= {"l4", "a10"}


def test_several_types_are_an_affinity_and_not_a_selector() -> None:
    pod = a_run(gpus="40GB..80GB").trainer.pod

    assert pod.spec.node_selector == {}
    assert pod.spec.affinity is not None
    node = pod.spec.affinity.node_affinity
    assert node is not None
    assert node.required_during_scheduling_ignored_during_execution is not None
    (term,) = node.required_during_scheduling_ignored_during_execution.node_selector_terms
    products = next(line for line in term.match_expressions if line.key == "nvidia.com/gpu.product")
    assert "NVIDIA-H100-80GB-HBM3" in products.values


@pytest.mark.parametrize(("use", "spot"), [(False, "never"), (True, "allowed"), ("only", "only")])
def test_spot_nodes_are_avoided_tolerated_or_required(use: object, spot: str) -> None:
    run = a_run(gpus=1, spot=use)
    keys = {toleration.key for toleration in run.trainer.pod.spec.tolerations}

    assert run.spot == spot
    assert ("cloud.google.com/gke-spot" in keys) == (spot != "never")


def test_part_of_a_gpu_is_kept_as_asked_and_asks_for_one_device() -> None:
    wish = a_run(gpus="0.5 x h100").trainer.gpus

    assert (wish.milli, wish.count, wish.is_fraction, wish.types) == (500, 1, True, ("h100",))


@pytest.mark.parametrize(
    ("to", "dies_with"),
    [
        ("pvc/ckpt", DiesWith.NOTHING),
        ("s3://bucket/x", DiesWith.NOTHING),
        ("nfs://server/x", DiesWith.NOTHING),
        ("emptyDir", DiesWith.POD),
        ("/root/out", DiesWith.CONTAINER),
        ("/scratch/out", DiesWith.POD),
        ("/nvme/out", DiesWith.NODE),
        ("/shared/out", DiesWith.NOTHING),
    ],
)
def test_a_checkpoint_lasts_as_long_as_the_volume_it_lies_in(to: str, dies_with: DiesWith) -> None:
    run = a_run(
        checkpoints=to,
        volumes=[
            {"mount": "/scratch", "emptyDir": "10Gi"},
            {"mount": "/nvme", "hostPath": "/mnt/nvme"},
            {"mount": "/shared", "pvc": "team"},
        ],
    )

    assert run.checkpoints is not None
    assert run.checkpoints.durability.dies_with is dies_with


def test_claims_of_a_run_are_volumes_of_its_pod() -> None:
    run = a_run(checkpoints="pvc/ckpt", data=[{"from": "pvc/data", "mount": "/d"}], output="s3://b/x")
    claims = [
        volume.persistent_volume_claim.claim_name
        for volume in run.trainer.pod.spec.volumes
        if volume.persistent_volume_claim is not None
    ]

    assert claims == ["data", "ckpt"]
    assert {mount.path: mount.read_only for mount in run.trainer.mounts} == {
        "/d": True,
        "/checkpoints": False,
    }


def test_policies_of_a_run_reach_the_plan() -> None:
    run = a_run(
        deadline="2d", maxWait="1h", iAcceptLosingWork=True, team="research", priority="high",
        train={"steps": 100}, checkpoints={"to": "pvc/c", "every": "20m", "keep": 5, "grace": "2m"},
    )  # fmt: skip

    assert (run.deadline_seconds, run.max_wait_seconds, run.steps) == (172_800, 3600, 100)
    assert (run.accepts_losing_work, run.team, run.priority_class) == (True, "research", "high")
    assert run.checkpoints is not None
    assert (run.checkpoints.every_seconds, run.checkpoints.keep, run.checkpoints.grace_seconds) == (
        1200,
        5,
        120,
    )
    assert run.trainer.pod.spec.termination_grace_period_seconds == 120


def test_our_own_priorities_are_made_when_missing_and_others_must_be_there() -> None:
    assert a_run(priority="critical").trainer.pod.spec.priority_class_name == ""
    assert a_run(priority="ml-prod").trainer.pod.spec.priority_class_name == "ml-prod"


def test_the_patch_is_laid_over_the_finished_pod() -> None:
    patch = {
        "spec": {
            "nodeSelector": {"disk": "nvme"},
            "containers": [
                {"name": "main", "resources": {"limits": {"rdma/hca": "1"}}},
                {"name": "proxy", "image": "proxy:1"},
            ],
        }
    }
    pod = a_run(gpus="1 x h100", podTemplate=patch).trainer.pod

    assert pod.spec.node_selector == {"nvidia.com/gpu.product": "NVIDIA-H100-80GB-HBM3", "disk": "nvme"}
    assert [container.name for container in pod.spec.containers] == ["main", "proxy"]
    assert pod.spec.containers[0].resources.limits == {"nvidia.com/gpu": "1", "rdma/hca": "1"}


def test_a_run_that_may_grow_is_planned_at_its_smallest_and_says_so() -> None:
    run = a_run(nodes="1..4")

    assert run.pods == 1
    assert any("may grow to 4" in remark for remark in run.remarks)


def test_what_a_run_does_not_say_is_unknown() -> None:
    assert {item.what for item in a_run().unknown} == {"model", "steps"}
    full = a_run(model={"shape": "llama-3-8b"}, train={"steps": 5}, checkpoints="pvc/x")
    assert full.unknown == ()


def test_a_file_with_a_run_is_read_with_its_place() -> None:
    text = "apiVersion: tonnage.dev/v1alpha1\nkind: Run\nmetadata: {name: a, namespace: n}\nspec: {gpus: 2}\n"
    (run,) = workloads_in(text, "run.yaml")

    assert (run.kind, run.namespace, run.file, run.line) == ("Run", "n", "run.yaml", 1)


def test_a_run_in_a_team_of_the_same_file_takes_its_namespace() -> None:
    text = (
        "apiVersion: tonnage.dev/v1alpha1\nkind: Run\nmetadata: {name: a}\nspec: {team: vision}\n---\n"
        "apiVersion: tonnage.dev/v1alpha1\nkind: Team\nmetadata: {name: vision}\nspec: {namespace: team-vision}\n"
    )
    (run,) = workloads_in(text, "run.yaml")

    assert run.namespace == "team-vision"


@pytest.mark.parametrize(
    ("text", "what"),
    [
        (
            "apiVersion: tonnage.dev/v1alpha1\nkind: Run\nmetadata: {name: a}\nspec: {gpu: 2}\n",
            "unknown field",
        ),
        (
            "apiVersion: tonnage.dev/v1alpha1\nkind: Team\nmetadata: {name: c}\nspec: {}\n",
            "no Run in this file",
        ),
        ("", "empty"),
        ("[1, 2", "DOC-003"),
        ("just words", "no kind"),
    ],
)
def test_a_file_that_cannot_be_planned_is_refused_with_every_mistake(text: str, what: str) -> None:
    with pytest.raises(DocumentError, match=what):
        workloads_in(text, "run.yaml")


def test_a_run_without_its_api_version_is_told_so_and_not_that_it_is_no_training_job() -> None:
    with pytest.raises(DocumentError) as refused:
        workloads_in("kind: Run\nmetadata: {name: bert}\nspec: {gpus: 1 x h100}\n", "run.yaml")

    (problem,) = refused.value.problems
    assert (problem.code, problem.what) == ("DOC-006", "apiVersion is missing")
