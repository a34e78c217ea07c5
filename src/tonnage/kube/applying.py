"""Changing a cluster: server-side apply under our own name, through the Kubernetes library.

Apply says only what we want to own; the API server merges, remembers who owns which field, and refuses to
let us take a field from somebody else unless forced. A dry run goes the whole way through defaulting, quota
and webhooks and stores nothing, which is why it may be believed.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import httpx2
from lightkube import Client
from lightkube.config.kubeconfig import SingleConfig
from lightkube.config.models import Cluster, Context, User
from lightkube.core import resource as library
from lightkube.generic_resource import GenericGlobalResource, GenericNamespacedResource
from lightkube.types import PatchType

from tonnage.cluster.port import FIELD_MANAGER
from tonnage.errors import DocumentError, Problem, RefusedError, TonnageError
from tonnage.kube import failing
from tonnage.kube.client import KubeClient
from tonnage.kube.failing import Asked

_OTHER_MANAGER = re.compile(r'conflicts? with "([^"]+)"')


@dataclass(frozen=True)
class Place:
    """Where a manifest's kind lives in this cluster's API."""

    group: str
    version: str
    kind: str
    plural: str
    namespaced: bool


class Applier:
    """Applies manifests of any kind the cluster knows."""

    def __init__(self, client: KubeClient) -> None:
        self._client = client
        self._places: dict[tuple[str, str], Place] = {}
        self._library = _library_client(client)

    def apply(
        self, manifest: Mapping[str, Any], *, dry_run: bool = False, force: bool = False
    ) -> dict[str, Any]:
        """Create or change an object so that it says what the manifest says."""
        api_version, kind, name = _identity(manifest)
        place = self.place_of(api_version, kind)
        namespace = _namespace(manifest, place, self._client.access.namespace)
        asked = Asked("patch", place.plural, place.group, namespace or "", name)
        try:
            answer = self._library.patch(
                _library_kind(place),
                name,
                dict(manifest),
                namespace=namespace,
                patch_type=PatchType.APPLY,
                field_manager=FIELD_MANAGER,
                force=force,
                dry_run=dry_run,
            )
        except httpx2.HTTPStatusError as error:
            raise _refused(error.response, asked) from error
        except httpx2.HTTPError as error:
            raise failing.from_network(error, self._client.access.server) from error
        result: dict[str, Any] = answer.to_dict()
        return result

    def place_of(self, api_version: str, kind: str) -> Place:
        """Where a kind lives, asked of the cluster once."""
        known = self._places.get((api_version, kind))
        if known is not None:
            return known
        group, _, version = api_version.rpartition("/")
        path = f"/apis/{api_version}" if group else f"/api/{api_version}"
        asked = Asked("get", kind, group)
        resources = self._client.get_json(path, asked).get("resources") or ()
        for resource in resources:
            if resource["kind"] == kind and "/" not in resource["name"]:
                place = Place(group, version, kind, resource["name"], bool(resource["namespaced"]))
                return self._places.setdefault((api_version, kind), place)
        raise failing.from_answer(404, b"", asked)


def _library_client(client: KubeClient) -> Client:
    # Our transport does TLS and logins; what the library would do of that itself is switched off.
    config = SingleConfig(
        context_name=client.access.context,
        context=Context(cluster="tonnage", namespace=client.access.namespace or None),
        cluster=Cluster(server=client.access.server, insecure=True),
        user=User(),
    )
    return Client(config, transport=client.transport, trust_env=False, field_manager=FIELD_MANAGER)


def _library_kind(place: Place) -> Any:
    base = GenericNamespacedResource if place.namespaced else GenericGlobalResource
    info = library.ApiInfo(
        resource=library.ResourceDef(place.group, place.version, place.kind),
        plural=place.plural,
        verbs=["patch"],
    )
    return type(place.kind, (base,), {"_api_info": info})


def _identity(manifest: Mapping[str, Any]) -> tuple[str, str, str]:
    meta = manifest.get("metadata") or {}
    parts = (manifest.get("apiVersion"), manifest.get("kind"), meta.get("name"))
    if not all(isinstance(part, str) and part for part in parts):
        raise DocumentError(
            Problem(
                code="KUBE-063",
                what="a manifest must say what it is",
                found=f"apiVersion {parts[0]!r}, kind {parts[1]!r}, metadata.name {parts[2]!r}",
                expected="all three as texts",
            )
        )
    return str(parts[0]), str(parts[1]), str(parts[2])


def _namespace(manifest: Mapping[str, Any], place: Place, default: str) -> str | None:
    if not place.namespaced:
        return None
    return str((manifest.get("metadata") or {}).get("namespace") or default or "default")


def _refused(response: httpx2.Response, asked: Asked) -> TonnageError:
    status = failing.read_status(response.content)
    causes = (status.get("details") or {}).get("causes") or []
    conflicts = [cause for cause in causes if cause.get("reason") == "FieldManagerConflict"]
    if response.status_code != 409 or not conflicts:
        return failing.from_answer(response.status_code, response.content, asked, headers=response.headers)
    return RefusedError(*(_conflict(cause, asked) for cause in conflicts))


def _conflict(cause: Mapping[str, Any], asked: Asked) -> Problem:
    other = _OTHER_MANAGER.search(str(cause.get("message", "")))
    owner = other[1] if other else "another manager"
    return Problem(
        code="KUBE-060",
        what=f"{cause.get('field')} belongs to {owner}",
        where=f"{asked.resource} {asked.namespace + '/' if asked.namespace else ''}{asked.name}",
        hint=f"leave the field to {owner}, or take it over by force",
    )
