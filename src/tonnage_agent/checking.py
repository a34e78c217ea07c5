"""`check`: what can be known of a run before any GPU is held, asked from inside its image.

Asked with JSON in TONNAGE_CHECKS, answers one JSON object a line:

    {"check": "python", "ok": true, "text": "Python 3.11.2"}

A folder is tried by writing and removing a file, a bucket by an object; an endpoint by a connection. Nothing else is
touched.
"""

from __future__ import annotations

import json
import os
import socket
import sys
import tempfile
import uuid
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import urlsplit

VARIABLE = "TONNAGE_CHECKS"
OLDEST = (3, 9)
SECONDS = 10.0


def check(environment: Mapping[str, str]) -> int:
    """Print what was found; 1 where something is wrong."""
    asked = json.loads(environment.get(VARIABLE, "{}"))
    found = [_python(), *_cuda(environment), *_about(asked, environment)]
    for name, ok, text in found:
        print(json.dumps({"check": name, "ok": ok, "text": text}), flush=True)
    return 0 if all(ok for _, ok, _ in found) else 1


Found = tuple[str, bool, str]
"""What was asked, whether it is fine, and in words."""


def _about(asked: Mapping[str, Any], environment: Mapping[str, str]) -> list[Found]:
    questions: list[tuple[str, Callable[[str], Found]]] = [
        ("folders", _writable),
        ("endpoints", _reachable),
        ("files", _present),
    ]
    found = [answer(str(each)) for name, answer in questions for each in asked.get(name, ())]
    found += [_set(str(name), environment) for name in asked.get("variables", ())]
    if all(
        ok for _, ok, _ in found
    ):  # without its endpoint or its keys nothing is learnt from a bucket but waiting
        found += [_bucket(str(place), environment) for place in asked.get("buckets", ())]
    if asked.get("program"):
        found.append(_program(str(asked["program"]), environment))
    return found


def _python() -> Found:
    version = "{}.{}.{}".format(*sys.version_info[:3])
    ok = sys.version_info[:2] >= OLDEST
    return "python", ok, f"Python {version}" + ("" if ok else "; the agent needs 3.9 or newer")


def _cuda(environment: Mapping[str, str]) -> list[Found]:
    """The image's CUDA, where it says so: whoever asks compares it with the nodes' drivers."""
    version = environment.get("CUDA_VERSION", "")
    return [("cuda", True, version)] if version else []


def _writable(folder: str) -> Found:
    try:
        os.makedirs(folder, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=folder, prefix=".tonnage-check-") as file:
            file.write(b"x")
            file.flush()
    except OSError as error:
        return f"folder {folder}", False, f"cannot be written: {error.strerror or error}"
    return f"folder {folder}", True, "can be written"


def _bucket(place: str, environment: Mapping[str, str]) -> Found:
    from tonnage_agent.keeper.failing import KeeperError
    from tonnage_agent.keeper.s3.client import open_client

    name = f".tonnage-check-{uuid.uuid4().hex}"
    try:
        client = open_client(place, environment)
        client.put(name, b"x")
        client.delete([name])
    except (KeeperError, OSError) as error:
        return f"bucket {place}", False, " ".join(str(error).replace(f"/{name}", "").split())
    return f"bucket {place}", True, "can be written"


def _reachable(address: str) -> Found:
    parts = urlsplit(address if "://" in address else f"//{address}")
    host = parts.hostname or ""
    port = parts.port or (80 if parts.scheme == "http" else 443)
    try:
        with socket.create_connection((host, port), SECONDS):
            return f"endpoint {host}:{port}", True, "answers"
    except OSError as error:
        return f"endpoint {host}:{port}", False, f"cannot be reached: {error.strerror or error}"


def _present(path: str) -> Found:
    ok = os.path.exists(path)
    return f"file {path}", ok, "is there" if ok else "is missing"


def _set(name: str, environment: Mapping[str, str]) -> Found:
    ok = bool(environment.get(name))
    return f"secret {name}", ok, "is set" if ok else "is empty"


def _program(name: str, environment: Mapping[str, str]) -> Found:
    from shutil import which

    found = which(name, path=environment.get("PATH"))
    return f"program {name}", found is not None, found or "is not in the image"
