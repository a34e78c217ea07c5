"""The controllers' own manifests, changed only where a plain process differs from a pod.

A controller that runs as a process has no Service in front of it.
So every webhook is called by address instead: `clientConfig.service` becomes `url` with our authority,
in the webhook configurations and in the conversion stanza of CustomResourceDefinitions.
Rules, selectors, failure policies, schemas and names stay what upstream ships.

Pure: documents in, documents out.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

Document = dict[str, Any]

_WEBHOOK_KINDS = ("MutatingWebhookConfiguration", "ValidatingWebhookConfiguration")


def definitions(documents: Iterable[Document], port: int, ca_bundle: str) -> list[Document]:
    """The CustomResourceDefinitions, their conversion webhooks pointed at this machine."""
    return [
        _with_local_conversion(document, port, ca_bundle)
        for document in documents
        if document["kind"] == "CustomResourceDefinition"
    ]


def webhooks(documents: Iterable[Document], prefix: str, port: int, ca_bundle: str) -> list[Document]:
    """The webhook configurations, pointed at this machine; Services and the rest are dropped."""
    return [
        {
            **document,
            "metadata": {**document["metadata"], "name": prefix + document["metadata"]["name"]},
            "webhooks": [_local(hook, port, ca_bundle) for hook in document["webhooks"]],
        }
        for document in documents
        if document["kind"] in _WEBHOOK_KINDS
    ]


def served(definitions: Iterable[Document]) -> dict[str, set[str]]:
    """What discovery will show once these definitions are established: group/version -> plural names."""
    shown: dict[str, set[str]] = {}
    for definition in definitions:
        spec = definition["spec"]
        for version in spec["versions"]:
            if version["served"]:
                shown.setdefault(f"{spec['group']}/{version['name']}", set()).add(spec["names"]["plural"])
    return shown


def namespace(name: str) -> Document:
    """A namespace that a controller expects to find."""
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}


def _with_local_conversion(document: Document, port: int, ca_bundle: str) -> Document:
    conversion = document["spec"].get("conversion")
    if not conversion or conversion.get("strategy") != "Webhook":
        return document
    webhook = _local(conversion["webhook"], port, ca_bundle)
    return {**document, "spec": {**document["spec"], "conversion": {**conversion, "webhook": webhook}}}


def _local(hook: Document, port: int, ca_bundle: str) -> Document:
    path = hook["clientConfig"]["service"]["path"]
    return {**hook, "clientConfig": {"url": f"https://127.0.0.1:{port}{path}", "caBundle": ca_bundle}}
