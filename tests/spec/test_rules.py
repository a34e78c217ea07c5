"""Contradictions between values that are fine by themselves, and what is legal but worth a look."""

from __future__ import annotations

import pytest
from checked_documents import HEAD, check_spec, told

from tonnage.spec.checking import check


@pytest.mark.parametrize(
    ("lines", "code"),
    [
        (("deadline: 10m", "checkpoints: {to: pvc/a, every: 20m}"), "DOC-034"),
        (("nodes: 0",), "DOC-021"),
        (("deadline: 0s",), "DOC-021"),
        (("idle: 0m",), "DOC-021"),
        (("memory: 0Gi",), "DOC-021"),
        (("checkpoints: {to: pvc/a, every: 0s}",), "DOC-021"),
        (("nodes: 2", "target: Job"), "DOC-036"),
        (("target: TFJob", "framework: torch"), "DOC-036"),
        (("volumes: [{mount: /a}]",), "DOC-031"),
        (("volumes: [{mount: /a, pvc: x, secret: y}]",), "DOC-031"),
        (("volumes: [{mount: /a, pvc: x}, {mount: /a, pvc: y}]",), "DOC-037"),
        (("data: [s3://a/b]", "volumes: [{mount: /data, pvc: y}]"), "DOC-037"),
        (("model: {python: python3}",), "DOC-031"),
        (("model: {step: a.py}",), "DOC-025"),
        (("podTemplate: {nodeSelector: {a: b}}",), "DOC-004"),
        (("env: {A: b}", "secrets: {A: c/d}"), "DOC-030"),
        (("memory: 8Gi", "shm: 8Gi"), "DOC-033"),
        (("budget: $300..500/week",), "DOC-013"),
        (("budget: {limit: $300..500}",), "DOC-013"),
        (("budget: $0",), "DOC-021"),
        (("checkpoints: pvc/a", "spot: {use: only, maxPrice: $3..5/hour}"), "DOC-013"),
        (("checkpoints: pvc/a", "spot: {use: only, maxPrice: $3}"), "DOC-013"),
        (("spot: true",), "DOC-050"),
        (("gpus: 8 x h1000",), "DOC-052"),
        (("gpus: 0.5",), "DOC-053"),
        (("checkpoints: /tmp/x",), "DOC-054"),
        (("image: pytorch/pytorch:latest",), "DOC-055"),
        (("gpus: 1", "env: {CUDA_VISIBLE_DEVICES: 0}"), "DOC-057"),
    ],
)
def test_rules_about_runs(lines: tuple[str, ...], code: str) -> None:
    checked = check_spec(*lines)

    assert [mistake.code for mistake in checked.mistakes + checked.remarks] == [code]


@pytest.mark.parametrize(
    ("lines", "code"),
    [
        (("gpus: {h100: {guaranteed: 9, maximum: 8}}",), "DOC-032"),
        (("gpus: {h100: 9..8}",), "DOC-020"),
        (("gpus: {h1000: 8}",), "DOC-052"),
        (("compute: {cpu: auto}",), "DOC-025"),
        (("container: {min: {memory: 8Gi}, max: {memory: 4Gi}}",), "DOC-033"),
        (("container: {default: {cpu: 1..4}, max: {cpu: 2}}",), "DOC-033"),
        (("claim: {min: 1Ti, max: 1Gi}",), "DOC-033"),
        (("storage: 1Ti", "claim: {min: 2Ti}"), "DOC-033"),
        (("priorityClasses: [high, high]",), "DOC-030"),
        (("priorityClasses: [high]", "defaultPriority: low"), "DOC-039"),
        (("members: [alice, alice]",), "DOC-030"),
        (("budget: $300..500/week",), "DOC-013"),
        (("budget: $0/week",), "DOC-021"),
    ],
)
def test_rules_about_teams(lines: tuple[str, ...], code: str) -> None:
    checked = check_spec(*lines, kind="Team")

    assert [mistake.code for mistake in checked.mistakes + checked.remarks] == [code]


