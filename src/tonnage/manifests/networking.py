"""How the pods of a run are reached: by name from each other, on one port from monitoring, and not otherwise."""

from __future__ import annotations

from typing import Any

from tonnage.manifests.naming import labels_of, selector_of
from tonnage.manifests.pods.wiring import ports_of
from tonnage.manifests.reading_nodes import SCRAPER_LABEL, SCRAPERS
from tonnage.manifests.request import Manifest, RenderRequest

NAMESPACE = "kubernetes.io/metadata.name"
TUNNEL = "kube-system"
"""Where managed clusters run the pods through which their API server reaches others (konnectivity): our supervisor
reads the agents that way."""


def headless_service(request: RenderRequest, name: str, namespace: str) -> Manifest:
    """Names for the pods before they are ready: a rank looks for the others long before it can be called ready."""
    ports = ports_of(request.run)
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": name, "namespace": namespace, "labels": labels_of(request)},
        "spec": {
            "clusterIP": "None",
            "publishNotReadyAddresses": True,
            "selector": selector_of(request),
            "ports": [
                {"name": "ranks", "port": ports.master, "protocol": "TCP"},
                {"name": "peers", "port": ports.peers, "protocol": "TCP"},
                {"name": "metrics", "port": ports.metrics, "protocol": "TCP"},
            ],
        },
    }


def network_policy(request: RenderRequest, name: str, namespace: str) -> list[Manifest]:
    """Who may connect: the ranks of this attempt to any port, monitoring to that of the metrics, and nobody else.

    What goes out is not touched.
    """
    isolation = request.run.spec.network.isolation
    if isolation == "none":
        return []
    peers: dict[str, Any] = {"podSelector": {"matchLabels": selector_of(request)}}
    if isolation == "namespace":
        peers = {"podSelector": {}}
    metrics = [{"port": ports_of(request.run).metrics, "protocol": "TCP"}]
    policy = {
        "apiVersion": "networking.k8s.io/v1",
        "kind": "NetworkPolicy",
        "metadata": {"name": name, "namespace": namespace, "labels": labels_of(request)},
        "spec": {
            "podSelector": {"matchLabels": selector_of(request)},
            "policyTypes": ["Ingress"],
            "ingress": [{"from": [peers]}, {"from": _scrapers(request), "ports": metrics}],
        },
    }
    return [policy]


def notes_on_network(request: RenderRequest) -> list[str]:
    """What a policy cannot do."""
    network = request.run.spec.network
    if network.isolation == "none" or not network.host_network:
        return []
    return [
        "network.hostNetwork: the node's network is outside of NetworkPolicies; anyone who reaches the node may connect"
    ]


def _scrapers(request: RenderRequest) -> list[dict[str, Any]]:
    """Where monitoring is known, its namespaces; else what calls itself a scraper, wherever it runs."""
    names = list(dict.fromkeys([*request.facts.monitoring, TUNNEL]))
    found: list[dict[str, Any]] = [
        {"namespaceSelector": {"matchLabels": {NAMESPACE: name}}} for name in names
    ]
    if not request.facts.monitoring:
        scraping = {"key": SCRAPER_LABEL, "operator": "In", "values": list(SCRAPERS)}
        found.append({"namespaceSelector": {}, "podSelector": {"matchExpressions": [scraping]}})
    return found
