"""What holds for every run that can be rendered, whatever it asks for."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from manifest_cases import ALL, FIGURES, GIB, Case
from manifest_reading import containers, pods, templates, trainer, variables

from tonnage.cluster.qos import BEST_EFFORT, GUARANTEED, compute_qos_class
from tonnage.manifests import Rendered, render
from tonnage.running.attempts import Size
from tonnage.units import parse_quantity

NAME = re.compile(r"[a-z]([-a-z0-9]{0,61}[a-z0-9])?")
LABEL = re.compile(r"([A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?)?")
CLUSTERS = (
    "8xh100=4",
    "8xh100=2,8xa100-80=2",
    "4xl4=2,small=2+gpus=4xl4+shared=4",
    "8xh100=4+spot+zone=eu-1a/eu-1b",
    "cpu=4,8xh100=4",
)

names = st.from_regex(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?", fullmatch=True)
targets = st.sampled_from(["auto", "IndexedJob", "JobSet", "TrainJob", "PyTorchJob"])


@st.composite
def specs(draw: st.DrawFn) -> dict[str, Any]:
    spec: dict[str, Any] = {
        "image": "train:1",
        "command": draw(
            st.sampled_from(["torchrun train.py", "python train.py", ["sh", "-c", "exec ./train"]])
        ),
        "framework": draw(st.sampled_from(["auto", "torch", "jax", "tensorflow", "deepspeed"])),
        "priority": draw(st.sampled_from(["critical", "high", "normal", "low"])),
        "gpus": draw(st.sampled_from([0, 1, 2, 4])),
        "nodes": draw(st.sampled_from([1, 2, 3])),
        "target": draw(targets),
        "spot": draw(st.sampled_from([False, True])),
    }
    spec |= draw(
        st.sampled_from([{}, {"memory": "32Gi"}, {"memory": "16Gi..32Gi"}, {"memory": "32Gi", "shm": "8Gi"}])
    )
    spec |= draw(st.sampled_from([{}, {"cpu": 4}, {"cpu": "2..4"}]))
    spec |= draw(st.sampled_from([{}, {"disk": "10Gi"}, {"disk": "5Gi..10Gi"}]))
    spec |= draw(st.sampled_from([{}, {"checkpoints": "pvc/ckpt"}, {"checkpoints": "s3://ckpt/x"}]))
    spec |= draw(st.sampled_from([{}, {"deadline": "10m"}, {"keep": "1h"}, {"retries": 0}]))
    spec |= draw(st.sampled_from([{}, {"code": "."}, {"network": {"hostNetwork": True}}]))
    if spec["target"] == "PyTorchJob" and spec["framework"] not in ("torch", "deepspeed"):
        spec["framework"] = "auto"
    return spec


@st.composite
def cases(draw: st.DrawFn) -> Case:
    return Case(
        name=draw(names),
        spec=draw(specs()),
        nodes=draw(st.sampled_from(CLUSTERS)),
        figures=draw(st.sampled_from([{}, FIGURES, {"memory": 8 * GIB}])),
        served=ALL,
        more={"attempt": draw(st.integers(1, 1200)), "has_python": draw(st.booleans())},
    )


@st.composite
def renderings(draw: st.DrawFn) -> tuple[Case, Rendered]:
    case = draw(cases())
    size = draw(st.sampled_from([Size(), Size(memory=48 * GIB), Size(shm=20 * GIB), Size(disk=GIB)]))
    return case, render(replace(case.request(), size=size))


quick = settings(max_examples=40, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])


@quick
@given(renderings())
def test_critical_and_high_runs_are_guaranteed_and_none_is_best_effort(made: tuple[Case, Rendered]) -> None:
    case, rendered = made
    for pod in pods(rendered):
        qos = compute_qos_class(pod)
        assert qos != BEST_EFFORT
        if case.spec["priority"] in ("critical", "high"):
            assert qos == GUARANTEED


@quick
@given(renderings())
def test_no_request_is_above_its_limit_and_devices_are_asked_for_as_limited(
    made: tuple[Case, Rendered],
) -> None:
    _, rendered = made
    for template, _ in templates(rendered):
        for container in containers(template):
            requests, limits = container["resources"]["requests"], container["resources"]["limits"]
            assert set(requests) == set(limits)
            for name, text in requests.items():
                assert parse_quantity(text).nano <= parse_quantity(limits[name]).nano
                if "/" in name:
                    assert text == limits[name]


@quick
@given(renderings())
def test_names_and_labels_are_legal_with_what_controllers_append(made: tuple[Case, Rendered]) -> None:
    _, rendered = made
    for item in rendered.objects:
        assert NAME.fullmatch(item["metadata"]["name"])
        for value in item["metadata"].get("labels", {}).values():
            assert LABEL.fullmatch(value)
    appended = {
        "Job": "-abcde",
        "JobSet": "-node-0-2-abcde",
        "TrainJob": "-node-0-2-abcde",
        "PyTorchJob": "-worker-2",
    }
    suffix = "-2-abcde" if rendered.target == "IndexedJob" else appended.get(rendered.target, "-worker-2")
    assert len(rendered.workload["metadata"]["name"] + suffix) <= 63


@quick
@given(renderings())
def test_shm_is_bounded_and_smaller_than_the_memory_it_counts_against(made: tuple[Case, Rendered]) -> None:
    _, rendered = made
    for template, _ in templates(rendered):
        shm = next(each for each in template["spec"]["volumes"] if each["name"] == "shm")["emptyDir"]
        main = template["metadata"]["annotations"]["kubectl.kubernetes.io/default-container"]
        container = next(each for each in template["spec"]["containers"] if each["name"] == main)
        limit = parse_quantity(container["resources"]["limits"]["memory"])
        assert shm["medium"] == "Memory"
        assert parse_quantity(shm["sizeLimit"]).nano < limit.nano


@quick
@given(renderings())
def test_pods_ask_only_for_labels_that_nodes_carry(made: tuple[Case, Rendered]) -> None:
    case, rendered = made
    nodes = [node.metadata.labels for node in case.snapshot().nodes]
    for pod in pods(rendered):
        for key, value in pod.spec.node_selector.items():
            assert any(labels.get(key) == value for labels in nodes)
        affinity = pod.spec.affinity.node_affinity if pod.spec.affinity else None
        required = affinity.required_during_scheduling_ignored_during_execution if affinity else None
        for term in required.node_selector_terms if required else ():
            for line in term.match_expressions:
                if line.operator == "In":
                    assert any(labels.get(line.key) in line.values for labels in nodes)


@quick
@given(renderings())
def test_a_failure_policy_ignores_nothing_but_disruptions_and_has_few_rules(
    made: tuple[Case, Rendered],
) -> None:
    _, rendered = made
    for item in rendered.objects:
        for policy in _policies(item):
            rules = policy["rules"]
            assert len(rules) <= 20
            assert rules[0]["onPodConditions"][0]["type"] == "DisruptionTarget"
            assert all(rule["action"] == "FailJob" for rule in rules[1:])


@quick
@given(cases())
def test_the_same_request_always_renders_the_same(case: Case) -> None:
    request = case.request()
    assert render(request) == render(request)
    assert case.request() == request


@quick
@given(renderings())
def test_every_object_of_an_attempt_is_found_by_its_selector(made: tuple[Case, Rendered]) -> None:
    _, rendered = made
    for item in rendered.objects:
        if item["kind"] in ("PriorityClass", "ConfigMap"):
            continue
        assert rendered.selector.items() <= item["metadata"]["labels"].items()
    for template, _ in templates(rendered):
        assert rendered.selector.items() <= template["metadata"]["labels"].items()


@quick
@given(renderings())
def test_variables_are_named_once_and_refer_only_to_earlier_ones(made: tuple[Case, Rendered]) -> None:
    _, rendered = made
    for template, _ in templates(rendered):
        for container in template["spec"]["containers"]:
            seen: set[str] = set()
            for entry in container.get("env", []):
                for name in re.findall(r"\$\((\w+)\)", entry.get("value", "")):
                    assert name in seen
                assert entry["name"] not in seen
                seen.add(entry["name"])


@quick
@given(renderings())
def test_ranks_add_up(made: tuple[Case, Rendered]) -> None:
    case, rendered = made
    said = variables(trainer(rendered))
    if "WORLD_SIZE" in said:
        ranks = max(1, case.spec["gpus"])
        assert int(said["WORLD_SIZE"]) == case.spec["nodes"] * ranks
        assert len(said["TONNAGE_PEERS"].split(",")) == case.spec["nodes"]


@quick
@given(renderings())
def test_no_pod_has_what_reviewers_of_training_manifests_look_for(made: tuple[Case, Rendered]) -> None:
    case, rendered = made
    for template, _ in templates(rendered):
        pod = template["spec"]
        assert not pod.get("hostIPC")
        assert pod["automountServiceAccountToken"] is False
        assert pod["terminationGracePeriodSeconds"] >= 30
        assert pod["priorityClassName"] == case.spec["priority"]
        assert pod["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
        assert ("nvidia.com/gpu" in {each["key"] for each in pod.get("tolerations", [])}) == bool(
            case.spec["gpus"]
        )
        for container in containers(template):
            assert container["terminationMessagePolicy"] == "FallbackToLogsOnError"
            assert container["securityContext"]["allowPrivilegeEscalation"] is False
            assert container["securityContext"]["capabilities"]["drop"] == ["ALL"]
            assert "ephemeral-storage" in container["resources"]["limits"]
            assert not {"livenessProbe", "readinessProbe", "startupProbe", "resizePolicy"} & set(container)


@quick
@given(renderings())
def test_finished_objects_are_kept_and_then_removed(made: tuple[Case, Rendered]) -> None:
    """By the cluster itself, but for a TrainJob, which could start again."""
    _, rendered = made
    spec = rendered.workload["spec"]
    said = spec.get("ttlSecondsAfterFinished") or spec.get("runPolicy", {}).get("ttlSecondsAfterFinished")
    assert (said is None) == (rendered.target == "TrainJob")
    assert said is None or said >= 3600


def _policies(item: Any) -> list[dict[str, Any]]:
    if isinstance(item, dict):
        own = [item["podFailurePolicy"]] if "podFailurePolicy" in item else []
        return own + [found for value in item.values() for found in _policies(value)]
    return [found for value in item for found in _policies(value)] if isinstance(item, list) else []
