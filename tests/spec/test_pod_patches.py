"""A pod patch goes to Kubernetes as it was written: its numbers must be ones that anybody can encode."""

from __future__ import annotations

import json

import msgspec

from tonnage.spec.loading import load_one
from tonnage.spec.run import Run

DOCUMENT = """
apiVersion: tonnage.dev/v1alpha1
kind: Run
metadata: {name: spread}
spec:
  command: python train.py
  memory: 1Gi
  podTemplate:
    spec:
      securityContext: {runAsUser: 1000}
      topologySpreadConstraints: [{maxSkew: 1, topologyKey: kubernetes.io/hostname}]
"""


def test_numbers_of_a_pod_patch_can_be_sent() -> None:
    patch = load_one(DOCUMENT, "run.yaml", Run).spec.pod_template
    assert msgspec.json.decode(msgspec.json.encode(patch)) == json.loads(json.dumps(patch))
    assert type(patch["spec"]["securityContext"]["runAsUser"]) is int
