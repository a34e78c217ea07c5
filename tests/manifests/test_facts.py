"""What is read off a cluster, and what is not guessed."""

from __future__ import annotations

import msgspec
import pytest
from manifest_cases import TORCH, Case
from msgspec.structs import replace

from tonnage.cluster.objects import Pod
from tonnage.cluster.snapshot import FORBIDDEN, NOT_DESCRIBED, NOT_INSTALLED, Gap
from tonnage.manifests import ClusterFacts, Planned, expected_target, facts_of
from tonnage.manifests.facts import KINDS, served_by

GANG = {**TORCH, "gpus": 8, "nodes": 2, "checkpoints": "pvc/ckpt"}


def facts(case: Case) -> ClusterFacts:
    return facts_of(case.snapshot(), case.situation().plan)


def a_case(spec=None, **fields) -> Case:
    return Case(name="sft", spec={**GANG, **(spec or {})}, **fields)


def gaps(*reasons: tuple[str, str]) -> tuple[Gap, ...]:
    return tuple(Gap(resource=KINDS[kind][0], reason=reason) for kind, reason in reasons)


def test_a_kind_is_served_unless_it_is_known_not_to_be():
    snapshot = replace(a_case().snapshot(), gaps=gaps(("JobSet", NOT_INSTALLED), ("TrainJob", FORBIDDEN)))
    assert set(served_by(snapshot)) == {"TrainJob", "PyTorchJob", "TFJob", "MPIJob"}


def test_the_mpi_operator_alone_serves_its_own_version():
    missing = [(kind, NOT_INSTALLED) for kind in KINDS if kind != "MPIJob"]
    snapshot = replace(a_case().snapshot(), gaps=gaps(*missing))
    assert served_by(snapshot) == {"MPIJob": "kubeflow.org/v2beta1"}


def test_cards_for_rdma_are_shared_like_the_gpus():
    case = a_case(
        {"gpus": 4}, resources={"rdma/ib": "8", "rdma/shared_a": "63", "vpc.amazonaws.com/efa": "32"}
    )
    assert facts(case).rdma == {"rdma/ib": 4, "rdma/shared_a": 1, "vpc.amazonaws.com/efa": 16}


def test_pods_without_a_queue_go_to_the_one_kueue_would_put_them_in():
    assert facts(a_case(queues=("default",))).queue == "default"
    assert facts(a_case(queues=("other",))).queue == ""


def test_a_topology_is_used_above_the_single_node_only():
    levels = ("topology.kubernetes.io/zone", "topology.kubernetes.io/rack", "kubernetes.io/hostname")
    assert facts(a_case({"queue": "q"}, queues=("q",), topology=levels)).queue_topology == levels[1]
    assert facts(a_case({"queue": "q"}, queues=("q",), topology=levels[2:])).queue_topology == ""


def test_monitoring_is_where_prometheus_runs():
    case = a_case()
    prometheus = {"metadata": {"namespace": "watch", "labels": {"app.kubernetes.io/name": "prometheus"}}}
    snapshot = replace(case.snapshot(), pods=(msgspec.convert(prometheus, Pod),))
    assert facts_of(snapshot, case.situation().plan).monitoring == ("watch",)


def test_classes_that_could_not_be_seen_are_not_taken_for_missing():
    case = a_case()
    snapshot = replace(
        case.snapshot(), gaps=(Gap(resource="priorityclasses.scheduling.k8s.io", reason=FORBIDDEN),)
    )
    assert facts_of(snapshot, case.situation().plan).priority_classes is None


@pytest.mark.parametrize(
    ("labels", "marks"),
    [
        (
            {"eks.amazonaws.com/nodegroup": "a"},
            {"karpenter.sh/capacity-type", "eks.amazonaws.com/capacityType"},
        ),
        (
            {"cloud.google.com/gke-nodepool": "a"},
            {"karpenter.sh/capacity-type", "cloud.google.com/gke-spot", "cloud.google.com/gke-preemptible"},
        ),
    ],
)
def test_spot_is_told_by_the_marks_of_the_clusters_cloud(labels, marks):
    """Sandbox nodes say karpenter.sh/capacity-type, so that mark is always among them."""
    product = {"nvidia.com/gpu.product": "NVIDIA-H100-80GB-HBM3"}
    assert {name for name, _ in facts(a_case(labels={**labels, **product})).spot_labels} == marks


def test_facts_and_figures_survive_being_kept_as_json():
    case = a_case(resources={"rdma/ib": "8"}, queues=("default",))
    request = case.request()
    for value, kind in ((request.facts, ClusterFacts), (request.planned, Planned)):
        assert msgspec.json.decode(msgspec.json.encode(value), type=kind) == value


# -- what a plan says of it


def test_a_plan_says_what_the_run_becomes():
    case = a_case()
    found = expected_target(case.situation().plan, case.snapshot())
    assert found is not None
    assert (found.kind, found.why) == ("JobSet", "2 pods, and JobSet is installed")
    assert found.lacks == ("deadline", "resize")


def test_a_plan_says_that_a_named_target_is_missing():
    case = a_case({"target": "TrainJob"})
    snapshot = replace(case.snapshot(), gaps=gaps(("TrainJob", NOT_INSTALLED)))
    found = expected_target(case.situation().plan, snapshot)
    assert found is not None
    assert found.kind == ""
    assert "is not installed" in found.why


def test_a_cluster_document_does_not_tell_what_is_installed():
    case = a_case()
    snapshot = replace(case.snapshot(), gaps=gaps(*((kind, NOT_DESCRIBED) for kind in KINDS)))
    assert expected_target(case.situation().plan, snapshot) is None
