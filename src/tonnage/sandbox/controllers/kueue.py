"""Kueue: queues, quotas, borrowing and preemption between teams.

Three settings differ from a stock installation, each because this is a process and not a pod:

- its certificate rotator stays on, with a secret it accepts: switched off, it insists on `/etc/kueue`;
- the visibility server gets a certificate in memory (a linker flag empties the path `/visibility`);
- only integrations whose kinds exist are listed: a missing kind would be looked for again for minutes.

`pod`, `deployment` and `statefulset` are listed as in a stock installation: they act only on objects that
name a queue, or are owned by one that does.
"""

from __future__ import annotations

from typing import Any

from tonnage.sandbox.controllers.controller import Controller, Place

_SYSTEM_NAMESPACES = ("kube-system", "kueue-system")
_ALWAYS_PRESENT = ("batch/job", "pod", "deployment", "statefulset")


def _settings(place: Place) -> dict[str, Any]:
    return {
        "apiVersion": "config.kueue.x-k8s.io/v1beta2",
        "kind": "Configuration",
        "namespace": KUEUE.namespace,
        "leaderElection": {"leaderElect": False},
        "webhook": {
            "host": "127.0.0.1",
            "port": place.webhook_port,
            "certDir": str(place.certificates),
        },
        "health": {"healthProbeBindAddress": f"127.0.0.1:{place.health_port}"},
        "metrics": {
            "bindAddress": f"127.0.0.1:{place.metrics_port}",
            "enableClusterQueueResources": True,
        },
        "internalCertManagement": {
            "enable": True,
            "webhookServiceName": "kueue-webhook-service",
            "webhookSecretName": KUEUE.certificate_secret,
        },
        "visibilityServer": {"bindAddress": "127.0.0.1", "bindPort": place.extra_port},
        "clientConnection": {"qps": 300, "burst": 500},
        "managedJobsNamespaceSelector": {
            "matchExpressions": [
                {
                    "key": "kubernetes.io/metadata.name",
                    "operator": "NotIn",
                    "values": list(_SYSTEM_NAMESPACES),
                }
            ]
        },
        "integrations": {"frameworks": [*_ALWAYS_PRESENT, *place.frameworks]},
    }


def visibility_manifests(port: int) -> list[dict[str, Any]]:
    """Make `/apis/visibility.kueue.x-k8s.io` lead to a server on this machine's loopback."""
    service = {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": "visibility-server", "namespace": KUEUE.namespace},
        "spec": {
            "type": "ExternalName",
            "externalName": "localhost",
            "ports": [{"name": "https", "port": port, "protocol": "TCP"}],
        },
    }
    return [service, *(_visibility_api(version, port) for version in ("v1beta1", "v1beta2"))]


def _visibility_api(version: str, port: int) -> dict[str, Any]:
    group = "visibility.kueue.x-k8s.io"
    return {
        "apiVersion": "apiregistration.k8s.io/v1",
        "kind": "APIService",
        "metadata": {"name": f"{version}.{group}"},
        "spec": {
            "group": group,
            "version": version,
            "groupPriorityMinimum": 100,
            "versionPriority": 100,
            # The server's certificate is made in memory at each start; it listens on loopback only.
            "insecureSkipTLSVerify": True,
            "service": {"name": "visibility-server", "namespace": KUEUE.namespace, "port": port},
        },
    }


KUEUE = Controller(
    name="kueue",
    title="Kueue",
    version="v0.19.2",
    does="queues, quotas and preemption between teams",
    module="sigs.k8s.io/kueue",
    package="sigs.k8s.io/kueue/cmd/kueue",
    module_folder="kueue",
    link_flags="-X sigs.k8s.io/kueue/pkg/visibility.certDir=",
    build_seconds=400,
    manifests={"crds": "config/components/crd", "webhooks": "config/components/webhook"},
    namespace="kueue-system",
    webhook_prefix="kueue-",
    certificate_secret="kueue-webhook-server-cert",
    ca_name="kueue-ca",
    service="kueue-webhook-service.kueue-system.svc",
    settings=_settings,
    arguments=lambda place: place.usual_arguments("kueue"),
)
