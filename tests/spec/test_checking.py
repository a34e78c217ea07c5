"""All mistakes at once, each with its place, what was found, what was expected and what to try."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

import tonnage.spec
from tonnage.spec.checked import Checked
from tonnage.spec.checking import KINDS, check
from tonnage.spec.codes import CODES
from tonnage.spec.describing import all_fields

HEAD = "apiVersion: tonnage.dev/v1alpha1\nkind: {kind}\nmetadata:\n  name: a\nspec:\n"


def check_spec(*lines: str, kind: str = "Run") -> Checked:
    says_what = kind != "Run" or any(line.startswith("command") for line in lines)
    last = () if says_what else ("command: python train.py",)
    return check(HEAD.format(kind=kind) + "".join(f"  {line}\n" for line in (*lines, *last)), "f.yaml")


def told(checked: Checked) -> list[tuple[int | None, str, str]]:
    return [(mistake.line, mistake.field, mistake.code) for mistake in checked.mistakes]


def hints(checked: Checked) -> dict[str, str | None]:
    return {mistake.field: mistake.hint for mistake in checked.mistakes}


def test_every_mistake_of_a_document_is_told_at_once() -> None:
    checked = check_spec(
        "gpu: 8",
        "memory: 128Gi..64Gi",
        "checkpoints: {to: pvc/ckpt, every: 20 mins}",
        "env: {A: true}",
        "spot: perhaps",
        "nodes: 2",
        "gpus: 0.5",
    )

    assert told(checked) == [
        (6, "spec.gpu", "DOC-004"),
        (7, "spec.memory", "DOC-020"),
        (8, "spec.checkpoints.every", "DOC-012"),
        (9, "spec.env.A", "DOC-007"),
        (10, "spec.spot", "DOC-016"),
        (12, "spec.gpus", "DOC-035"),
    ]
    assert checked.values == []


@pytest.mark.parametrize(
    ("line", "hint"),
    [
        ("gpu: 8", "did you mean spec.gpus?"),
        ("retries: {oom: 3}", "did you mean spec.retries.hostOOM or spec.retries.gpuOOM?"),
        ("micro_batch: 2", "did you mean spec.train.microBatch?"),
        ("train: {micro_batch: 2}", "did you mean spec.train.microBatch?"),
        ("checkpoint: pvc/a", "did you mean spec.checkpoints?"),
        ("replicas: 2", "did you mean spec.nodes?"),
        ("nodeSelector: {a: b}", "did you mean spec.podTemplate.spec.nodeSelector?"),
        ("retries: {host_oom: 3}", "did you mean spec.retries.hostOOM?"),
        ("activeDeadlineSeconds: 3", "did you mean spec.deadline?"),
        ("serviceAccountName: x", "did you mean spec.serviceAccount?"),
        ("zzz: 3", None),
    ],
)
def test_an_unknown_field_suggests_the_one_that_was_meant(line: str, hint: str | None) -> None:
    checked = check_spec(line)

    assert [(mistake.code, mistake.hint) for mistake in checked.mistakes] == [("DOC-004", hint)]


@pytest.mark.parametrize(
    ("line", "hint"),
    [
        ("data: s3://corpus/v3", "write it as a list: [s3://corpus/v3]"),
        ("data: {from: s3://corpus/v3}", "begin its first line with '- '"),
        ("imagePullSecrets: login", "write it as a list: [login]"),
        ("imagePullSecrets: 'a, b'", "write it as a list of one"),
        ("model: llama-3-8b", "write it by its fields: step, shape, python"),
        ("network: host", "write it by its fields: isolation, rdma, interface, hostNetwork"),
    ],
)
def test_a_bare_value_in_the_wrong_place_says_how_to_write_it(line: str, hint: str) -> None:
    (found,) = hints(check_spec(line)).values()

    assert found == hint


@pytest.mark.parametrize(
    ("line", "field"),
    [
        ("costCentre: ''", "spec.costCentre"),
        ("members: ['  ']", "spec.members[0]"),
        ('members: [{name: "a\\eb"}]', "spec.members[0].name"),
    ],
)
def test_a_member_or_cost_centre_is_a_line_that_can_be_read(line: str, field: str) -> None:
    assert told(check_spec(line, kind="Team")) == [(6, field, "DOC-025")]


def test_no_message_carries_control_characters_to_the_terminal() -> None:
    escape = '"\\e[31mred"'
    fields = ("gpus", "memory", "nodes", "cpu", "framework", "priority", "budget", "deadline", "data")
    checked = [check_spec(f"{name}: {escape}") for name in fields]
    pool = f"pools: [{{name: p, gpus: {escape}, price: {escape}, zones: [{escape}], instance: x}}]"
    checked.append(check_spec(f"timezone: {escape}", pool, kind="Cluster"))

    told_to_people = [
        mistake.headline + str(mistake.found) + str(mistake.hint)
        for one in checked
        for mistake in one.mistakes
    ]
    assert len(told_to_people) >= len(fields)
    assert all(text.isprintable() for text in told_to_people)


def test_a_proposal_never_repeats_a_giant() -> None:
    (hint,) = hints(check_spec(f"memory: {'9' * 5000}Gi")).values()

    assert hint is None


def test_a_field_on_the_wrong_level_is_sent_home() -> None:
    checked = check("apiVersion: tonnage.dev/v1alpha1\nkind: Run\nmetadata: {name: a}\ngpus: 8\n", "f")

    assert hints(checked) == {"gpus": "did you mean spec.gpus?"}


def test_a_kubernetes_manifest_given_by_mistake_is_recognised() -> None:
    checked = check("apiVersion: batch/v1\nkind: Job\nmetadata: {name: a}\n", "job.yaml")

    assert hints(checked) == {"kind": "`tonnage init --from job.yaml` writes the Run for it"}


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("kind: Run\nmetadata: {name: a}\n", "DOC-006"),
        ("apiVersion: tonnage.dev/v1alpha1\nmetadata: {name: a}\nspec: {pools: []}\n", "DOC-006"),
        ("apiVersion: tonnage.dev/v9\nkind: Run\nmetadata: {name: a}\n", "DOC-010"),
        ("apiVersion: tonnage.dev/v1alpha1\nkind: Runn\nmetadata: {name: a}\n", "DOC-010"),
        ("apiVersion: tonnage.dev/v1alpha1\nkind: [Run]\nmetadata: {name: a}\n", "DOC-010"),
        ("apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: a}\n", "DOC-010"),
        ("- a\n- b\n", "DOC-007"),
        ("hello\n", "DOC-007"),
        ("42\n", "DOC-007"),
        ("apiVersion: tonnage.dev/v1alpha1\nkind: Run\n", "DOC-006"),
        ("apiVersion: tonnage.dev/v1alpha1\nkind: Cluster\nmetadata: {name: a}\n", "DOC-006"),
    ],
)
def test_what_is_not_a_document_of_ours(text: str, code: str) -> None:
    assert [mistake.code for mistake in check(text, "f").mistakes] == [code]


def test_a_begun_field_without_a_value_is_told_but_a_patch_may_say_null() -> None:
    checked = check_spec(
        "queue:", "command: [python, ]", "data: [null]", "podTemplate: {spec: {hostname: null}}"
    )

    assert told(checked) == [(6, "spec.queue", "DOC-007"), (8, "spec.data[0]", "DOC-007")]


def test_a_secret_value_is_refused_and_never_repeated() -> None:
    checked = check_spec("secrets: {HF_TOKEN: hf_abcdefghijklmnopqrstuvwxyz}")

    assert told(checked) == [(6, "spec.secrets.HF_TOKEN", "DOC-019")]
    assert "abcdefghij" not in str(checked.mistakes)


@pytest.mark.parametrize(
    ("name", "value", "is_remarked"),
    [
        ("AWS_ACCESS_KEY_ID", "AKIAABCDEFGHIJKLMNOP", True),
        ("DB", "password=hunter22", True),
        ("URL", "postgres://me:hunter22@db/x", True),
        ("WANDB_API_KEY", "0123456789abcdef", True),
        ("TOKENIZERS_PARALLELISM", "false", False),
        ("MAX_TOKENS", "4096", False),
        ("SECRET_FILE", "/run/secrets/x", False),
    ],
)
def test_an_environment_value_that_looks_like_a_secret_is_remarked(
    name: str, value: str, is_remarked: bool
) -> None:
    checked = check_spec(f'env: {{{name}: "{value}"}}')

    assert [remark.code for remark in checked.remarks] == (["DOC-051"] if is_remarked else [])
    assert value not in str([remark.as_json() for remark in checked.remarks])
    assert checked.mistakes == []


def test_numbers_in_env_labels_and_commands_keep_their_spelling() -> None:
    checked = check_spec(
        "env: {LR: 1e-5, N: 010}", "labels: {version: 1.10}", "command: [python, t.py, --lr, 1e-5]"
    )
    run: Any = checked.values[0]

    assert run.spec.env == {"LR": "1e-5", "N": "010"}
    assert run.spec.labels == {"version": "1.10"}
    assert run.spec.command == ("python", "t.py", "--lr", "1e-5")


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


def test_a_thousand_mistakes_are_all_counted() -> None:
    checked = check_spec(*(f"nonsense{number}: 1" for number in range(1000)))

    assert len(checked.mistakes) == 1000


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


def test_every_code_is_in_the_table() -> None:
    room = Path(tonnage.spec.__file__).parent
    sources = [path for path in room.rglob("*.py") if path.name != "codes.py"]
    sources.append(room.parent / "cli" / "check.py")
    used = {code for path in sources for code in re.findall(r"DOC-\d{3}", path.read_text())}

    assert used == set(CODES)


WEIRD = [
    None,
    True,
    -1,
    10**40,
    1.5,
    float("nan"),
    float("inf"),
    "",
    "x",
    "\u6a21\u578b \U0001f600",
    [],
    {},
    [None],
    {"a": {"b": []}},
]


@pytest.mark.parametrize("kind", KINDS)
def test_any_field_may_hold_anything_and_only_mistakes_come_of_it(kind: str) -> None:
    for path, _, _ in all_fields(KINDS[kind]):
        for weird in WEIRD:
            value: Any = weird
            for step in reversed(path):
                value = {step: value}
            content = {"apiVersion": "tonnage.dev/v1alpha1", "kind": kind, "metadata": {"name": "a"}} | value
            checked = check(json.dumps(content), "f.json")

            assert checked.mistakes or checked.values


def test_long_values_are_shortened_in_messages() -> None:
    checked = check_spec(f"memory: {'9' * 5000}", f"{'k' * 900}: 1", f"gpus: '{'x' * 5000}'")

    assert len(checked.mistakes) == 3
    assert max(len(str(part)) for mistake in checked.mistakes for part in mistake.as_json().values()) < 200


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
