"""JobSet: several Jobs as one, started and restarted together.

Its own certificate management is off; it reads the sandbox's certificate from a folder.
"""

from __future__ import annotations

from typing import Any

from tonnage.sandbox.controllers.controller import Controller, Place


def _settings(place: Place) -> dict[str, Any]:
    return {
        "apiVersion": "config.jobset.x-k8s.io/v1alpha1",
        "kind": "Configuration",
        "leaderElection": {"leaderElect": False},
        "internalCertManagement": {"enable": False},
        "webhook": {
            "host": "127.0.0.1",
            "port": place.webhook_port,
            "certDir": str(place.certificates),
        },
        "health": {"healthProbeBindAddress": f"127.0.0.1:{place.health_port}"},
        "metrics": {
            "bindAddress": f"127.0.0.1:{place.metrics_port}",
            "certDir": str(place.certificates),
        },
    }


JOBSET = Controller(
    name="jobset",
    title="JobSet",
    version="v0.12.0",
    does="several Jobs started and restarted together",
    module="sigs.k8s.io/jobset",
    package="sigs.k8s.io/jobset",
    module_folder="jobset",
    manifests={"crds": "config/components/crd", "webhooks": "config/components/webhook"},
    namespace="jobset-system",
    webhook_prefix="jobset-",
    kueue_frameworks=("jobset.x-k8s.io/jobset",),
    settings=_settings,
    arguments=lambda place: place.usual_arguments("jobset"),
)
