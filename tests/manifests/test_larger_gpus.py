"""Out of GPU memory, where the document allows a larger GPU: the next attempt's objects go there, by real labels."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from manifest_cases import TORCH, Case, _price
from manifest_reading import templates, trainer, variables

from tonnage.cluster.scheduling import view_of
from tonnage.errors import RefusedError
from tonnage.manifests import facts_of, first_size, render
from tonnage.manifests.larger import with_larger
from tonnage.planning.placing import Wanted, emptied, place_gang
from tonnage.planning.workload.decoding import pod_of
from tonnage.running.observing import Refit

LARGER = {
    **TORCH,
    "checkpoints": "nfs://filer/ckpt",
    "onOOM": {"gpu": "largerGpu"},
    "memory": "200Gi",
    "cpu": 16,
}


def a_case(nodes: str, /, **spec: Any) -> Case:
    return Case(name="sft", spec={**LARGER, "gpus": "8 x a100-80", **spec}, nodes=nodes)


def larger(case: Case) -> list[str]:
    return [size.gpu for size in case.request().facts.larger]


def moved(case: Case, gpu: str) -> Any:
    request = case.request()
    size = replace(first_size(request.planned, request.run), gpu=gpu)
    return render(replace(request, size=size, attempt=2))


def nodes_of(case: Case, rendered: Any) -> set[str]:
    pod = pod_of(templates(rendered)[0][0], "pod", "default")
    found = place_gang([Wanted("node", pod, case.request().planned.nodes)], emptied(view_of(case.snapshot())))
    return {name.rpartition("-")[0] for name in found.feasible}


def test_gpus_with_more_memory_are_known_the_smallest_first() -> None:
    case = a_case("8xa100-80=1,8xb200=1,8xh200=1,8xh100=1,8xl4=1,4xh200=1")
    assert larger(case)[:1] == ["h200"]
    assert "b200" in larger(case)
    assert not {"a100-80", "l4"} & set(larger(case))


@pytest.mark.parametrize(
    ("nodes", "spec"),
    [
        ("8xa100-80=1,8xh200=1", {"onOOM": {"gpu": "refit"}}),
        ("8xa100-80=1,4xh200=2", {}),
        ("8xa100-80=2,8xh200=1", {"nodes": 2}),
        ("8xa100-80=1,8xh200=1", {"memory": "100000Gi"}),
        ("8xa100-80=1,8xh200=1+mig=1g.18gb", {}),
    ],
)
def test_none_is_offered_that_is_not_allowed_or_could_not_take_the_gang(
    nodes: str, spec: dict[str, Any]
) -> None:
    assert larger(a_case(nodes, **spec)) == []


def test_the_next_attempt_goes_to_nodes_with_the_larger_gpu_and_only_there() -> None:
    case = a_case("8xa100-80=1,8xh200=1,8xh100=1")

    assert nodes_of(case, case.rendered()) == {"8xa100-80"}
    assert nodes_of(case, moved(case, "h200")) == {"8xh200"}


def test_labels_of_the_cloud_are_used_where_nodes_carry_no_others() -> None:
    case = a_case("8xa100-80=1,8xh200=1")
    request = case.request()
    terms = {line.key for size in request.facts.larger for lines in size.terms for line in lines}
    carried = {key for node in case.snapshot().nodes for key in node.metadata.labels}
    assert terms
    assert terms <= carried


def test_the_agent_is_told_the_price_of_the_larger_gpu() -> None:
    case = a_case("8xa100-80=1,8xh200=1", budget="$500")
    request = case.request()
    facts = facts_of(case.snapshot(), case.situation().plan, price_of=_price)
    size = replace(first_size(request.planned, request.run), gpu="h200")
    told = variables(trainer(render(replace(request, facts=facts, size=size))))
    assert told["TONNAGE_PRICE_PER_HOUR"] == str(facts.larger[0].price_per_hour)


def test_a_gpu_that_nobody_has_is_refused_not_replaced() -> None:
    with pytest.raises(RefusedError) as caught:
        moved(a_case("8xa100-80=1,8xh200=1"), "b200")
    assert caught.value.problem.code == "MAN-012"


def test_every_larger_gpu_becomes_a_way_out_and_one_that_is_not_there_none() -> None:
    sizes = a_case("8xa100-80=1,8xh200=1").request().facts.larger
    cut = Refit(micro_batch=2, accumulation=4)
    found = with_larger([cut, Refit(micro_batch=None, accumulation=None, gpu="b200")], sizes)

    assert [refit.gpu for refit in found] == [None, "h200"]
    assert found[1].text == "on h200, with 140 GiB"