@pytest.mark.parametrize(
    ("pool", "code"),
    [
        ("gpus: 0.5 x h100", "DOC-014"),
        ("gpus: 8", "DOC-014"),
        ("gpus: 8 x h1000", "DOC-014"),
        ("nodes: 2", "DOC-006"),
        ("gpus: 1 x h100, sharing: mig", "DOC-038"),
        ("gpus: 1 x h100, sharing: {mode: mig, profile: 9g.9gb}", "DOC-016"),
        ("gpus: 1 x h100, sharing: timeSlicing", "DOC-038"),
        ("gpus: 1 x h100, nodes: 9, autoscale: 0..4", "DOC-033"),
        ("gpus: 1 x h100, autoscale: 4..0", "DOC-020"),
        ("gpus: 1 x h100, price: $5", "DOC-013"),
        ("gpus: 1 x h100, price: $5..3/hour", "DOC-020"),
        ("cpu: 4, memory: 8Gi, price: {gpu: $5/hour}", "DOC-038"),
        ("cpu: 4, memory: 8Gi, nodes: 30000", "DOC-021"),
        ("cpu: 4, memory: 8Gi, taints: ['a:NoShedule']", "DOC-018"),
        ("cpu: 4, memory: 8Gi, schedules: [{days: someday, nodes: 1}]", "DOC-023"),
    ],
)
def test_rules_about_clusters(pool: str, code: str) -> None:
    checked = check_spec(f"pools: [{{name: p, {pool}}}]", kind="Cluster")

    assert [mistake.code for mistake in checked.mistakes + checked.remarks] == [code]


def test_pools_and_documents_have_names_of_their_own() -> None:
    pools = check_spec("pools: [{name: p, gpus: 1 x l4}, {name: p, gpus: 1 x l4}]", kind="Cluster")
    document = HEAD.format(kind="Run") + "  gpus: 1\n"
    twice = check(f"{document}---\n{document}", "f")

    assert told(pools) == [(6, "spec.pools[1].name", "DOC-030")]
    assert told(twice) == [(11, "metadata.name", "DOC-030")]


def test_a_rule_about_a_list_names_the_item_that_was_written() -> None:
    checked = check_spec("volumes:", "  - {mount: data, pvc: a}", "  - {mount: /b}")

    assert told(checked) == [(7, "spec.volumes[0].mount", "DOC-022"), (8, "spec.volumes[1]", "DOC-031")]


@pytest.mark.parametrize(
    ("kind", "lines", "codes"),
    [
        ("Run", ("command: 5", "gpus: 1"), ["DOC-024"]),
        ("Run", ("command:", "gpus: 1"), ["DOC-007"]),
        ("Run", ("spot: true", "checkpoints: pvc://x"), ["DOC-022"]),
        ("Run", ("volumes: [{mount: /a, pvc: Not_Legal}]",), ["DOC-017"]),
        ("Run", ("model: {step: [1]}",), ["DOC-007"]),
        ("Cluster", ("pools: [{name: a, gpus: eight}]",), ["DOC-014"]),
        ("Cluster", ("pools: [{gpus: 8 x h100}]",), ["DOC-006"]),
        ("Cluster", ("pools: [{name: a, gpus: 1 x l4, nodes: many, autoscale: 2..4}]",), ["DOC-015"]),
    ],
)
def test_a_value_that_is_wrong_is_not_also_called_absent(
    kind: str, lines: tuple[str, ...], codes: list[str]
) -> None:
    checked = check_spec(*lines, kind=kind)

    assert [mistake.code for mistake in checked.mistakes + checked.remarks] == codes


def test_a_run_with_nothing_to_run_is_remarked() -> None:
    checked = check(HEAD.format(kind="Run") + "  gpus: 1\n", "f")

    assert [remark.code for remark in checked.remarks] == ["DOC-058"]


def test_a_cluster_without_pools_is_none() -> None:
    assert told(check_spec("pools: []", kind="Cluster")) == [(6, "spec.pools", "DOC-006")]


def test_a_misspelt_field_of_the_pod_patch_is_remarked_and_an_unknown_one_left_alone() -> None:
    checked = check_spec(
        "image: x:1",
        "command: python t.py",
        "podTemplate: {spec: {nodeSelectr: {a: b}, brandNew: 1, containers: [{name: main, imag: y}]}}",
    )

    assert not checked.mistakes
    assert [remark.hint for remark in checked.remarks if remark.code == "DOC-004"] == [
        "did you mean nodeSelector?",
        "did you mean image?",
    ]
