"""Manifests of training jobs, and the Run that is made of them."""

from __future__ import annotations

from typing import Any

from tonnage.spec.adopting import Adopted, adopt
from tonnage.spec.checking import check
from tonnage.spec.dumping import write_yaml
from tonnage.spec.reading import read


def adopted(manifest: dict[str, Any]) -> tuple[dict[str, Any], Adopted]:
    result = adopt(write_yaml(manifest), "job.yaml")
    assert result.mistakes == []
    assert check(result.text, "run.yaml").mistakes == [], result.text
    return read(result.text, "run.yaml").documents[0].value, result


def container(**fields: Any) -> dict[str, Any]:
    limits = {"nvidia.com/gpu": 8, "cpu": "64", "memory": "500Gi"}
    return {
        "name": "trainer",
        "image": "ml/train:1",
        "command": ["python", "train.py"],
        "resources": {"limits": limits},
        **fields,
    }


def pod_spec(*containers: dict[str, Any], **fields: Any) -> dict[str, Any]:
    tolerations = [{"key": "nvidia.com/gpu", "operator": "Exists"}]
    return {
        "restartPolicy": "Never",
        "tolerations": tolerations,
        "containers": list(containers) or [container()],
        **fields,
    }


def job(template: dict[str, Any] | None = None, **fields: Any) -> dict[str, Any]:
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": "train", "namespace": "ml"},
        "spec": {"template": {"spec": template or pod_spec()}, **fields},
    }
