"""Bring the chosen controllers up in a running sandbox, webhooks on.

The order is what makes it work (each step was once the reason why something hung):

1. every definition of every controller, accepted by the API server: Kueue looks for kinds once, Trainer ends
   without them;
2. namespaces, certificate secrets, webhook configurations;
3. all controllers at once, each restarted whenever it ends;
4. `/readyz` of each, which includes its webhook server;
5. what needs working webhooks: Trainer's runtimes, Kueue's visibility API, queues to submit to.
"""

from __future__ import annotations

import datetime as dt
import json
import shutil
import time
import urllib.error
import urllib.request
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import TYPE_CHECKING

from tonnage.errors import EnvironmentProblem, Problem
from tonnage.sandbox import processes
from tonnage.sandbox.api import ApiError
from tonnage.sandbox.controllers import manifests
from tonnage.sandbox.controllers.catalogue import choose, implied
from tonnage.sandbox.controllers.certificates import WebhookCertificates, make_webhook_certificates
from tonnage.sandbox.controllers.controller import Controller, Place
from tonnage.sandbox.controllers.isolating import require_private_tmp, with_private_tmp
from tonnage.sandbox.controllers.kueue import KUEUE, visibility_manifests
from tonnage.sandbox.controllers.manifests import Document
from tonnage.sandbox.controllers.queues import queues_for
from tonnage.sandbox.controllers.rendering import Rendered, read_manifests
from tonnage.sandbox.controllers.trainer import TRAINER

if TYPE_CHECKING:
    from tonnage.sandbox.showing import Show
    from tonnage.sandbox.state import Sandbox

# Usually a second or two each; a machine busy with other things may take very much longer.
_DEFINED_SECONDS = 180
_READY_SECONDS = 180
_WEBHOOK_RETRY_SECONDS = 60
_AWAITED = {"ClusterQueue": "Active", "APIService": "Available"}
"""The condition that says an object of this kind is in use."""


def start_controllers(sandbox: Sandbox, names: Sequence[str], show: Show) -> None:
    """Start the named controllers and those they need; return when each answers on `/readyz`."""
    rows = choose(names)
    for sentence in implied(names):
        show.line(f"  {sentence}")
    for row in rows:
        if row.private_tmp:
            require_private_tmp(row.title)
    try:
        _bring_up(sandbox, rows, show)
    except (ApiError, TimeoutError) as error:
        raise _not_accepted(sandbox, rows, error) from error


def _bring_up(sandbox: Sandbox, rows: Sequence[Controller], show: Show) -> None:
    kubectl = sandbox.binary("kubectl")
    with ThreadPoolExecutor(max_workers=4) as pool:
        certificates = pool.submit(_certificates, rows)
        rendered = {
            row.name: pool.submit(read_manifests, row, sandbox.binary(row.name), kubectl) for row in rows
        }
        places = _prepare(sandbox, rows, certificates.result())
        documents = {name: future.result() for name, future in rendered.items()}
        num_kinds = _define(sandbox, rows, documents, places, certificates.result())
    show.step("definitions", f"{num_kinds} kinds served, webhooks registered")
    for row in rows:
        _start(sandbox, row, places[row.name])
    for row in rows:
        _wait_until_ready(sandbox, row, places[row.name])
        show.step(row.name, f"{row.version} ready, webhooks on")
    _finish(sandbox, rows, documents, places)


def _certificates(rows: Sequence[Controller]) -> WebhookCertificates:
    return make_webhook_certificates(
        [row.ca_name for row in rows if row.ca_name] or ["tonnage-sandbox"],
        [row.service for row in rows if row.service],
        dt.datetime.now(dt.UTC),
    )


def _prepare(
    sandbox: Sandbox, rows: Sequence[Controller], certificates: WebhookCertificates
) -> dict[str, Place]:
    """Ports for each, and the shared folder with kubeconfig, certificate and settings."""
    folder = sandbox.places.folder("controllers")
    frameworks = tuple(kind for row in rows for kind in row.kueue_frameworks)
    kubeconfig = folder / "kubeconfig"
    shutil.copyfile(sandbox.kubeconfig, kubeconfig)
    kubeconfig.chmod(0o600)
    places = {
        row.name: Place(
            folder=folder,
            kubeconfig=kubeconfig,
            webhook_port=sandbox.port(f"{row.name}-webhook"),
            health_port=sandbox.port(f"{row.name}-health"),
            metrics_port=sandbox.port(f"{row.name}-metrics"),
            extra_port=sandbox.port(f"{row.name}-extra"),
            frameworks=frameworks,
        )
        for row in rows
    }
    for row in rows:
        place = places[row.name]
        place.certificates.mkdir(parents=True, exist_ok=True)
        (place.certificates / "tls.crt").write_bytes(certificates.certificate)
        key = place.certificates / "tls.key"
        key.touch(mode=0o600)
        key.write_bytes(certificates.key)
        if (settings := row.settings(place)) is not None:
            place.configuration(row.name).write_text(json.dumps(settings, indent=2))
    return places


