"""Code onto a volume: in pieces, each a ConfigMap, put together by a small pod that mounts the volume.

For archives that are too large for one ConfigMap, where the run names a claim and no bucket. The pod checks the hash
before the archive gets its name, so that what is there is whole; pieces go with the pod.
"""

from __future__ import annotations

import base64
import time
from typing import Any

from tonnage.errors import Problem, RefusedError
from tonnage.kube.running import reading
from tonnage.kube.running.api import Object, Ref, RunApi
from tonnage.kube.running.states import stuck_reason

PIECE_BYTES = 900 * 1024
SECONDS = 300
_JOIN = """\
import glob, hashlib, os, sys
target, expected = sys.argv[1:]
if os.path.exists(target) and hashlib.sha256(open(target, "rb").read()).hexdigest() == expected:
    sys.exit(0)
content = b"".join(open(piece, "rb").read() for piece in sorted(glob.glob("/pieces/*/piece")))
found = hashlib.sha256(content).hexdigest()
if found != expected:
    sys.exit(f"pieces do not add up: sha256 {found}, expected {expected}")
os.makedirs(os.path.dirname(target), exist_ok=True)
with open(target + ".part", "wb") as file:
    file.write(content)
    file.flush()
    os.fsync(file.fileno())
os.replace(target + ".part", target)
"""


def carry(
    api: RunApi, content: bytes, *, digest: str, claim: str, path: str, image: str, labels: dict[str, str]
) -> None:
    """Put the archive onto the claim under `path`; raise RefusedError where that does not work."""
    name = f"tonnage-carry-{digest[:10]}"
    pieces = [content[at : at + PIECE_BYTES] for at in range(0, len(content), PIECE_BYTES)]
    pod = _pod(
        api.namespace, name, len(pieces), claim=claim, path=path, digest=digest, image=image, labels=labels
    )
    ref = Ref.of(pod)
    api.delete(ref, grace=0)
    _await_gone(api, ref)
    try:
        made = api.apply(pod)
        owner = {"apiVersion": "v1", "kind": "Pod", "name": name, "uid": reading.uid_of(made)}
        for index, piece in enumerate(pieces):
            api.apply(_piece(api.namespace, f"{name}-{index:03}", piece, owner, labels), force=True)
        _await_done(api, ref, claim)
    finally:
        api.delete(ref, grace=0)


def _pod(
    namespace: str,
    name: str,
    pieces: int,
    *,
    claim: str,
    path: str,
    digest: str,
    image: str,
    labels: dict[str, str],
) -> Object:
    mounts: list[dict[str, Any]] = [{"name": "target", "mountPath": "/target"}]
    volumes: list[dict[str, Any]] = [{"name": "target", "persistentVolumeClaim": {"claimName": claim}}]
    for index in range(pieces):
        mounts.append({"name": f"piece-{index:03}", "mountPath": f"/pieces/{index:03}"})
        volumes.append({"name": f"piece-{index:03}", "configMap": {"name": f"{name}-{index:03}"}})
    small = {"cpu": "100m", "memory": "256Mi"}
    container = {
        "name": "carry",
        "image": image,
        "command": ["python3", "-c", _JOIN, f"/target/{path}", digest],
        "volumeMounts": mounts,
        "resources": {"requests": small, "limits": small},
        "terminationMessagePolicy": "FallbackToLogsOnError",
    }
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": namespace, "labels": labels},
        "spec": {
            "containers": [container],
            "volumes": volumes,
            "restartPolicy": "Never",
            "activeDeadlineSeconds": SECONDS,
            "automountServiceAccountToken": False,
        },
    }


def _piece(
    namespace: str, name: str, content: bytes, owner: dict[str, Any], labels: dict[str, str]
) -> Object:
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": name, "namespace": namespace, "labels": labels, "ownerReferences": [owner]},
        "binaryData": {"piece": base64.b64encode(content).decode()},
    }


def _await_done(api: RunApi, ref: Ref, claim: str) -> None:
    give_up, last = time.monotonic() + SECONDS, "it never started"
    while time.monotonic() < give_up:
        pod = api.get(ref)
        if pod is None:
            break
        phase = reading.status(pod).get("phase")
        if phase == "Succeeded":
            return
        ended = (reading.main_status(pod).get("state") or {}).get("terminated") or {}
        if phase == "Failed":
            last = str(ended.get("message") or reading.status(pod).get("message") or "it failed")
            break
        last = stuck_reason(pod) or last
        time.sleep(0.5)
    what = f"the code cannot be carried to pvc/{claim}: {' '.join(last.split())}"
    hint = "save to a bucket, leave data out with .tonnageignore, or build the code into the image"
    raise RefusedError(Problem(code="CODE-007", what=what, where="spec.code", hint=hint))


def _await_gone(api: RunApi, ref: Ref) -> None:
    for _ in range(60):
        if api.get(ref) is None:
            return
        time.sleep(0.5)
