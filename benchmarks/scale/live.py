"""The same follower on a real API server: simulated nodes, thousands of pods, and changes made through the
API.

The cluster is a sandbox of its own size, made for this run and removed afterwards, or any cluster whose
kubeconfig is given. Pods are made from the recorded one in a namespace of their own; changes are patches of
an annotation that holds the time they were sent, so that lag includes the server's own work.
"""

from __future__ import annotations

import asyncio
import json
import os
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx2
import msgspec
from benchmarks.scale.follower import Followed, peak_mib, quantile, rss_mib, until

from tonnage.cluster.port import Change
from tonnage.kube.client import KubeClient
from tonnage.kube.connecting import plain_timeout
from tonnage.kube.failing import Asked
from tonnage.kube.kubeconfig import find_access
from tonnage.kube.watching import meta_of

SENT = "tonnage.dev/sent"
NAMESPACE = "scale"
WRITERS = 8
_HERE = Path(__file__).parent


def measure_live(
    kubeconfig: Path, seconds: float, *, pods: int = 5_000, rate: float = 100.0
) -> dict[str, Any]:
    """Make pods on a cluster, follow them while they change, and report."""
    access = find_access(os.environ, kubeconfig=kubeconfig)
    with KubeClient(access) as client, _writer(client) as writer:
        _ensure_namespace(writer)
        made = _make_pods(writer, pods)
        try:
            return asyncio.run(_measure(client, writer, made, seconds, rate))
        finally:
            writer.delete(f"/api/v1/namespaces/{NAMESPACE}")


def _writer(client: KubeClient) -> httpx2.Client:
    return httpx2.Client(
        base_url=client.access.server,
        transport=client.transport,
        timeout=plain_timeout(),
        limits=httpx2.Limits(max_connections=WRITERS),
    )


def _ensure_namespace(writer: httpx2.Client) -> None:
    body = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}}
    answer = writer.post("/api/v1/namespaces", json=body)
    if answer.status_code not in (201, 409):
        answer.raise_for_status()


def _make_pods(writer: httpx2.Client, count: int) -> list[str]:
    recorded = json.loads((_HERE / "pod.json").read_text())
    meta = {"labels": recorded["metadata"]["labels"], "annotations": recorded["metadata"]["annotations"]}
    spec = {name: value for name, value in recorded["spec"].items() if name not in ("nodeName", "priority")}
    for container in spec["containers"]:
        # Small enough that all of them fit; nothing else about the pod changes.
        container["resources"] = {"requests": {"cpu": "10m", "memory": "16Mi"}}
    spec.pop("initContainers", None)
    spec.pop("preemptionPolicy", None)
    spec.pop("serviceAccount", None)
    spec.pop("affinity", None)

    def make(index: int) -> str:
        name = f"run-{index // 50}-{index % 50}"
        body = {"apiVersion": "v1", "kind": "Pod", "metadata": {**meta, "name": name}, "spec": spec}
        answer = writer.post(f"/api/v1/namespaces/{NAMESPACE}/pods", json=body)
        if answer.status_code not in (201, 409):
            raise RuntimeError(answer.text)
        return name

    with ThreadPoolExecutor(WRITERS) as pool:
        return list(pool.map(make, range(count)))


async def _measure(
    client: KubeClient, writer: httpx2.Client, names: list[str], seconds: float, rate: float
) -> dict[str, Any]:
    followed = Followed(client, _lag_by_annotation)
    changed = asyncio.Event()
    began, cpu_began = time.monotonic(), time.process_time()
    task = asyncio.create_task(followed.run(changed))
    await until(lambda: len(followed.synced) == 2 or task.done(), 300)
    if task.done():
        task.result()
    synced, cpu_synced, rss_synced = time.monotonic(), time.process_time(), rss_mib()
    followed.lags.clear()
    before = followed.num_changes
    sent = await asyncio.to_thread(_send_changes, writer, names, seconds, rate)
    await until(lambda: len(followed.lags) >= sent, 60)
    lags, num_changes = list(followed.lags), followed.num_changes - before
    peak = peak_mib()  # the check below decodes everything once more, in plain maps
    listed = await asyncio.to_thread(_versions, client)
    await until(lambda: _ours(followed) == listed, 60)
    is_complete = _ours(followed) == listed
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    return {
        "server": await asyncio.to_thread(client.server_version),
        "nodes": len(followed.reflectors["nodes"].store),
        "pods": len(followed.reflectors["pods"].store),
        "sync_s": round(synced - began, 1),
        "sync_cpu_us_per_object": round((cpu_synced - cpu_began) * 1e6 / max(1, len(listed)), 1),
        "rss_synced_mib": round(rss_synced),
        "peak_mib": round(peak),
        "patches": sent,
        "changes": num_changes,
        "lag_ms_p50": round(quantile(lags, 0.5) * 1000, 1),
        "lag_ms_p99": round(quantile(lags, 0.99) * 1000, 1),
        "lag_ms_max": round(max(lags, default=0) * 1000, 1),
        "is_complete": is_complete,
    }


def _send_changes(writer: httpx2.Client, names: list[str], seconds: float, rate: float) -> int:
    headers = {"Content-Type": "application/merge-patch+json"}

    def patch(index: int) -> None:
        due = began + index / rate
        time.sleep(max(0.0, due - time.monotonic()))
        body = {"metadata": {"annotations": {SENT: str(time.monotonic_ns())}}}
        path = f"/api/v1/namespaces/{NAMESPACE}/pods/{names[index * 7919 % len(names)]}"
        writer.patch(path, content=msgspec.json.encode(body), headers=headers).raise_for_status()

    began = time.monotonic()
    with ThreadPoolExecutor(WRITERS) as pool:
        return len(list(pool.map(patch, range(int(seconds * rate)))))


def _versions(client: KubeClient) -> dict[str, str]:
    """Every pod with its version, as a plain list from the server gives them."""
    answer = client.get_json("/api/v1/pods", Asked("list", "pods"))
    return {pod["metadata"]["uid"]: pod["metadata"]["resourceVersion"] for pod in answer["items"]}


def _ours(followed: Followed) -> dict[str, str]:
    return {key: meta_of(pod).resource_version for key, pod in followed.reflectors["pods"].store.items()}


def _lag_by_annotation(change: Change) -> float | None:
    sent = meta_of(change.object).annotations.get(SENT)
    return (time.monotonic_ns() - int(sent)) / 1e9 if sent else None