def _define(
    sandbox: Sandbox,
    rows: Sequence[Controller],
    documents: dict[str, Rendered],
    places: dict[str, Place],
    certificates: WebhookCertificates,
) -> int:
    """Definitions first and accepted, then namespaces, secrets and webhooks; return how many kinds."""
    bundle = certificates.ca_bundle
    definitions: list[Document] = []
    others: list[Document] = []
    for row in rows:
        rendered, port = documents[row.name], places[row.name].webhook_port
        definitions += manifests.definitions(rendered["crds"], port, bundle)
        others.append(manifests.namespace(row.namespace))
        if row.certificate_secret:
            others.append(certificates.as_secret(row.namespace, row.certificate_secret))
        others += manifests.webhooks(rendered["webhooks"], row.webhook_prefix, port, bundle)
    # Created rather than applied: they are large, and this sandbox has none of them yet.
    sandbox.api.each(sandbox.api.create, definitions, at_once=4)
    for version, plurals in manifests.served(definitions).items():
        sandbox.api.wait(f"/apis/{version}", partial(_lists, plurals), seconds=_DEFINED_SECONDS)
    sandbox.api.apply(others)
    return len(definitions)


def _lists(wanted: set[str], listed: Document) -> bool:
    """Whether discovery shows these kinds; it does so once their definitions are established."""
    return wanted <= {resource["name"] for resource in listed["resources"]}


def _start(sandbox: Sandbox, row: Controller, place: Place) -> None:
    binary = sandbox.binary(row.name)
    arguments = row.arguments(place)
    command = (
        with_private_tmp(binary, arguments, place.folder) if row.private_tmp else [str(binary), *arguments]
    )
    processes.start(sandbox, row.name, command, tier="controllers", env=row.environment(place), restart=True)


def _wait_until_ready(sandbox: Sandbox, row: Controller, place: Place) -> None:
    def is_ready() -> bool:
        return _is_ready(place.health_port)

    processes.wait_until(sandbox, row.name, is_ready, seconds=_READY_SECONDS, what="answers on /readyz")


def _is_ready(port: int) -> bool:
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/readyz", timeout=2) as answer:
            return bool(answer.status == 200)
    except (urllib.error.URLError, OSError):
        return False


def _finish(
    sandbox: Sandbox, rows: Sequence[Controller], documents: dict[str, Rendered], places: dict[str, Place]
) -> None:
    """What needs the webhooks to answer; return when a job can be submitted."""
    objects: list[Document] = []
    if TRAINER in rows:
        objects += documents[TRAINER.name]["runtimes"]
    if KUEUE in rows:
        objects += visibility_manifests(places[KUEUE.name].extra_port)
        if sandbox.request.snapshot is None:  # a twin brings the queues of the cluster it copies
            objects += queues_for(sandbox.api.list("/api/v1/nodes"))
    if objects:
        _apply_through_webhooks(sandbox, objects)
    for each in objects:
        if condition := _AWAITED.get(each["kind"]):
            sandbox.api.wait(
                sandbox.api.path(each), partial(_has_condition, condition), seconds=_READY_SECONDS
            )


def _apply_through_webhooks(sandbox: Sandbox, objects: list[Document]) -> None:
    """Apply; a webhook that listens but does not answer yet is asked again for a while."""
    deadline = time.monotonic() + _WEBHOOK_RETRY_SECONDS
    while True:
        try:
            sandbox.api.apply(objects)
            return
        except ApiError as error:
            if "failed calling webhook" not in error.message or time.monotonic() > deadline:
                raise
            time.sleep(0.3)


def _has_condition(condition: str, item: Document) -> bool:
    found = item.get("status", {}).get("conditions") or []
    return any(each["type"] == condition and each["status"] == "True" for each in found)


def _not_accepted(sandbox: Sandbox, rows: Sequence[Controller], error: Exception) -> EnvironmentProblem:
    return EnvironmentProblem(
        Problem(
            code="BOX-213",
            what=f"{', '.join(row.title for row in rows)} could not be set up in sandbox {sandbox.name!r}",
            found=str(error),
            expected="the API server takes their definitions, webhooks and first objects",
            hint="a machine that is very busy may only need more time: try again, or with fewer controllers",
        )
    )
