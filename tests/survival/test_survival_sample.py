"""A seeded handful of the proof in every test run: real trainings, really killed; `python -m survival` is all of it."""

from __future__ import annotations

import os

import pytest
from survival.judging import judge
from survival.machine.cases import plans
from survival.machine.injuries import INJURIES
from survival.reporting import as_line

from survival import machine, nodes

SEED = 11


def test_on_this_machine_trainings_survive() -> None:
    found = list(machine.outcomes(machine.chosen(200, SEED, is_sample=True), 2, None))
    assert [as_line(each) for each in found if judge(each)] == []
    assert sum(each.num_deaths for each in found) >= 5


@pytest.mark.realnode
@pytest.mark.sandbox
@pytest.mark.xdist_group("realnode")
def test_on_real_nodes_trainings_survive() -> None:
    if os.geteuid() != 0:
        pytest.skip("real nodes need root")
    found = list(nodes.outcomes(SEED, is_sample=True))
    assert [as_line(each) for each in found if judge(each)] == []
    assert sum(each.num_deaths for each in found) >= 1


def test_the_full_set_has_every_injury_and_enough_of_them() -> None:
    cases = plans(200, SEED)
    kinds = [kind for each in cases for kind in each.kinds]
    assert set(kinds) >= set(INJURIES)
    assert all(kinds.count(kind) >= 5 for kind in INJURIES)
    assert [each.seed for each in cases] == [each.seed for each in plans(200, SEED)]
