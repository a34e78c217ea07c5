"""What `tonnage sandbox status` says: each sandbox, whether its parts run, and where to point kubectl."""

from __future__ import annotations

import textwrap
from http.client import HTTPException
from typing import Any

from tonnage.sandbox import state
from tonnage.sandbox.api import ApiError
from tonnage.sandbox.lifecycle import PARTS, broken_parts
from tonnage.sandbox.locking import try_locked
from tonnage.sandbox.places import Places
from tonnage.sandbox.processes import pid_of
from tonnage.sandbox.request import check_name
from tonnage.sandbox.state import READY, Sandbox


def report_all(name: str | None = None) -> list[dict[str, Any]]:
    """One report per sandbox, or only the one of that name."""
    if name is not None:
        check_name(name)
    wanted = [found for found in state.names() if name in (None, found)]
    return [_report(found) for found in wanted]


def report_text(reports: list[dict[str, Any]]) -> str:
    """The same for people: verdict first, then what decides it."""
    if not reports:
        return "no sandbox; start one with: tonnage sandbox up"
    return "\n\n".join(_as_text(report) for report in reports)


def _report(name: str) -> dict[str, Any]:
    sandbox = state.load(name)
    if sandbox is None or "apiserver" not in sandbox.ports:
        return {"name": name, "state": _unfinished(Places.of(name))}
    parts = _parts(sandbox)
    report: dict[str, Any] = {
        "name": name,
        "state": _state(sandbox),
        "server": sandbox.server,
        "kubeconfig": str(sandbox.kubeconfig),
        "parts": parts,
        "nodes": {"simulated": 0, "real": 0, "ready": 0},
    }
    if report["state"] == "running":
        try:
            report["nodes"] = _nodes(sandbox)
        except (ApiError, OSError, HTTPException):
            report["state"] = "not answering"
    return report


def _state(sandbox: Sandbox) -> str:
    if sandbox.phase != READY:
        return _unfinished(sandbox.places)
    return "broken" if broken_parts(sandbox) else "running"


def _unfinished(places: Places) -> str:
    """Whoever starts a sandbox holds its folder; one nobody holds was left by a start that was killed."""
    with try_locked(places.root) as is_free:
        return "half made" if is_free else "starting"


def _parts(sandbox: Sandbox) -> dict[str, int | None]:
    """Process id of every part by name, nothing for those that do not run."""
    started = [entry.id for entry in sandbox.ledger.entries() if entry.kind == "process"]
    return {name: pid_of(sandbox.ledger, name) for name in dict.fromkeys([*PARTS, *started])}


def _nodes(sandbox: Sandbox) -> dict[str, int]:
    nodes = sandbox.api.list("/api/v1/nodes?resourceVersion=0")
    fake = [node for node in nodes if "kwok.x-k8s.io/node" in node["metadata"].get("annotations", {})]
    ready = [
        node
        for node in nodes
        if any(c["type"] == "Ready" and c["status"] == "True" for c in node["status"].get("conditions") or [])
    ]
    return {"simulated": len(fake), "real": len(nodes) - len(fake), "ready": len(ready)}


def _as_text(report: dict[str, Any]) -> str:
    name, verdict = report["name"], report["state"]
    if verdict == "starting":
        return f"{name}   being started by another command"
    if verdict != "running":
        dead = [part for part, pid in report.get("parts", {}).items() if pid is None]
        why = f": not running {', '.join(dead)}" if dead and verdict == "broken" else ""
        return f"{name}   {verdict}{why}\n  remove it with: tonnage sandbox down --name {name}"
    nodes = report["nodes"]
    return "\n".join(
        [
            f"{name}   running at {report['server']}",
            f"  nodes       {nodes['ready']} ready of {nodes['simulated']} simulated + {nodes['real']} real",
            *_wrapped("parts", ", ".join(report["parts"])),
            f"  kubeconfig  {report['kubeconfig']}",
        ]
    )


def _wrapped(subject: str, text: str) -> list[str]:
    return textwrap.wrap(text, 80, initial_indent=f"  {subject:<12}", subsequent_indent=" " * 14)
