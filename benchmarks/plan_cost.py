"""What `tonnage plan` costs: on a large cluster, for a document that does not fit, and how it grows.

Prints one line of JSON for each: a small document on 1,000 and 5,000 nodes; and the README's Llama 3 8B document on
its own cluster and on 1,000 nodes, plain and with `--fit`. Each is asked for the first time (nothing kept of earlier
answers) and again.

The cluster is a saved snapshot (nodes of three kinds, three pods on most of them, a quota); the command is a child
process, from start to exit, as people run it. CPU seconds are given beside wall seconds, because a busy machine
stretches the latter most; the promise is about an idle one, so the limit is held against CPU seconds, which are no
less than an idle machine's wall seconds here (one thread).
"""

from __future__ import annotations

import datetime as dt
import json
import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from tonnage.cluster.shapes import nodes_from_shapes, parse_node_shapes
from tonnage.kube.saved import API_VERSION, KIND

LIMIT_SECONDS = 1.0
ROUNDS = 3
SIZES = (1_000, 5_000)
KINDS = "8xh100={most},8xa100-80={some},cpu={few}"

RUN = """
apiVersion: tonnage.dev/v1alpha1
kind: Run
metadata: {name: bench, namespace: team-1}
spec:
  image: registry.example/ml/bench:1
  command: torchrun train.py
  nodes: 8
  gpus: 4 x h100
  memory: 200Gi
  cpu: 32
  model: {shape: gpt2}
  train: {microBatch: 8, sequence: 1024, steps: 20000}
  checkpoints: s3://bucket/bench
"""


README_RUN = Path(__file__).parent.parent / "examples" / "llama-8b" / "run.yaml"
README_CLUSTER = README_RUN.parent.parent / "clusters" / "h100.yaml"


def main() -> int:
    is_quick_enough = small_document()
    readme_document()
    return 0 if is_quick_enough else 1


def small_document() -> bool:
    """GPT-2 on clusters of two sizes; whether it keeps within the limit on the smaller."""
    results = [measure(size, RUN) for size in SIZES]
    first = results[0]
    figures = {
        "benchmark": "plan_cost",
        "limit_cpu_seconds_at_1000_nodes": LIMIT_SECONDS,
        "results": results,
        "growth": round(results[-1]["cpu_seconds"] / first["cpu_seconds"], 2),
    }
    print(json.dumps(figures), flush=True)
    return bool(first["cpu_seconds"] <= LIMIT_SECONDS)


def readme_document() -> None:
    """A document that does not fit: its smallest fixes, and the cheapest settings."""
    document = README_RUN.read_text()
    plain, fitted = (measure(SIZES[0], document, *words) for words in ((), ("--fit",)))
    figures = {
        "benchmark": "plan_cost_readme",
        "own_cluster": on_own_cluster(),
        "plain": plain,
        "fit": fitted,
        "fit_over_plain": round(fitted["cpu_seconds"] / plain["cpu_seconds"], 2),
    }
    print(json.dumps(figures), flush=True)


def on_own_cluster() -> dict[str, float]:
    """The README's first picture, as it is typed there."""
    with tempfile.TemporaryDirectory(prefix="plan-cost-") as folder:
        return _rounds(["plan", str(README_RUN), "--on", str(README_CLUSTER), "-o", "json"], folder)


def measure(size: int, document: str, *words: str) -> dict[str, Any]:
    """Median wall and CPU seconds of the whole command on a cluster of this size."""
    with tempfile.TemporaryDirectory(prefix="plan-cost-") as folder:
        run, saved = Path(folder) / "run.yaml", Path(folder) / "cluster.json"
        run.write_text(document)
        pods = write_cluster(saved, size)
        command = ["plan", str(run), "--on", str(saved), "-o", "json", *words]
        return {"nodes": size, "pods": pods, **_rounds(command, folder)}


