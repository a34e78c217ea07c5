"""What is brought into an image that knows nothing of us: the agent from a ConfigMap, the working folder by an init
container.

The agent's ConfigMap is named after its content and never changes, so all runs of a namespace share one, and two
versions of Tonnage do not disturb each other. The folder arrives as an archive whose hash is checked before it is
unpacked: a retry days later runs the same code or none.
"""

from __future__ import annotations

import base64
from typing import Any

from tonnage.manifests.amounts import Amounts
from tonnage.manifests.naming import digest
from tonnage.manifests.pods.commands import AGENT_FILE, AGENT_FOLDER
from tonnage.manifests.request import CodeDelivery, Manifest, RenderRequest

AGENT_VOLUME = "tonnage-agent"
CODE_VOLUME = "tonnage-code"
ARCHIVE_VOLUME = "tonnage-archive"
ARCHIVE_FOLDER = "/tonnage-archive"
UNPACKER = "tonnage-code"
_UNPACK = """\
import hashlib, io, sys, tarfile, urllib.request
source, folder, expected = sys.argv[1:]
if source.startswith(("http://", "https://")):
    content = urllib.request.urlopen(source, timeout=300).read()
else:
    with open(source, "rb") as file:
        content = file.read()
found = hashlib.sha256(content).hexdigest()
if found != expected:
    sys.exit(f"the code is not what was shipped: sha256 {found}, expected {expected}")
with tarfile.open(fileobj=io.BytesIO(content)) as archive:
    archive.extractall(folder, **({"filter": "data"} if hasattr(tarfile, "data_filter") else {}))
"""
_UNPACK_BY_SHELL = 'echo "$3  $1" | sha256sum -c - && tar -xzf "$1" -C "$2"'


def agent_name(archive: bytes) -> str:
    """Name of the ConfigMap that holds this version of the agent."""
    return f"tonnage-agent-{digest(archive)[:10]}"


def agent_config_map(request: RenderRequest, namespace: str) -> list[Manifest]:
    """The agent, where it is wanted; the same for every run of the namespace."""
    if request.agent is None or not is_watched(request):
        return []
    return [
        {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {
                "name": agent_name(request.agent),
                "namespace": namespace,
                "labels": {
                    "app.kubernetes.io/name": "tonnage-agent",
                    "app.kubernetes.io/managed-by": "tonnage",
                },
            },
            "immutable": True,
            "binaryData": {AGENT_FILE: base64.b64encode(request.agent).decode()},
        }
    ]


def is_watched(request: RenderRequest) -> bool:
    """Whether the agent wraps the command: there is one, a command to wrap, and a Python to run it."""
    return request.agent is not None and request.has_python and bool(request.run.spec.command)


def why_not_watched(request: RenderRequest) -> list[str]:
    """What is lost where the agent does not come along."""
    lost = "no samples, no record of the last moments, no deadline or budget kept inside the pod"
    if is_watched(request):
        return []
    if not request.has_python:
        return [f"the image has no Python 3.9 or newer: the plain command runs; {lost}"]
    if not request.run.spec.command:
        return [f"the document names no command, and an image's own entry point cannot be wrapped: {lost}"]
    return [f"the agent was left out: {lost}"]


def deliver_agent(pod: dict[str, Any], container: dict[str, Any], request: RenderRequest) -> None:
    """The agent's archive, mounted read-only."""
    if request.agent is None or not is_watched(request):
        return
    items = [{"key": AGENT_FILE, "path": AGENT_FILE}]
    source = {"name": agent_name(request.agent), "items": items}
    pod["volumes"].append({"name": AGENT_VOLUME, "configMap": source})
    container["volumeMounts"].append({"name": AGENT_VOLUME, "mountPath": AGENT_FOLDER, "readOnly": True})


def deliver_code(
    pod: dict[str, Any], container: dict[str, Any], request: RenderRequest, amounts: Amounts
) -> None:
    """The working folder, unpacked before the trainer starts; the command runs in it."""
    code = request.code
    if code is None:
        return
    pod["volumes"].append({"name": CODE_VOLUME, "emptyDir": {}})
    place = {"name": CODE_VOLUME, "mountPath": code.mount}
    container["volumeMounts"].append(place)
    container["workingDir"] = code.mount
    mounts: list[dict[str, Any]] = [dict(place)]
    source = code.url
    if not source:
        volume, source = _archive(code)
        pod["volumes"].append(volume)
        mounts.append({"name": ARCHIVE_VOLUME, "mountPath": ARCHIVE_FOLDER, "readOnly": True})
    unpacker = {
        "name": UNPACKER,
        "image": container["image"],
        "command": _unpacking(request, [source, code.mount, code.digest]),
        "resources": amounts.small(),
        "volumeMounts": mounts,
        "terminationMessagePolicy": "FallbackToLogsOnError",
    }
    pod["initContainers"] = [*pod.get("initContainers", []), unpacker]


def _archive(code: CodeDelivery) -> tuple[dict[str, Any], str]:
    if code.config_map:
        source = {"name": code.config_map, "items": [{"key": code.key, "path": code.key}]}
        return {"name": ARCHIVE_VOLUME, "configMap": source}, f"{ARCHIVE_FOLDER}/{code.key}"
    claim = {"claimName": code.claim}
    return {
        "name": ARCHIVE_VOLUME,
        "persistentVolumeClaim": claim,
    }, f"{ARCHIVE_FOLDER}/{code.path.lstrip('/')}"


def _unpacking(request: RenderRequest, arguments: list[str]) -> list[str]:
    if request.has_python:
        return ["python3", "-c", _UNPACK, *arguments]
    return ["sh", "-c", _UNPACK_BY_SHELL, "unpack", *arguments]
