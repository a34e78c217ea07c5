"""Whether spot pays: told where both kinds of nodes and their prices are there, and the work survives one of them."""

from __future__ import annotations

import json

import msgspec
from plan_builders import AnEstimator, a_snapshot, a_workload, priced, sources, train

from tonnage.cluster.objects import Node
from tonnage.planning.answers import Plan
from tonnage.planning.plan import make_plan
from tonnage.reporting.plan import view_plan
from tonnage.reporting.plan.rows import rows


def spot(dollars: int, count: int = 2) -> list[Node]:
    made = []
    for node in priced(f"8xh100={count}", dollars):
        plain = json.loads(msgspec.json.encode(node))
        plain["metadata"]["name"] = f"spot-{plain['metadata']['name']}"
        plain["metadata"]["labels"]["karpenter.sh/capacity-type"] = "spot"
        made.append(msgspec.convert(plain, Node))
    return made


def planned(*found: Node, count: int = 1, **fields: object) -> Plan:
    workload = a_workload(count=count, run=train(steps=10_000), **fields)  # type: ignore[arg-type]
    return make_plan(workload, sources(AnEstimator()), snapshot=a_snapshot(list(found)))


def shown(plan: Plan) -> str:
    return "\n".join(line for part in rows(view_plan(plan)) for row in part for line in row.lines)


def test_cheap_spot_nodes_pay_although_it_takes_longer() -> None:
    plan = planned(*priced("8xh100=2", 80), *spot(30))

    assert plan.cost.spot is not None
    assert plan.cost.spot.pays
    assert (plan.cost.spot.per_hour, plan.cost.spot.on_demand_per_hour) == (30_000_000, 80_000_000)
    assert 1 < plan.cost.spot.slower < 1.5
    assert "on spot nodes $30 instead of $80 per hour" in shown(plan)


def test_a_large_gang_is_interrupted_too_often_for_a_small_discount() -> None:
    found = (*priced("8xh100=16", 80), *spot(70, 16))
    plan = planned(*found, count=16, spot="allowed")

    assert plan.cost.spot is not None
    assert not plan.cost.spot.pays
    assert any(text.startswith("spot does not pay") for text in plan.warnings)
    assert "on spot nodes" not in shown(plan)


def test_nobody_takes_back_nodes_that_are_not_of_that_kind() -> None:
    kept, both = planned(*priced("8xh100=2", 80), spot="allowed"), planned(*spot(30), spot="allowed")

    assert not kept.risk.is_spot
    assert "taken back" not in shown(kept)
    assert both.risk.is_spot
    assert "spot: taken back every 4.3 h" in shown(both)
    assert kept.risk.mean_hours > both.risk.mean_hours


def test_without_a_cluster_spot_is_taken_at_its_word() -> None:
    workload = a_workload(run=train(steps=10_000), spot="allowed")

    assert make_plan(workload, sources(AnEstimator())).risk.is_spot


def test_a_larger_gang_is_slowed_more() -> None:
    small = planned(*priced("8xh100=2", 80), *spot(30)).cost.spot
    large = planned(*priced("8xh100=16", 80), *spot(30, 16), count=16).cost.spot

    assert small is not None
    assert large is not None
    assert large.slower > small.slower


def test_nothing_is_said_where_there_are_no_spot_nodes_or_nothing_is_saved() -> None:
    assert planned(*priced("8xh100=2", 80)).cost.spot is None
    assert planned(*priced("8xh100=2", 80), *spot(30), checkpoints=None).cost.spot is None
