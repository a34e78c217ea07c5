"""A secret planted anywhere an environment or a secret's contents can be never reaches a saved file."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from tonnage.kube.port import scrubbed_page
from tonnage.kube.scrubbing import scrub

SECRET = "hunter2-s3cr3t-value"
KEYS = st.sampled_from(
    ["spec", "template", "podSets", "replicatedJobs", "trainer", "containers", "override", "x"]
)
LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"

plain = st.one_of(st.integers(), st.text(max_size=8), st.booleans(), st.none())
planted = st.sampled_from(
    [
        {"env": [{"name": "TOKEN", "value": SECRET}]},
        {
            "env": [
                {"name": "TOKEN", "value": SECRET, "valueFrom": {"secretKeyRef": {"name": "s", "key": "k"}}}
            ]
        },
        {"env": {"TOKEN": SECRET}},
        {"env": [f"TOKEN={SECRET}"]},
        {"env": [{"name": {"deep": SECRET}, "value": 1}]},
        {"env": [[{"name": "TOKEN", "value": SECRET}]]},
        {"workerEnv": [{"name": "TOKEN", "value": SECRET}]},
        {"envVars": {"TOKEN": {"value": SECRET}}},
        {"environment": SECRET},
        {"metadata": {"annotations": {LAST_APPLIED: json.dumps({"env": SECRET})}}},
        {"metadata": {"managedFields": [{"fieldsV1": {SECRET: {}}}]}},
        {"kind": "Secret", "data": {"k": SECRET}, "stringData": {"k": SECRET}},
        {"kind": "ConfigMap", "data": {"k": SECRET}, "binaryData": {"k": SECRET}},
        {"livenessProbe": {"httpGet": {"httpHeaders": [{"name": "Authorization", "value": SECRET}]}}},
    ]
)


def nested(children: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.one_of(st.lists(children, max_size=3), st.dictionaries(KEYS, children, max_size=3))


documents = st.recursive(st.one_of(plain, planted), nested, max_leaves=12)


@given(st.dictionaries(KEYS, documents, min_size=1))
def test_a_planted_secret_never_appears_in_what_is_saved(document: dict[str, Any]) -> None:
    body = json.dumps({"metadata": {}, "items": [document]}).encode()

    import zlib

    saved = b"".join(zlib.decompress(piece) for piece in scrubbed_page(body).items)

    assert SECRET.encode() not in saved


@given(documents)
def test_scrubbing_twice_changes_nothing_more(document: Any) -> None:
    assert scrub(scrub(document)) == scrub(document)


def test_names_references_and_commands_stay() -> None:
    container = {
        "name": "main",
        "command": ["torchrun"],
        "args": ["--lr=3e-4"],
        "env": [
            {"name": "A", "value": "x"},
            {"name": "B", "valueFrom": {"secretKeyRef": {"name": "s", "key": "k"}}},
        ],
        "resources": {"limits": {"memory": "4Gi"}},
    }

    assert scrub(container) == {
        **container,
        "env": [{"name": "A"}, {"name": "B", "valueFrom": {"secretKeyRef": {"name": "s", "key": "k"}}}],
    }


def test_other_annotations_stay() -> None:
    meta = {"annotations": {LAST_APPLIED: "{}", "kueue.x-k8s.io/queue-name": "research"}, "managedFields": []}

    assert scrub({"metadata": meta}) == {
        "metadata": {"annotations": {"kueue.x-k8s.io/queue-name": "research"}}
    }


def test_a_secret_that_is_only_mentioned_keeps_its_name() -> None:
    volume = {"name": "creds", "secret": {"secretName": "wandb"}}

    assert scrub(volume) == volume
