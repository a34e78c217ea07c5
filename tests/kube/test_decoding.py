"""Decoding what API servers write, sharing what repeats, and forgetting what is gone."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tonnage.cluster.objects import Job, Node, Pod
from tonnage.kube.decoding import Decoder, decode_object
from tonnage.kube.interning import SWEEP_AT, Interner


def pod(name: str = "a", **parts: Any) -> dict[str, Any]:
    return {
        "metadata": {
            "name": name,
            "namespace": "ml",
            "uid": f"uid-{name}",
            "labels": {"job": "j", "index": name},
        },
        "spec": {
            "nodeName": "gpu-0",
            "containers": [{"name": "main", "resources": {"limits": {"nvidia.com/gpu": "8"}}}],
            "tolerations": [{"operator": "Exists"}],
        },
        "status": {
            "phase": "Running",
            "conditions": [{"type": "Ready", "status": "True"}],
            "containerStatuses": [{"name": "main", "ready": True, "lastState": {}, "state": {"running": {}}}],
        },
        **parts,
    }


def test_a_page_with_a_null_where_a_list_belongs_is_repaired() -> None:
    broken = pod("b", spec={"containers": None, "tolerations": None, "nodeSelector": None})
    body = json.dumps({"metadata": {"resourceVersion": "7"}, "items": [pod("a"), broken]}).encode()

    page = Decoder(Pod, "pods").page(body)

    assert [item.metadata.name for item in page.items] == ["a", "b"]
    assert (page.items[1].spec.containers, page.gaps, page.meta.resource_version) == ((), (), "7")


def test_one_object_that_makes_no_sense_does_not_hide_the_others() -> None:
    body = json.dumps({"items": [pod("a"), {"metadata": {"name": "odd"}, "spec": 3}, pod("b")]}).encode()

    page = Decoder(Pod, "pods").page(body)

    assert len(page.items) == 2
    assert "odd" in page.gaps[0].message


def test_a_list_whose_items_are_null_is_empty() -> None:
    assert Decoder(Pod, "pods").page(b'{"metadata":{},"items":null}').items == []


def test_what_is_not_json_is_not_an_empty_page() -> None:
    with pytest.raises(msgspec.DecodeError):
        Decoder(Pod, "pods").page(b"<html>")


def test_bare_numbers_in_manifests_become_texts() -> None:
    manifest = {
        "spec": {"containers": [{"name": "c", "resources": {"limits": {"cpu": 2, "nvidia.com/gpu": 8}}}]}
    }

    limits = decode_object(manifest, Pod).spec.containers[0].resources.limits

    assert limits == {"cpu": "2", "nvidia.com/gpu": "8"}


def test_a_job_decodes_with_its_template() -> None:
    job = decode_object({"spec": {"backoffLimit": 6, "template": pod()}}, Job)

    assert job.spec.template.spec.containers[0].name == "main"


def test_interned_pods_are_equal_to_plain_ones_and_share_their_parts() -> None:
    decoder = Decoder(Pod, "pods")

    first, second = (decoder.one(json.dumps(pod(name)).encode()) for name in ("a", "b"))

    assert first == msgspec.json.decode(json.dumps(pod("a")), type=Pod)
    assert first.spec.containers is second.spec.containers
    assert first.spec.tolerations is second.spec.tolerations
    assert first.metadata.namespace is second.metadata.namespace


def test_an_unchanged_spec_is_shared_with_the_version_before() -> None:
    decoder = Decoder(Pod, "pods")
    before = decoder.one(json.dumps(pod()).encode())

    after = decoder.one(json.dumps(pod(status={"phase": "Failed"})).encode(), {"uid-a": before})

    assert after.spec is before.spec
    assert (before.status.phase, after.status.phase) == ("Running", "Failed")


def test_last_applied_copies_are_not_kept_in_memory() -> None:
    text = pod()
    text["metadata"]["annotations"] = {"kubectl.kubernetes.io/last-applied-configuration": "x" * 999}

    assert Decoder(Pod, "pods").one(json.dumps(text).encode()).metadata.annotations == {}


def test_parts_nobody_uses_are_forgotten() -> None:
    interner = Interner()
    decoder = Decoder(Pod, "pods", interner)
    kept = decoder.one(json.dumps(pod("kept")).encode())
    for number in range(SWEEP_AT):
        other = pod(
            "x", spec={"containers": [{"name": "m", "image": f"i{number}"}], "nodeName": f"n{number}"}
        )
        decoder.one(json.dumps(other).encode())

    interner.sweep()

    assert len(interner) < 50
    assert kept == msgspec.json.decode(json.dumps(pod("kept")), type=Pod)


texts = st.text(max_size=5)
labels = st.dictionaries(texts, texts, max_size=4)


@given(st.lists(st.tuples(texts, labels, labels), min_size=1, max_size=6), st.booleans())
def test_interning_never_changes_a_value(
    found: list[tuple[str, dict[str, str], dict[str, str]]], as_node: bool
) -> None:
    type_: Any = Node if as_node else Pod
    interner = Interner()
    decoder: Any = Decoder(type_, "x", interner)
    for name, marks, notes in found:
        body = {"metadata": {"name": name, "labels": marks, "annotations": notes}, "spec": {}, "status": {}}
        if not as_node:
            body["spec"] = {"nodeSelector": marks, "overhead": notes}
        encoded = json.dumps(body).encode()

        assert decoder.one(encoded) == msgspec.json.decode(encoded, type=type_)
