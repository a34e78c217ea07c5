"""Thousands of different pods and nodes from one recorded of each.

The recorded objects (pod.json, node.json) come from a sandbox as its API server wrote them,
field-management records included. Whatever differs between pods of a real cluster differs here too: names,
uids, addresses, times and versions per pod; images, sizes and environments per job.
"""

from __future__ import annotations

import datetime as dt
import json
import re
import uuid
from collections.abc import Mapping
from pathlib import Path

PODS_PER_JOB = 40
PODS_PER_NODE = 30
TEAMS = 60
START = dt.datetime(2026, 11, 1, tzinfo=dt.UTC)
_HERE = Path(__file__).parent
_TIME = re.compile(r'"20\d\d-\d\d-\d\dT\d\d:\d\d:\d\dZ"')
_MARK = re.compile(r"@([A-Z]+)@")


class Template:
    """JSON with marks, cut once into pieces that are joined quickly."""

    def __init__(self, text: str) -> None:
        parts = _MARK.split(text)
        self._pieces = [part.encode() for part in parts[::2]]
        self._marks = parts[1::2]

    def fill(self, values: Mapping[str, str]) -> bytes:
        """The JSON with its marks replaced."""
        out = [self._pieces[0]]
        for mark, piece in zip(self._marks, self._pieces[1:], strict=True):
            out.append(values[mark].encode())
            out.append(piece)
        return b"".join(out)


def pod_template() -> Template:
    """The recorded pod, marked where pods differ."""
    pod = json.loads((_HERE / "pod.json").read_text())
    meta, job = pod["metadata"], pod["metadata"]["labels"]["batch.kubernetes.io/job-name"]
    owner = meta["ownerReferences"][0]["uid"]
    text = json.dumps(pod, separators=(",", ":"))
    text = _TIME.sub('"@TIME@"', text)
    for old, mark in (
        (meta["name"], "@NAME@"),
        (meta["uid"], "@UID@"),
        (owner, "@OWNER@"),
        (job, "@JOB@"),
        (f'"namespace":"{meta["namespace"]}"', '"namespace":"@TEAM@"'),
        (f'"resourceVersion":"{meta["resourceVersion"]}"', '"resourceVersion":"@VERSION@"'),
        (pod["spec"]["nodeName"], "@NODE@"),
        (pod["status"]["podIP"], "@ADDRESS@"),
        ("2026-11-01", "@IMAGE@"),
        ("256Gi", "@MEMORY@"),
        ('"restartCount":0', '"restartCount":@RESTARTS@'),
        ("0a1b2c3d4e5f", "@PLAN@"),
    ):
        if old not in text:
            raise ValueError(f"the recorded pod has no {old!r} to vary")
        text = text.replace(old, mark)
    return Template(text)


def node_template() -> Template:
    """The recorded node, marked where nodes differ."""
    node = json.loads((_HERE / "node.json").read_text())
    meta = node["metadata"]
    text = json.dumps(node, separators=(",", ":"))
    text = _TIME.sub('"@TIME@"', text)
    text = text.replace(meta["name"], "@NAME@").replace(meta["uid"], "@UID@")
    text = text.replace(f'"resourceVersion":"{meta["resourceVersion"]}"', '"resourceVersion":"@VERSION@"')
    return Template(text)


def pod_values(index: int, life: int, version: int, restarts: int) -> dict[str, str]:
    """What one pod says; `life` counts how often its place was taken by a new pod."""
    job = index // PODS_PER_JOB
    return {
        "NAME": f"run-{job}-{index % PODS_PER_JOB}-{life:05d}",
        "UID": uid_of("pod", index, life),
        "OWNER": uid_of("job", job, 0),
        "JOB": f"run-{job}",
        "TEAM": f"team-{job % TEAMS}",
        "VERSION": str(version),
        "NODE": f"gpu-{index // PODS_PER_NODE}",
        "ADDRESS": f"10.{index >> 16 & 255}.{index >> 8 & 255}.{index & 255}",
        "IMAGE": f"2026-10-{job % 28 + 1:02d}-{job}",
        "MEMORY": f"{64 + job % 400}Gi",
        "RESTARTS": str(restarts),
        "PLAN": f"{job:012x}",
        "TIME": (START + dt.timedelta(seconds=index * 7 + life)).strftime("%Y-%m-%dT%H:%M:%SZ"),
    }


def node_values(index: int, version: int) -> dict[str, str]:
    """What one node says."""
    return {
        "NAME": f"gpu-{index}",
        "UID": uid_of("node", index, 0),
        "VERSION": str(version),
        "TIME": (START + dt.timedelta(seconds=index)).strftime("%Y-%m-%dT%H:%M:%SZ"),
    }


def uid_of(kind: str, index: int, life: int) -> str:
    """A uid that looks like one and can be computed again."""
    code = {"pod": 1, "job": 2, "node": 3}[kind]
    return str(uuid.UUID(int=(code << 100) | (index << 40) | (4 << 76) | life))
