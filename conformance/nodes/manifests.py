"""Small pods that do one thing: hold memory, fill a disk, end with a code."""

from __future__ import annotations

from typing import Any

Json = dict[str, Any]
IMAGE = "local/python"
TERMINATION_LOG = "/dev/termination-log"


def shell(name: str, script: str, **parts: Any) -> Json:
    """A container that runs a shell script; `requests=`, `limits=`, and any other field."""
    return _container(name, ["sh", "-c", script], parts)


def python(name: str, script: str, **parts: Any) -> Json:
    """A container whose PID 1 is Python."""
    return _container(name, ["python3", "-c", script], parts)


def a_pod(name: str, node: str | None, *containers: Json, **parts: Any) -> Json:
    """A pod bound to the node, never restarted, gone at once when deleted; other spec fields by JSON name."""
    metadata = {"name": name, "labels": {"case": name, **parts.pop("labels", {})}}
    if finalizers := parts.pop("finalizers", None):
        metadata["finalizers"] = finalizers
    spec: Json = {
        "nodeName": node,
        "restartPolicy": "Never",
        "automountServiceAccountToken": False,
        "terminationGracePeriodSeconds": 0,
        "containers": list(containers),
        **parts,
    }
    if spec["nodeName"] is None:
        del spec["nodeName"]
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}


def a_job(name: str, node: str, container: Json, *, restart_policy: str = "Never", **spec: Any) -> Json:
    """A Job of one container on the node; /keep outlives its pods."""
    keep = {"name": "keep", "hostPath": {"path": f"/var/lib/{name}", "type": "DirectoryOrCreate"}}
    container = {**container, "volumeMounts": [{"name": "keep", "mountPath": "/keep"}]}
    template = a_pod("t", node, container, restartPolicy=restart_policy, volumes=[keep])["spec"]
    body = {"template": {"spec": template}, **spec}
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": name}, "spec": body}


def held(mebibytes: int, then: str = "import time; time.sleep(3600)") -> str:
    """Python that touches this much memory and then goes on."""
    return f"x = bytearray({mebibytes} << 20)\nx[::4096] = b'x' * len(x[::4096])\n{then}"


def endless_memory() -> str:
    """Python that takes memory until someone stops it."""
    return "x = []\nwhile True: x.append(bytearray(8 << 20))"


def child_dies_then(exit_code: int) -> str:
    """Python whose child is killed for its memory; PID 1 reports the kernel's counter and ends as told."""
    return f"""
import subprocess, sys, glob
subprocess.run([sys.executable, "-c", {endless_memory()!r}])
for path in glob.glob("/sys/fs/cgroup/memory/memory.oom_control") + glob.glob("/sys/fs/cgroup/memory.events"):
    text = [line for line in open(path) if line.startswith("oom_kill ")]
    open({TERMINATION_LOG!r}, "w").write(text[0].strip())
sys.exit({exit_code})
"""


def filled(path: str, mebibytes: int) -> str:
    """Shell that writes a file of this size and stays."""
    return f"dd if=/dev/zero of={path} bs=1M count={mebibytes} 2>/dev/null; sleep 3600"


def _container(name: str, command: list[str], parts: Json) -> Json:
    resources = {kind: parts.pop(kind) for kind in ("requests", "limits") if kind in parts}
    return {"name": name, "image": IMAGE, "command": command, "resources": resources, **parts}
