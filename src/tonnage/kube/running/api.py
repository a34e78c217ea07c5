"""The calls a run needs of its API server, by what they are about: objects, pods, logs, the agents' port.

Each is tried once (reads of objects patiently, by the client): whoever looks again in a second needs no retries, and
whoever writes must know that it may be repeated.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tonnage.errors import TonnageError
from tonnage.kube.applying import Applier
from tonnage.kube.client import KubeClient
from tonnage.kube.failing import Asked, NotFoundError, NotInstalledError
from tonnage.kube.running.log_lines import written_second

Object = dict[str, Any]
PROXY_SECONDS = 3.0
"""How long a pod may take to answer through the proxy: some control planes cannot reach pods at all."""
MERGE = "application/merge-patch+json"
STRATEGIC = "application/strategic-merge-patch+json"


@dataclass(frozen=True, slots=True)
class Ref:
    """One object by its kind and name."""

    api_version: str
    kind: str
    name: str

    @classmethod
    def of(cls, manifest: Mapping[str, Any]) -> Ref:
        return cls(manifest["apiVersion"], manifest["kind"], manifest["metadata"]["name"])


class RunApi:
    """One namespace of one cluster."""

    def __init__(self, client: KubeClient, namespace: str) -> None:
        self.client, self.namespace = client, namespace
        self._applier = Applier(client)

    def apply(self, manifest: Mapping[str, Any], *, force: bool = False, dry_run: bool = False) -> Object:
        """Server-side apply under our field manager: may be repeated."""
        return self._applier.apply(manifest, force=force, dry_run=dry_run)

    def get(self, ref: Ref) -> Object | None:
        path, asked = self._path(ref, "get")
        try:
            found: Object = self.client.get_json(path, asked)
        except (NotFoundError, NotInstalledError):
            return None
        return found

    def patch(
        self, ref: Ref, body: Mapping[str, Any], *, kind: str = MERGE, subresource: str = ""
    ) -> Object | None:
        """Change some fields; None where the object is gone."""
        path, asked = self._path(ref, "patch", subresource)
        try:
            answer = self.client.send("PATCH", path, asked, body=body, content_type=kind)
        except NotFoundError:
            return None
        found: Object = json.loads(answer)
        return found

    def create(self, manifest: Mapping[str, Any]) -> Object:
        path, asked = self._path(Ref.of(manifest), "create")
        answer: Object = json.loads(
            self.client.send("POST", path.rpartition("/")[0], asked, body=dict(manifest))
        )
        return answer

    def replace(self, manifest: Mapping[str, Any]) -> Object:
        """Write the whole object; refused where somebody wrote it since it was read."""
        path, asked = self._path(Ref.of(manifest), "update")
        answer: Object = json.loads(self.client.send("PUT", path, asked, body=dict(manifest)))
        return answer

    def delete(self, ref: Ref, *, grace: int | None = None, propagation: str = "Background") -> None:
        """Delete an object; one that is gone already is fine."""
        path, asked = self._path(ref, "delete")
        options: Object = {"apiVersion": "v1", "kind": "DeleteOptions", "propagationPolicy": propagation}
        if grace is not None:
            options["gracePeriodSeconds"] = grace
        try:
            self.client.send("DELETE", path, asked, body=options)
        except (NotFoundError, NotInstalledError):
            return

    def objects(self, api_version: str, kind: str, *, labels: str = "", fields: str = "") -> list[Object]:
        """Objects of a kind here; none where the cluster does not know the kind."""
        params = {"limit": "500"}
        if labels:
            params["labelSelector"] = labels
        if fields:
            params["fieldSelector"] = fields
        try:
            path, asked = self._path(Ref(api_version, kind, ""), "list")
        except NotInstalledError:
            return []
        found: list[Object] = []
        while True:
            page = json.loads(self.client.get(path, asked, params))
            found += page.get("items") or ()
            token = page.get("metadata", {}).get("continue", "")
            if not token:
                break
            params["continue"] = token
        return [{"apiVersion": api_version, "kind": kind, **item} for item in found]

    def pods(self, labels: Mapping[str, str]) -> Sequence[Object]:
        return self.objects("v1", "Pod", labels=",".join(f"{key}={value}" for key, value in labels.items()))

    def events_about(self, name: str, kind: str = "") -> list[Object]:
        fields = f"involvedObject.name={name}" + (f",involvedObject.kind={kind}" if kind else "")
        return self.objects("v1", "Event", fields=fields)

    def log(
        self,
        pod: str,
        container: str,
        *,
        tail: int | None = None,
        previous: bool = False,
        most: int = 2**20,
        after: int | None = None,
    ) -> str:
        """The end of what a container printed; empty where there is nothing (yet, or any more).

        With `after` (nanoseconds since 1970) from that second on, each line with its time before it.
        """
        params = {"container": container, "limitBytes": str(most)}
        if tail is not None:
            params["tailLines"] = str(tail)
        if previous:
            params["previous"] = "true"
        if after is not None:
            params["timestamps"] = "true"
        if after:
            params["sinceTime"] = written_second(after)
        path, _ = self._path(Ref("v1", "Pod", pod), "get")
        asked = Asked("get", "pods/log", "", self.namespace, pod)
        try:
            return self.client.send("GET", f"{path}/log", asked, params=params).decode(errors="replace")
        except TonnageError as error:
            if error.problem.code in ("KUBE-061", "KUBE-041", "KUBE-040"):
                return ""  # it has not started, or was never restarted
            raise

    def from_agent(self, pod: str, port: int, page: str) -> str:
        """A page of the agent's port, through the API server's proxy: only it can reach pods from everywhere."""
        path = f"/api/v1/namespaces/{self.namespace}/pods/{pod}:{port}/proxy/{page}"
        asked = Asked("get", "pods/proxy", "", self.namespace, pod)
        return self.client.send("GET", path, asked, seconds=PROXY_SECONDS).decode(errors="replace")

    def ask_agent(self, pod: str, port: int, page: str) -> None:
        """Ask an agent for something: the same way, by POST."""
        path = f"/api/v1/namespaces/{self.namespace}/pods/{pod}:{port}/proxy/{page}"
        asked = Asked("create", "pods/proxy", "", self.namespace, pod)
        self.client.send("POST", path, asked, seconds=PROXY_SECONDS)

    def node(self, name: str) -> Object | None:
        return self.get(Ref("v1", "Node", name))

    def _path(self, ref: Ref, verb: str, subresource: str = "") -> tuple[str, Asked]:
        place = self._applier.place_of(ref.api_version, ref.kind)
        root = f"/apis/{ref.api_version}" if place.group else f"/api/{ref.api_version}"
        namespace = self.namespace if place.namespaced else ""
        path = root + (f"/namespaces/{namespace}" if namespace else "") + f"/{place.plural}"
        path += (f"/{ref.name}" if ref.name else "") + (f"/{subresource}" if subresource else "")
        resource = f"{place.plural}/{subresource}" if subresource else place.plural
        return path, Asked(verb, resource, place.group, namespace, ref.name)