def _rounds(command: list[str], folder: str) -> dict[str, float]:
    """Median wall and CPU seconds of a command, asked for the first time and again, after one round to warm up."""
    environment = _installed_like(folder)
    answers = Path(environment["XDG_CACHE_HOME"]) / "tonnage" / "estimates"
    _command(command, environment, b'"kind": "Plan"')
    first, again = [], []
    for _ in range(ROUNDS):
        shutil.rmtree(answers, ignore_errors=True)
        first.append(_command(command, environment, b'"kind": "Plan"'))
        again.append(_command(command, environment, b'"kind": "Plan"'))
    return {
        "wall_seconds": round(statistics.median(wall for wall, _ in first), 2),
        "cpu_seconds": round(statistics.median(cpu for _, cpu in first), 2),
        "again_wall_seconds": round(statistics.median(wall for wall, _ in again), 2),
        "again_cpu_seconds": round(statistics.median(cpu for _, cpu in again), 2),
    }


def _installed_like(folder: str) -> dict[str, str]:
    """An environment in which Python keeps its bytecode, as that of an installed package is, and a cache of its own."""
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    return {**kept, "PYTHONPYCACHEPREFIX": f"{folder}/bytecode", "XDG_CACHE_HOME": f"{folder}/cache"}


def _command(words: list[str], environment: dict[str, str], expected: bytes) -> tuple[float, float]:
    """Wall and CPU seconds of one `tonnage` command, which must print what is expected."""
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    command = [sys.executable, "-m", "tonnage", *words]
    finished = subprocess.run(command, capture_output=True, check=False, env=environment)
    wall = time.perf_counter() - start
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if finished.returncode not in (0, 1) or expected not in finished.stdout:
        raise SystemExit(finished.stderr.decode() or f"{' '.join(words)} did not answer")
    return wall, (after.ru_utime - before.ru_utime) + (after.ru_stime - before.ru_stime)


def write_cluster(path: Path, size: int) -> int:
    """A saved snapshot of that many nodes, two thirds busy; the number of pods in it."""
    shapes = KINDS.format(most=size * 7 // 10, some=size * 2 // 10, few=size // 10)
    nodes = list(nodes_from_shapes(parse_node_shapes(shapes)))
    for node in nodes:
        node["status"]["conditions"] = [{"type": "Ready", "status": "True"}]
    pods = [_pod(node["metadata"]["name"], index) for node in nodes[: size * 2 // 3] for index in range(3)]
    quota = {
        "metadata": {"name": "wall", "namespace": "team-1"},
        "spec": {"hard": {"requests.nvidia.com/gpu": "256"}},
        "status": {
            "hard": {"requests.nvidia.com/gpu": "256"},
            "used": {"requests.nvidia.com/gpu": "128"},
        },
    }
    header = {"takenAt": dt.datetime(2026, 11, 15, tzinfo=dt.UTC).isoformat(), "source": "a benchmark"}
    saved = {
        "apiVersion": API_VERSION,
        "kind": KIND,
        "metadata": header,
        "resources": {
            "nodes": {"apiVersion": "v1", "kind": "Node", "items": nodes},
            "pods": {"apiVersion": "v1", "kind": "Pod", "items": pods},
            "resourcequotas": {"apiVersion": "v1", "kind": "ResourceQuota", "items": [quota]},
        },
        "gaps": [],
    }
    path.write_text(json.dumps(saved))
    return len(pods)


def _pod(node: str, index: int) -> dict[str, Any]:
    requests = {"cpu": "8", "memory": "64Gi"}
    if not node.startswith("cpu"):
        requests["nvidia.com/gpu"] = "2"
    name = f"{node}-{index}"
    return {
        "metadata": {"name": name, "namespace": f"team-{index}", "uid": name, "labels": {"app": "train"}},
        "spec": {
            "nodeName": node,
            "containers": [{"name": "main", "resources": {"requests": requests, "limits": requests}}],
        },
        "status": {"phase": "Running", "startTime": "2026-11-15T00:00:00Z"},
    }


if __name__ == "__main__":
    sys.exit(main())
