"""Kubeflow Trainer: TrainJobs made from runtimes; each becomes a JobSet, so JobSet comes with it.

The folder of its certificate can be changed only through the temporary folder of its process.
"""

from __future__ import annotations

from typing import Any

from tonnage.sandbox.controllers.controller import Controller, Place


def _settings(place: Place) -> dict[str, Any]:
    return {
        "apiVersion": "config.trainer.kubeflow.org/v1alpha1",
        "kind": "Configuration",
        "leaderElection": {"leaderElect": False},
        "certManagement": {"enable": False},
        "webhook": {"host": "127.0.0.1", "port": place.webhook_port},
        "health": {
            "healthProbeBindAddress": f"127.0.0.1:{place.health_port}",
            "readinessEndpointName": "readyz",
            "livenessEndpointName": "healthz",
        },
        "metrics": {"bindAddress": f"127.0.0.1:{place.metrics_port}", "secureServing": True},
    }


TRAINER = Controller(
    name="trainer",
    title="Kubeflow Trainer",
    version="v2.3.0",
    does="TrainJobs from ready-made runtimes",
    module="github.com/kubeflow/trainer/v2",
    package="github.com/kubeflow/trainer/v2/cmd/trainer-controller-manager",
    module_folder="trainer",
    manifests={
        "crds": "manifests/base/crds",
        "webhooks": "manifests/base/webhook",
        "runtimes": "manifests/base/runtimes",
    },
    namespace="kubeflow-system",
    needs=("jobset",),
    kueue_frameworks=("trainer.kubeflow.org/trainjob",),
    settings=_settings,
    environment=lambda place: {"TMPDIR": str(place.folder)},
    arguments=lambda place: place.usual_arguments("trainer"),
)
