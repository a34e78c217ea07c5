"""What a run is charged: the nodes that would take it, each price with who says it, and no other node."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest
from plan_builders import AnEstimator, a_pod, a_snapshot, a_workload, nodes, priced, sources, train

from tonnage.cluster.objects import Node
from tonnage.cost.pricing import price_of_node
from tonnage.planning.answers import Plan
from tonnage.planning.plan import make_plan
from tonnage.planning.sources import PodFigures, Sources
from tonnage.planning.workload.value import SpotUse
from tonnage.reporting.plan import view_plan
from tonnage.reporting.plan.rows import rows

SPOT = {"karpenter.sh/capacity-type": "spot"}
MILLION = 1_000_000


def labelled(found: list[Node], prefix: str, labels: dict[str, str], **spec: Any) -> list[Node]:
    """The nodes under other names, with these labels."""
    made = []
    for node in found:
        plain = json.loads(msgspec.json.encode(node))
        plain["metadata"]["name"] = f"{prefix}-{plain['metadata']['name']}"
        plain["metadata"]["labels"] |= labels
        plain.setdefault("spec", {}).update(spec)
        made.append(msgspec.convert(plain, Node))
    return made


def planned(*found: Node, spot: SpotUse = "never", gpus: float = 8, **fields: Any) -> Plan:
    run = train(microBatch=1, steps=1000)
    workload = a_workload(run=run, spot=spot, gpus=gpus, **fields)
    return make_plan(workload, sources(AnEstimator()), snapshot=a_snapshot(list(found)))


def with_real_prices() -> Sources:
    """Prices as the command line finds them: from annotations, else from labels and the table."""
    return Sources(
        estimator=AnEstimator(), price_of=price_of_node, figures_of=lambda *_: PodFigures(figures={})
    )


def shown(plan: Plan) -> list[str]:
    return [line for part in rows(view_plan(plan)) for row in part for line in row.lines]


@pytest.mark.parametrize(
    ("spot", "low", "high"),
    [("never", 80, 80), ("only", 30, 30), ("allowed", 30, 80), ("unknown", 30, 80)],
)
def test_a_run_pays_for_nodes_that_its_choice_about_spot_leaves_open(
    spot: SpotUse, low: int, high: int
) -> None:
    plan = planned(*priced("8xh100=2", 80), *labelled(priced("8xh100=2", 30), "spot", SPOT), spot=spot)

    assert (plan.cost.per_hour, plan.cost.per_hour_high) == (low * MILLION, high * MILLION)


@pytest.mark.parametrize(("spot", "dollars"), [("never", 10), ("only", 3)])
def test_part_of_a_gpu_is_priced_from_nodes_that_the_run_may_use(spot: SpotUse, dollars: int) -> None:
    found = (*priced("8xh100=2", 80), *labelled(priced("8xh100=3", 24), "spot", SPOT))
    plan = planned(*found, spot=spot, gpus=0.25)
    whole = next(part for part in plan.parts if part.how == "whole")

    assert whole.price is not None
    assert (whole.price.low, whole.price.high) == (dollars * MILLION, dollars * MILLION)
    assert whole.nodes == {"never": 2, "only": 3}[spot]


def test_slices_on_spot_nodes_are_not_offered_to_a_run_that_keeps_off_them() -> None:
    cut = labelled(priced("4xa100-40=2+mig=3g.20gb", 8), "spot", SPOT)
    plan = planned(*priced("8xh100=1", 80), *cut, gpus=0.5, types=())

    assert not [part for part in plan.parts if part.how == "slice" and part.nodes]
    assert [part for part in planned(*cut, spot="allowed", gpus=0.5, types=()).parts if part.nodes]


def test_slices_of_several_prices_are_one_answer_with_a_range() -> None:
    found = []
    for dollars in (8, 16):
        cut = nodes("4xa100-40=1+mig=3g.20gb", annotations={"tonnage.dev/price": f"${dollars}/hour"})
        found += labelled(cut, f"at-{dollars}", {})
    workload = a_workload(run=train(microBatch=1), gpus=0.5, types=())
    plan = make_plan(workload, with_real_prices(), snapshot=a_snapshot(found))
    slices = [part for part in plan.parts if part.how == "slice"]

    assert [(part.nodes, part.price and (part.price.low, part.price.high)) for part in slices] == [
        (2, (MILLION, 2 * MILLION))
    ]


def test_nodes_that_would_not_take_the_pods_do_not_lower_the_price() -> None:
    kept = [{"key": "team", "value": "others", "effect": "NoSchedule"}]
    plan = planned(*priced("8xh100=2", 80), *labelled(priced("8xh100=2", 8), "kept", {}, taints=kept))

    assert (plan.cost.per_hour, plan.cost.per_hour_high) == (80 * MILLION, 80 * MILLION)


def test_where_only_spot_nodes_have_the_gpu_their_price_is_told_with_the_change() -> None:
    plan = planned(*labelled(priced("8xh100=2", 30), "spot", SPOT), pod=a_pod(8, nodeSelector={"a": "b"}))

    assert plan.verdict.kind != "fits"
    assert plan.cost.per_hour == 30 * MILLION


def test_every_origin_of_a_range_is_shown_with_its_own_price_and_date() -> None:
    own = nodes("8xh100=1", annotations={"tonnage.dev/price": "$48/hour"})
    machine = {
        "node.kubernetes.io/instance-type": "p5.48xlarge",
        "topology.kubernetes.io/region": "us-east-1",
    }
    listed = labelled(nodes("8xh100=1"), "aws", machine)
    workload = a_workload(run=train(steps=10))
    plan = make_plan(workload, with_real_prices(), snapshot=a_snapshot([*own, *listed]))

    assert [(one.origin, one.as_of, one.per_hour) for one in plan.cost.prices] == [
        ("Cluster document", "", 48 * MILLION),
        ("AWS list price of p5.48xlarge", "2026-08-21", 55_040_000),
    ]
    assert "$48 per hour: Cluster document" in shown(plan)
    assert "$55 per hour: AWS list price of p5.48xlarge, 2026-08-21" in shown(plan)
