"""Volumes that are memory."""

import pytest

from tonnage.cluster.node.memory_volumes import memory_volume_size, stopped_by
from tonnage.cluster.node.oom import Domain


def test_a_memory_volume_holds_the_smallest_of_three_bounds():
    assert memory_volume_size(size_limit=None, pod_memory_limit=None, node_allocatable_memory=9) == 9
    assert memory_volume_size(size_limit=8, pod_memory_limit=4, node_allocatable_memory=9) == 4
    assert memory_volume_size(size_limit=2, pod_memory_limit=4, node_allocatable_memory=9) == 2


@pytest.mark.parametrize(
    ("size", "limit", "also_held", "by"),
    [
        (64, 200, 100, None),  # the volume is full first: ENOSPC
        (64, 200, 136, None),
        (64, 200, 137, Domain.CONTAINER),
        (64, 64, 1, Domain.CONTAINER),  # as large as the limit, and the process itself is not nothing
        (64, None, 10**6, None),
    ],
)
def test_who_fills_a_memory_volume_meets_the_lower_of_two_walls(size, limit, also_held, by):
    assert stopped_by(size, container_memory_limit=limit, also_held=also_held) is by
