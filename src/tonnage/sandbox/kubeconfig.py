"""Kubeconfig files for a sandbox's components and its user: certificates inside, so they can be copied."""

from __future__ import annotations

import base64
import json
import os
from pathlib import Path

from tonnage.sandbox.pki import Pair


def write_kubeconfig(
    path: Path, *, server: str, ca: Path, pair: Pair, user: str, cluster: str = "tonnage"
) -> Path:
    """Write a kubeconfig with one cluster, one user and one context; JSON is YAML, and readable by both."""
    content = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [
            {"name": cluster, "cluster": {"server": server, "certificate-authority-data": _data(ca)}}
        ],
        "users": [
            {
                "name": user,
                "user": {"client-certificate-data": _data(pair.cert), "client-key-data": _data(pair.key)},
            }
        ],
        "contexts": [{"name": cluster, "context": {"cluster": cluster, "user": user}}],
        "current-context": cluster,
    }
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
    with os.fdopen(descriptor, "w") as file:
        json.dump(content, file, indent=1)
    return path


def _data(path: Path) -> str:
    return base64.b64encode(path.read_bytes()).decode()
