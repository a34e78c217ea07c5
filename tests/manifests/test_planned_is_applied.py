"""What is applied is what was planned: the scheduler would put both pods on the same nodes, for the same reasons."""

from __future__ import annotations

import pytest
from manifest_cases import BY_NAME, Case
from manifest_reading import templates

from tonnage.cluster.admission.admitting import Admitted, NamespacePolicies, admit
from tonnage.cluster.objects import Pod
from tonnage.cluster.resources import pod_limits, pod_requests
from tonnage.cluster.scheduling import view_of
from tonnage.planning.placing import Wanted, emptied, place_gang
from tonnage.planning.workload.decoding import pod_of

PARTS = ("mig-slice", "mig-single", "shared-gpu")
"""Runs that ask for part of a GPU."""


def applied_pod(case: Case) -> Pod:
    template, _ = max(templates(case.rendered()), key=lambda found: found[1])
    return pod_of(template, "pod", case.namespace)


@pytest.mark.parametrize("name", BY_NAME)
def test_applied_pods_go_where_planned_ones_would(name: str) -> None:
    case = BY_NAME[name]
    situation = case.situation()
    assert situation.plan.placement is not None
    assert situation.ground is not None
    pod = applied_pod(case)
    view = emptied(view_of(case.snapshot()))

    found = place_gang([Wanted("node", without_claims(pod), situation.plan.workload.pods)], view)
    planned = place_gang(
        [Wanted("node", without_claims(role.pod), role.count) for role in situation.roles],
        situation.ground.empty,
    )

    assert found.feasible == planned.feasible != ()
    assert found.fits == planned.fits


@pytest.mark.parametrize(
    "name",
    [name for name in BY_NAME if not name.startswith(("a-name", "patched", "jobset-with"))],
)
def test_applied_pods_ask_for_what_planned_ones_asked_for(name: str) -> None:
    """Left out: a remedy's size, a patch with a container of its own, and cards for RDMA, which only rendering adds."""
    case = BY_NAME[name]
    planned, pod = case.situation().roles[0].pod, applied_pod(case)

    assert pod_requests(pod) == pod_requests(planned)
    assert pod_limits(pod) == pod_limits(planned)
    assert pod.spec.tolerations == planned.spec.tolerations[: len(pod.spec.tolerations)]
    assert pod.spec.host_network == planned.spec.host_network


@pytest.mark.parametrize("name", PARTS)
def test_part_of_a_gpu_is_asked_for_where_it_is_offered(name: str) -> None:
    case = BY_NAME[name]
    found = place_gang(
        [Wanted("node", without_claims(applied_pod(case)), 1)], emptied(view_of(case.snapshot()))
    )
    assert found.fits
    placed = case.situation().plan.placement
    assert placed is not None
    assert placed.empty.feasible == found.feasible


@pytest.mark.parametrize(
    ("nodes", "gpus", "resource", "taken_by"),
    [
        (
            "a100-80=1+mig=1x3g.40gb/4x1g.10gb,8xh100=1",
            "0.5 x a100-80",
            "nvidia.com/mig-3g.40gb",
            "1xa100-80",
        ),
        ("a100-80=1+mig=1x3g.40gb/4x1g.10gb", 0.5, "nvidia.com/mig-3g.40gb", "1xa100-80"),
        ("8xa100-80=1+mig=1g.10gb,small=1+gpus=8xa100-80", "0.125 x a100-80", "nvidia.com/gpu", "8xa100-80"),
        ("4xl4=1+shared=4,small=1+gpus=4xl4", "0.25 x l4", "nvidia.com/gpu", "4xl4"),
        ("8xh100=1", "0.5 x h100", "nvidia.com/gpu", "8xh100"),
    ],
)
def test_the_plan_places_part_of_a_gpu_as_the_part_it_chose(
    nodes: str, gpus: str | float, resource: str, taken_by: str
) -> None:
    """Whole GPUs beside it are not taken, nor slices under another name: quotas and queues count what is asked for."""
    spec = {"image": "train:1", "command": "python train.py", "gpus": gpus, "memory": "8Gi", "cpu": 2}
    case = Case(name="part", spec=spec, nodes=nodes)
    situation = case.situation()
    assert situation.plan.placement is not None
    assert {name.rpartition("-")[0] for name in situation.plan.placement.empty.feasible} == {taken_by}
    for pod in (situation.roles[0].pod, applied_pod(case)):
        asked = {
            name: str(amount) for name, amount in pod_requests(pod).items() if name.startswith("nvidia.com/")
        }
        assert asked == {resource: "1"}


@pytest.mark.parametrize("name", BY_NAME)
def test_our_own_admission_rules_accept_the_pods(name: str) -> None:
    case = BY_NAME[name]
    for template, _ in templates(case.rendered()):
        pod = pod_of(template, "pod", case.namespace)
        bare = pod.__class__(metadata=pod.metadata, spec=_unranked(pod), status=pod.status)
        answer = admit(bare, NamespacePolicies())
        assert isinstance(answer, Admitted), answer


def without_claims(pod: Pod) -> Pod:
    """Claims are looked at elsewhere; none exists in these clusters."""
    from msgspec.structs import replace

    left = tuple(volume for volume in pod.spec.volumes if volume.persistent_volume_claim is None)
    return replace(pod, spec=replace(pod.spec, volumes=left))


def _unranked(pod: Pod):
    from msgspec.structs import replace

    return replace(pod.spec, priority_class_name="")
