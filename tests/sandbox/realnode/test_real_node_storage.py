"""Which volumes are due: decided from objects alone. That pods really keep their data is in test_running."""

from __future__ import annotations

from typing import Any

from tonnage.sandbox.realnode.storage import (
    CLASS_NAME,
    node_of,
    storage_class,
    volume_for,
    volumes_done,
    volumes_due,
)

CLASSES = {CLASS_NAME: storage_class()}


def a_claim(node: str | None = "real-1", **spec: Any) -> dict[str, Any]:
    annotations = {"volume.kubernetes.io/selected-node": node} if node else {}
    metadata = {"namespace": "default", "name": "data", "uid": "u1", "annotations": annotations}
    wanted = {"storageClassName": CLASS_NAME, "accessModes": ["ReadWriteOnce"]}
    return {"metadata": metadata, "spec": {**wanted, "resources": {"requests": {"storage": "1Gi"}}, **spec}}


def test_a_claim_waits_until_the_scheduler_chose_a_node() -> None:
    assert volumes_due([a_claim(node=None)], [], CLASSES) == []


def test_a_claim_with_a_node_gets_one_volume_on_that_node() -> None:
    (volume,) = volumes_due([a_claim(node="real-2")], [], CLASSES)

    assert node_of(volume) == "real-2"
    assert volume["spec"]["claimRef"]["uid"] == "u1"
    assert volumes_due([a_claim(node="real-2")], [volume], CLASSES) == []


def test_claims_of_other_classes_and_bound_claims_are_left_alone() -> None:
    others = [a_claim(storageClassName="fast"), a_claim(storageClassName=None), a_claim(volumeName="pv-1")]

    assert volumes_due(others, [], CLASSES) == []


def test_only_released_volumes_of_ours_that_may_go_are_removed() -> None:
    def a_volume(phase: str, policy: str = "Delete", **more: Any) -> dict[str, Any]:
        volume = volume_for(a_claim(), "real-1", {"reclaimPolicy": policy})
        return {**volume, "status": {"phase": phase}, **more}

    released = a_volume("Released")
    stranger = a_volume("Released", metadata={"name": "nfs-1"})
    kept = [a_volume("Bound"), a_volume("Released", policy="Retain"), stranger]

    assert volumes_done([released, *kept]) == [released]
