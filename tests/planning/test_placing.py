"""Gangs are placed whole, by the scheduler's own rules, now and on empty nodes."""

from __future__ import annotations

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from plan_builders import GPU, a_busy_pod, a_claim, a_pod, a_snapshot, nodes

from tonnage.cluster.scheduling import facts_of, feasible_nodes, view_of
from tonnage.planning.placing import Wanted, copies, emptied, place_gang


def test_all_pods_of_a_gang_find_a_place_together() -> None:
    gang = place_gang([Wanted("sft", a_pod(8), 6)], view_of(a_snapshot("8xh100=6")))

    assert gang.fits
    assert set(gang.places.values()) == {1}
    assert gang.message == ""


def test_one_pod_too_many_is_told_in_the_schedulers_words() -> None:
    gang = place_gang([Wanted("sft", a_pod(8), 7)], view_of(a_snapshot("8xh100=6")))

    assert not gang.fits
    assert gang.placed == 6
    assert gang.message.startswith("0/6 nodes are available: 6 Insufficient nvidia.com/gpu.")


A_DISK = {"name": "disk", "awsElasticBlockStore": {"volumeID": "v", "readOnly": True}}


@pytest.mark.parametrize(
    ("spec", "placed"), [({}, 48), ({"volumes": [A_DISK]}, 6)], ids=["filled", "one by one"]
)
def test_a_million_pods_cost_no_more_than_the_nodes_take(spec: dict[str, object], placed: int) -> None:
    view, began = view_of(a_snapshot("8xh100=6")), time.process_time()
    gang = place_gang([Wanted("sft", a_pod(1, **spec), 1_000_000)], view)

    assert (gang.placed, gang.wanted) == (placed, 1_000_000)
    assert time.process_time() - began < 5  # each pod made beforehand, it took a minute


def test_several_pods_share_a_node_as_far_as_it_goes() -> None:
    gang = place_gang([Wanted("sft", a_pod(3), 5)], view_of(a_snapshot("8xh100=3")))

    assert gang.fits
    assert sorted(gang.places.values()) == [1, 2, 2]


def test_what_others_hold_counts_now_and_not_when_empty() -> None:
    view = view_of(a_snapshot("8xh100=2", pods=[a_busy_pod("8xh100-0", 1)]))
    wanted = [Wanted("sft", a_pod(8), 2)]

    assert place_gang(wanted, view).placed == 1
    assert place_gang(wanted, emptied(view)).fits


def test_daemon_pods_stay_on_an_empty_node() -> None:
    view = view_of(a_snapshot("8xh100=1", pods=[a_busy_pod("8xh100-0", 0, daemon=True, cpu="8")]))
    cores = view.nodes["8xh100-0"].allocatable.cpu
    all_cores = a_pod(8, cpu=f"{cores}m")

    assert not place_gang([Wanted("sft", all_cores, 1)], emptied(view)).fits


def test_placing_leaves_the_books_as_they_were() -> None:
    view = view_of(a_snapshot("8xh100=2"))
    place_gang([Wanted("sft", a_pod(8), 2)], view)

    assert all(not info.pods for info in view.nodes.values())


def test_roles_are_placed_beside_each_other() -> None:
    launcher = Wanted("launcher", a_pod(0, cpu="1"), 1)
    workers = Wanted("workers", a_pod(8), 2)

    assert place_gang([workers, launcher], view_of(a_snapshot("8xh100=2,cpu=1"))).fits


def test_pods_that_keep_apart_are_placed_one_by_one() -> None:
    apart = a_pod(
        1,
        affinity={
            "podAntiAffinity": {
                "requiredDuringSchedulingIgnoredDuringExecution": [
                    {"topologyKey": "kubernetes.io/hostname", "labelSelector": {}}
                ]
            }
        },
    )

    assert place_gang([Wanted("sft", apart, 3)], view_of(a_snapshot("8xh100=2"))).placed == 2


def test_a_claim_of_one_pod_is_not_shared_by_a_gang() -> None:
    mounts = [{"name": "ckpt", "persistentVolumeClaim": {"claimName": "ckpt"}}]
    snapshot = a_snapshot("8xh100=2", claims=(a_claim(modes=("ReadWriteOncePod",)),))
    gang = place_gang([Wanted("sft", a_pod(1, volumes=mounts), 2)], view_of(snapshot))

    assert not gang.fits


@settings(max_examples=60)
@given(
    gpus=st.integers(1, 8),
    count=st.integers(1, 12),
    held=st.lists(st.integers(0, 8), min_size=1, max_size=6),
)
def test_filling_nodes_places_as_many_as_the_scheduler_would(gpus: int, count: int, held: list[int]) -> None:
    busy = [a_busy_pod(f"8xh100-{index}", used) for index, used in enumerate(held) if used]
    view = view_of(a_snapshot(nodes(f"8xh100={len(held)}"), pods=busy))
    gang = place_gang([Wanted("sft", a_pod(gpus), count)], view)

    trial, placed = view.copy(), 0
    for pod in copies(a_pod(gpus), count):
        fitting = feasible_nodes(pod, trial)
        if not fitting:
            break
        trial.add(facts_of(pod), fitting[0])
        placed += 1
    assert gang.placed == placed
    for name, landed in gang.places.items():
        free = 8 - held[int(name.rpartition("-")[2])]
        assert landed * gpus <= free


@pytest.mark.parametrize("resource", [GPU, "nvidia.com/mig-3g.40gb"])
def test_slices_are_devices_like_others(resource: str) -> None:
    view = view_of(a_snapshot("8xh100=1+mig=1x3g.40gb/4x1g.10gb" if "mig" in resource else "8xh100=1"))

    assert place_gang([Wanted("sft", a_pod(8, resource=resource), 1)], view).fits
    assert not place_gang([Wanted("sft", a_pod(9, resource=resource), 1)], view).fits
