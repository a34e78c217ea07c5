"""All mistakes at once, each with its place, what was found, what was expected and what to try."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from checked_documents import check_spec, hints, told

import tonnage.spec
from tonnage.spec.checking import KINDS, check
from tonnage.spec.codes import CODES
from tonnage.spec.describing import all_fields


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


def test_a_thousand_mistakes_are_all_counted() -> None:
    checked = check_spec(*(f"nonsense{number}: 1" for number in range(1000)))

    assert len(checked.mistakes) == 1000


def test_every_code_is_in_the_table() -> None:
    package = Path(tonnage.spec.__file__).parents[1]
    sources = [path for path in package.rglob("*.py") if path.name != "codes.py"]
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
