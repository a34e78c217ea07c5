"""Changes that a plan proposes: tried before they are named, as few as will do, and counted as people count."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace
from plan_builders import (
    GIB,
    GPU,
    AnEstimator,
    a_pod,
    a_quota,
    a_run,
    a_snapshot,
    a_workload,
    nodes,
    sources,
    train,
)

from tonnage.cluster.objects import Node
from tonnage.memory.estimate import Estimate
from tonnage.memory.recipe import Parallel, Recipe
from tonnage.planning.answers import Change, Plan
from tonnage.planning.changing import change_for, inline
from tonnage.planning.fitting import fit, with_fit
from tonnage.planning.plan import decided, look_at, make_plan
from tonnage.planning.solver.fixing import Fix
from tonnage.planning.solver.judging import Outcome, Room
from tonnage.planning.solver.knobs import Knob
from tonnage.planning.solver.setup import Devices, Setup
from tonnage.planning.verdict import Obstacle, verdict_of
from tonnage.planning.workload.of_run import workload_of_run
from tonnage.planning.workload.reading import workloads_in
from tonnage.reporting.plan import view_plan


def changes(plan: Plan) -> list[str]:
    return [change.what for change in plan.verdict.changes]


def with_taint(found: list[Node], key: str, value: str = "yes") -> list[Node]:
    plain = [json.loads(msgspec.json.encode(node)) for node in found]
    for node in plain:
        node["spec"].setdefault("taints", []).append({"key": key, "value": value, "effect": "NoSchedule"})
    return [msgspec.convert(node, Node) for node in plain]


def labelled(found: list[Node], **labels: str) -> list[Node]:
    plain = [json.loads(msgspec.json.encode(node)) for node in found]
    for node in plain:
        node["metadata"]["labels"] |= labels
    return [msgspec.convert(node, Node) for node in plain]


def renamed(found: list[Node]) -> list[Node]:
    plain = [json.loads(msgspec.json.encode(node)) for node in found]
    for node in plain:
        node["metadata"]["name"] = f"other-{node['metadata']['name']}"
    return [msgspec.convert(node, Node) for node in plain]


def a_job(**container: Any) -> str:
    pod = {
        "containers": [{"name": "train", "image": "a:1", **container}],
        "restartPolicy": "Never",
        "tolerations": [{"key": GPU, "operator": "Exists"}],
    }
    job = {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": "sft"},
        "spec": {"template": {"spec": pod}},
    }
    return json.dumps(job)


# -- several things in the way


def test_a_taint_and_a_selector_in_the_way_are_both_named() -> None:
    snapshot = a_snapshot(with_taint(nodes("8xh100=2"), "team", "research"))
    pod = a_pod(8, nodeSelector={"zone": "moon"})

    plan = make_plan(a_workload(pod=pod), sources(), snapshot=snapshot)

    assert plan.verdict.kind == "fits if"
    assert changes(plan) == ["tolerate team=research:NoSchedule", "drop the node selector zone=moon"]
    assert view_plan(plan).verdict.headline == "fits, if you change 2 things"


def test_two_kinds_of_taints_on_one_node_are_one_change_and_a_wrong_zone_another() -> None:
    found = with_taint(with_taint(nodes("8xh100=1"), "a"), "b")
    pod = a_pod(8, nodeSelector={"zone": "moon"})

    plan = make_plan(a_workload(pod=pod), sources(), snapshot=a_snapshot(found))

    assert changes(plan)[0] == "tolerate a=yes:NoSchedule, b=yes:NoSchedule"
    assert len(changes(plan)) == 2


def test_a_gang_larger_than_any_teams_nodes_tolerates_all_teams() -> None:
    found = [
        *with_taint(nodes("8xh100=2"), "team", "a"),
        *with_taint(renamed(nodes("8xh100=2")), "team", "b"),
    ]

    plan = make_plan(a_workload(count=4), sources(), snapshot=a_snapshot(found))

    assert changes(plan) == ["tolerate team:NoSchedule (any value)"]


def test_where_one_change_does_two_are_not_asked_for() -> None:
    found = [*with_taint(nodes("8xh100=1"), "team"), *nodes("4xh100=3")]

    plan = make_plan(a_workload(), sources(), snapshot=a_snapshot(found))

    assert changes(plan) == ["tolerate team=yes:NoSchedule"]


def test_labels_that_exist_but_never_together_are_dropped_one_by_one() -> None:
    found = [*labelled(nodes("8xh100=1"), zone="a"), *labelled(nodes("8xa100-80=1"), zone="b", fast="yes")]
    pod = a_pod(8, nodeSelector={"zone": "a", "fast": "yes"})

    plan = make_plan(a_workload(pod=pod, types=()), sources(), snapshot=a_snapshot(found))

    assert plan.verdict.kind == "fits if"
    assert len(changes(plan)) == 1
    assert changes(plan)[0].startswith("drop the node selector ")


def test_what_no_three_changes_mend_has_none() -> None:
    plan = make_plan(a_workload(pod=a_pod(16)), sources(), snapshot=a_snapshot("8xh100=1"))

    assert plan.verdict.kind == "cannot fit"
    assert not plan.verdict.changes


def test_a_quota_and_a_taint_are_both_answered() -> None:
    snapshot = a_snapshot(with_taint(nodes("8xh100=4"), "team"), quotas=(a_quota({f"requests.{GPU}": "8"}),))
    workload = a_workload(count=2, run=train(), pod=a_pod(8))

    plan = make_plan(workload, sources(AnEstimator()), snapshot=snapshot)

    assert changes(plan) == ["tolerate team=yes:NoSchedule", "nodes: 1"]
    assert plan.verdict.kind == "fits if"


def test_fewer_nodes_are_not_proposed_where_the_step_would_not_divide() -> None:
    run = train(parallel={"fsdp": 16})
    snapshot = a_snapshot("8xh100=4", quotas=(a_quota({f"requests.{GPU}": "8"}),))

    plan = make_plan(a_workload(count=2, run=run, pod=a_pod(8)), sources(AnEstimator()), snapshot=snapshot)

    assert plan.verdict.kind == "cannot fit"
    assert "you ask 16" in plan.verdict.reasons[0]


def test_a_run_that_keeps_off_spot_is_told_when_only_spot_nodes_are_there() -> None:
    found = labelled(nodes("8xh100=2"), **{"karpenter.sh/capacity-type": "spot"})
    run = a_run(gpus="8 x h100", image="a:1", command="python t.py", checkpoints="s3://b/c")

    plan = make_plan(workload_of_run(run), sources(), snapshot=a_snapshot(found))

    assert changes(plan) == ["spot: allowed"]
    assert plan.verdict.changes[0].effect == "2 nodes would take it"


def test_a_run_for_spot_nodes_only_is_told_when_there_are_none() -> None:
    run = a_run(gpus="8 x h100", image="a:1", command="python t.py", checkpoints="s3://b/c", spot="only")

    plan = make_plan(workload_of_run(run), sources(), snapshot=a_snapshot("8xh100=2"))

    assert changes(plan) == ["spot: allowed"]


def test_a_gpu_type_that_is_not_there_is_answered_with_one_that_is() -> None:
    run = a_run(gpus="8 x b200", image="a:1", command="python t.py", checkpoints="s3://b/c")

    plan = make_plan(workload_of_run(run), sources(), snapshot=a_snapshot("8xh100=2"))

    assert changes(plan) == ["gpus: 8 x h100"]


# -- devices by their limit


def test_gpus_requested_without_a_limit_are_answered_with_the_limit() -> None:
    (workload,) = workloads_in(a_job(resources={"requests": {GPU: 8}}), "job.json")

    plan = make_plan(workload, sources(), snapshot=a_snapshot())

    assert plan.verdict.kind == "fits if"
    assert changes(plan) == [f"limits: {{{GPU}: 8}}"]
    assert "by their limit" in plan.verdict.changes[0].why


def test_that_is_said_without_a_cluster_too() -> None:
    (workload,) = workloads_in(a_job(resources={"requests": {GPU: 8}}), "job.json")

    assert changes(make_plan(workload, sources())) == [f"limits: {{{GPU}: 8}}"]


def test_gpus_given_as_a_limit_alone_are_right() -> None:
    (workload,) = workloads_in(a_job(resources={"limits": {GPU: 8}}), "job.json")

    assert make_plan(workload, sources(), snapshot=a_snapshot()).verdict.kind == "fits"


# -- counting


def test_several_settings_at_once_are_counted_as_several() -> None:
    workload = a_workload(run=train(microBatch=8))
    situation = look_at(workload, sources(AnEstimator(states=70)), snapshot=a_snapshot())

    plan = decided(with_fit(situation, fit(situation)))

    assert plan.fit is not None
    assert plan.fit.chosen is not None
    count = len({edit.field for edit in plan.verdict.changes[0].edits} - {"train.accumulation"})
    assert count > 1
    assert view_plan(plan).verdict.headline == f"fits, if you change {count} things"


def test_a_smaller_micro_batch_is_one_thing_with_two_edits() -> None:
    plan = make_plan(a_workload(run=train(microBatch=8)), sources(AnEstimator()), snapshot=a_snapshot())

    edits = {edit.field: edit.value for edit in plan.verdict.changes[0].edits}
    assert edits == {"train.microBatch": 4, "train.accumulation": 2}
    assert view_plan(plan).verdict.headline == "fits, if you change one thing"


def test_one_change_that_removes_two_obstacles_is_made_and_counted_once() -> None:
    larger, smaller = Change(what="gpus: 1 x h100", effect="fits"), Change(what="train.microBatch: 1")
    elsewhere = (Change(what="gpus: 1 x h200"), Change(what="gpus: 1 x h100", effect="6 nodes would take it"))

    verdict, options = verdict_of([Obstacle("too small", (larger, smaller)), Obstacle("no node", elsewhere)])

    assert [(change.what, change.effect) for change in verdict.changes] == [
        ("gpus: 1 x h100", "fits; 6 nodes would take it")
    ]
    assert options == (smaller,)


def test_changes_that_differ_are_all_made() -> None:
    obstacles = [
        Obstacle("one", (Change(what="a"),)),
        Obstacle("two", (Change(what="b"),)),
        Obstacle("three"),
    ]

    verdict, _ = verdict_of(obstacles)

    assert [change.what for change in verdict.changes] == ["a", "b"]
    assert verdict.reasons == ("three",)


def test_where_no_setting_is_worth_a_look_fit_says_by_how_much_the_leanest_fails() -> None:
    class Hopeless(AnEstimator):
        def roughly(self, setup: Setup) -> Estimate | None:
            return self.estimate(setup)

    workload = a_workload(run=train(microBatch=1))
    situation = look_at(workload, sources(Hopeless(states=80_000)))

    found = fit(situation, allow=frozenset({"gpus"}))

    assert (found.chosen, found.considered) == (None, 0)
    assert found.obstacles[0].startswith("even the leanest settings need 10,00")
    assert "--on" in found.obstacles[1]


@pytest.mark.parametrize("knob", ["tensor", "sharding", "checkpointing", "micro_batch", "devices"])
def test_a_fix_tells_every_edit_it_makes_and_the_field_is_that_of_its_knob(knob: Knob) -> None:
    before = Setup(Recipe(micro_batch=2, accumulation=4, parallel=Parallel(ddp=16)), Devices("h100", 8, 2))
    recipes = {
        "tensor": replace(before.recipe, accumulation=32, parallel=Parallel(ddp=2, tensor=8)),
        "sharding": replace(before.recipe, parallel=Parallel(fsdp=16)),
        "checkpointing": replace(before.recipe, checkpointing="full"),
        "micro_batch": replace(before.recipe, micro_batch=1, accumulation=8),
        "devices": replace(before.recipe, accumulation=2, parallel=Parallel(ddp=32)),
    }
    devices = Devices("h200", 8, 4) if knob == "devices" else before.devices
    after = Setup(recipes[knob], devices)

    change = change_for(
        Fix(knob, Outcome(after, Room(1, 2), 1.0, None), Outcome(before, Room(3, 2), 1.0, None))
    )

    own = {"tensor": "train.parallel", "sharding": "train.parallel", "micro_batch": "train.microBatch"}
    own |= {"checkpointing": "train.checkpointing", "devices": "nodes"}
    assert change.field == own[knob]
    assert change.value == {edit.field: edit.value for edit in change.edits}[change.field]
    told = change.what.replace("(accumulate ", "train.accumulation: ")
    assert all(f"{edit.field}: {inline(edit.value)}" in told for edit in change.edits)


def test_fewer_cores_than_needed_are_slow_and_no_obstacle() -> None:
    pod = a_pod(8, cpu="4")

    plan = make_plan(
        a_workload(pod=pod, run=train()),
        sources(AnEstimator(), cpu=16_000, memory=GIB),
        snapshot=a_snapshot(),
    )

    assert plan.verdict.kind == "fits"
    assert {need.name: need.state for need in plan.needs}["cpu"] == "slow"
