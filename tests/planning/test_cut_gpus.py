"""Nodes that announce slices or shares as `nvidia.com/gpu` are not nodes with whole GPUs."""

from __future__ import annotations

import json

import msgspec
import pytest
from msgspec.structs import replace
from plan_builders import GPU, AnEstimator, a_pod, a_snapshot, a_workload, nodes, sources, train

from tonnage.cluster.objects import Node
from tonnage.planning.answers import Plan
from tonnage.planning.fitting import fit
from tonnage.planning.plan import look_at, make_plan
from tonnage.planning.workload import GpuWish, Workload

PRODUCT = "nvidia.com/gpu.product"
H100 = "NVIDIA-H100-80GB-HBM3"
SINGLE = {PRODUCT: f"{H100}-MIG-1g.10gb", "nvidia.com/mig.strategy": "single"}
SHARED = {PRODUCT: f"{H100}-SHARED", "nvidia.com/gpu.replicas": "7"}


def cut(labels: dict[str, str], count: int = 3) -> list[Node]:
    """Nodes with 56 parts that they call GPUs."""
    made = []
    for node in nodes(f"8xh100={count}"):
        plain = json.loads(msgspec.json.encode(node))
        plain["metadata"]["name"] = plain["metadata"]["name"].replace("8xh100", "cut")
        plain["metadata"]["labels"] |= labels
        plain["status"]["allocatable"][GPU] = plain["status"]["capacity"][GPU] = "56"
        made.append(msgspec.convert(plain, Node))
    return made


def planned(workload: Workload, *groups: list[Node]) -> Plan:
    snapshot = a_snapshot([node for group in groups for node in group])
    return make_plan(workload, sources(AnEstimator()), snapshot=snapshot)


@pytest.mark.parametrize("labels", [SINGLE, SHARED], ids=["MIG single", "time slices"])
def test_only_whole_gpus_count_for_a_job_that_wants_whole_ones(labels: dict[str, str]) -> None:
    plan = planned(a_workload(types=()), nodes("8xh100=2"), cut(labels))

    assert plan.placement is not None
    assert set(plan.placement.now.feasible) == {"8xh100-0", "8xh100-1"}
    assert sum(group.nodes for group in plan.placement.groups) == 5
    assert "select nvidia.com/gpu.product" in plan.warnings[-1]


def test_a_run_keeps_off_them_by_itself() -> None:
    plan = planned(a_workload(run=train()), nodes("8xh100=2"), cut(SINGLE))

    assert plan.placement is not None
    assert set(plan.placement.now.places) <= {"8xh100-0", "8xh100-1"}
    assert f"label {PRODUCT}={H100}" in plan.placement.needs
    assert not any("parts of GPUs" in text for text in plan.warnings)


def test_where_all_are_cut_nothing_fits_and_the_reason_is_named() -> None:
    plan = planned(a_workload(types=()), cut(SINGLE))

    assert plan.verdict.kind == "cannot fit"
    assert plan.verdict.reasons == ("the GPUs of 3 nodes are cut or shared: no node has whole ones",)


def test_who_asks_for_the_slice_by_its_label_gets_it() -> None:
    pod = a_pod(1, nodeSelector={PRODUCT: SINGLE[PRODUCT]})

    plan = planned(a_workload(pod=pod, gpus=1), nodes("8xh100=2"), cut(SINGLE))

    assert plan.placement is not None
    assert set(plan.placement.now.feasible) == {"cut-0", "cut-1", "cut-2"}


def test_half_a_gpu_may_be_a_slice() -> None:
    plan = planned(a_workload(gpus=0.5, types=(), run=train(microBatch=1)), cut(SINGLE))

    assert plan.placement is not None
    assert plan.placement.now.fits


def test_what_fit_proposes_is_compared_with_the_slice_and_not_with_the_whole_gpu() -> None:
    workload = a_workload(gpus=0.5, types=(), run=train(microBatch=1))
    snapshot = a_snapshot([*nodes("8xh200=2"), *cut(SHARED)])
    situation = look_at(workload, sources(AnEstimator(activations=1, states=1)), snapshot=snapshot)
    assert situation.plan.pace.step is not None

    found = fit(situation)

    for other in (found.chosen, *found.runners_up):
        assert other is not None
        assert other.seconds is not None
        assert other.slower == pytest.approx(other.seconds / situation.plan.pace.step.p50 - 1)
    assert situation.plan.pace.step.p50 > 1.5  # of a step that takes a whole GPU 1.1 s


def test_who_asks_for_a_slice_by_a_name_that_nobody_uses_hears_the_name_that_is_used() -> None:
    resource = "nvidia.com/mig-1g.10gb"
    pod = a_pod(1, resource=resource)
    role = replace(a_workload(pod=pod).trainer, gpus=GpuWish(1000, "mig", resource, (), "1g.10gb"))
    plan = planned(replace(a_workload(types=()), roles=(role,)), nodes("8xh100=2"), cut(SINGLE))

    assert plan.verdict.reasons == (f"no node has {resource}: 3 nodes announce such slices as {GPU}",)
