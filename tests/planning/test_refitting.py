"""Smaller steps for a run that is out of GPU memory, weighed before it starts."""

from __future__ import annotations

from pathlib import Path

import pytest

from tonnage.cli.plan_reading import read_workloads
from tonnage.cli.plan_sources import sources_for
from tonnage.cli.target import find_cluster
from tonnage.planning.plan import look_at
from tonnage.planning.refitting import smaller_steps
from tonnage.planning.situation import Situation

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def resnet() -> Situation:
    (workload,) = read_workloads(str(ROOT / "examples/resnet-50/run.yaml"), "")
    sources, _ = sources_for(workload, no_trace=True, python=None)
    snapshot = find_cluster(str(ROOT / "examples/clusters/h100.yaml"), None).observe()
    return look_at(workload, sources, snapshot=snapshot)


def test_each_keeps_the_global_batch_and_needs_less_than_the_one_before(resnet: Situation) -> None:
    found = smaller_steps(resnet)
    assert resnet.chosen is not None
    assert resnet.chosen.setup is not None
    assert {each.setup.global_batch for each in found} == {resnet.chosen.setup.global_batch}
    needs = [each.required for each in found]
    assert needs == sorted(needs, reverse=True)
    sizes = [each.setup.recipe.micro_batch for each in found]
    assert sizes == sorted(sizes, reverse=True)
    assert sizes[0] < resnet.chosen.setup.recipe.micro_batch
    assert all(each.slower is not None for each in found)


def test_larger_gpus_come_last_and_only_where_asked_for(resnet: Situation) -> None:
    assert resnet.chosen is not None
    here = resnet.chosen.devices.gpu
    assert {each.setup.devices.gpu for each in smaller_steps(resnet)} == {here}
    usable = [
        each.usable for each in smaller_steps(resnet, larger_gpus=True) if each.setup.devices.gpu != here
    ]
    assert usable == sorted(usable)
