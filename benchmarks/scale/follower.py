"""The measured side: our client, reflectors and stores following a cluster, in a process of their own."""

from __future__ import annotations

import asyncio
import gc
import json
import resource
import sys
import time
import zlib
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

from tonnage.cluster.port import Change, ChangeKind
from tonnage.kube.client import KubeClient
from tonnage.kube.failing import Asked
from tonnage.kube.interning import Interner
from tonnage.kube.kinds import find_kind
from tonnage.kube.kubeconfig import Access
from tonnage.kube.watching import Reflector, key_of, merged, meta_of

MIB = 1024 * 1024


class Followed:
    """Reflectors for nodes and pods, and what they said about time."""

    def __init__(self, client: KubeClient, lag_of: Callable[[Any], float | None]) -> None:
        interner = Interner()
        kinds = [find_kind(name) for name in ("nodes", "pods")]
        self.reflectors = {
            kind.resource: Reflector[Any](client, kind, interner=interner) for kind in kinds if kind
        }
        self.interner = interner
        self.lags: list[float] = []
        self.num_changes = 0
        self.synced: set[str] = set()
        self._lag_of = lag_of

    async def run(self, changed: asyncio.Event) -> None:
        """Follow for ever."""
        stream: AsyncIterator[Change] = merged([reflector.changes for reflector in self.reflectors.values()])
        async for change in stream:
            if change.kind is ChangeKind.SYNCED:
                self.synced.add(change.resource)
                changed.set()
            elif len(self.synced) == len(self.reflectors):
                self.num_changes += 1
                lag = self._lag_of(change)
                if lag is not None:
                    self.lags.append(lag)

    def digest(self) -> int:
        """The checksum of our pods, to be compared with the server's."""
        total = 0
        for pod in self.reflectors["pods"].store.values():
            total ^= zlib.crc32(f"{key_of(pod)}{meta_of(pod).resource_version}".encode())
        return total


def rss_mib() -> float:
    """Resident memory now."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize() / MIB


def peak_mib() -> float:
    """The most memory this process ever had."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def quantile(values: list[float], share: float) -> float:
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))] if ordered else 0.0


async def until(what: Callable[[], Awaitable[bool] | bool], limit: float) -> None:
    """Wait until something is so; fail loudly when it never is."""
    deadline = time.monotonic() + limit
    while True:
        answer = what()
        if answer is True or (not isinstance(answer, bool) and await answer):
            return
        if time.monotonic() > deadline:
            raise TimeoutError("the benchmark waited too long")
        await asyncio.sleep(0.05)


async def measure(server: str, rate: float, seconds: float) -> dict[str, Any]:
    """Sync with a replay server, follow its changes, relist once, and report."""
    client = KubeClient(Access(context="replay", server=server))

    def control(path: str) -> Any:
        return client.get_json(f"/control/{path}", Asked("get", path))

    followed = Followed(client, _lag_by_version)
    changed = asyncio.Event()
    began, cpu_began = time.monotonic(), time.process_time()
    task = asyncio.create_task(followed.run(changed))
    await until(lambda: len(followed.synced) == 2 or task.done(), 600)
    if task.done():
        task.result()
    synced, cpu_synced = time.monotonic(), time.process_time()
    rss_synced, peak_synced = rss_mib(), peak_mib()
    await asyncio.sleep(0.5)
    followed.lags.clear()
    before, cpu_before = followed.num_changes, time.process_time()
    started = time.monotonic()
    await asyncio.to_thread(control, f"start?rate={rate}&seconds={seconds}")
    await asyncio.sleep(seconds)
    await until(lambda: _is_done(control), 300)
    took = time.monotonic() - started
    state = await asyncio.to_thread(control, "state?digest=1")
    await until(lambda: followed.digest() == state["digest"], 60)
    cpu_after, rss_after = time.process_time(), rss_mib()
    num_changes = followed.num_changes - before
    lags = list(followed.lags)
    await asyncio.to_thread(control, "forget")
    await until(lambda: followed.reflectors["pods"].num_lists == 2, 600)
    await until(lambda: followed.digest() == state["digest"], 60)
    is_complete = followed.digest() == state["digest"]
    task.cancel()
    return {
        "pods": len(followed.reflectors["pods"].store),
        "nodes": len(followed.reflectors["nodes"].store),
        "sync_s": round(synced - began, 1),
        "sync_cpu_us_per_object": round((cpu_synced - cpu_began) * 1e6 / _total(followed), 1),
        "rss_synced_mib": round(rss_synced),
        "peak_synced_mib": round(peak_synced),
        "kb_per_pod": round(rss_synced * 1024 / max(1, len(followed.reflectors["pods"].store)), 2),
        "changes": num_changes,
        "changes_per_s": round(state["sent"] / took),
        "cpu_us_per_change": round((cpu_after - cpu_before) * 1e6 / max(1, num_changes), 1),
        "cpu_share": round((cpu_after - cpu_before) / took, 3),
        "lag_ms_p50": round(quantile(lags, 0.5) * 1000, 1),
        "lag_ms_p99": round(quantile(lags, 0.99) * 1000, 1),
        "lag_ms_max": round(max(lags, default=0) * 1000, 1),
        "rss_followed_mib": round(rss_after),
        "rss_relisted_mib": round(rss_mib()),
        "peak_mib": round(peak_mib()),
        "pooled_parts": len(followed.interner),
        "is_complete": is_complete,
    }


async def _is_done(control: Callable[[str], Any]) -> bool:
    return bool((await asyncio.to_thread(control, "state"))["done"])


def _lag_by_version(change: Change) -> float | None:
    return (time.monotonic_ns() - int(meta_of(change.object).resource_version)) / 1e9


def _total(followed: Followed) -> int:
    return max(1, sum(len(reflector.store) for reflector in followed.reflectors.values()))


if __name__ == "__main__":
    gc.collect()
    address, per_second, length = sys.argv[1], float(sys.argv[2]), float(sys.argv[3])
    print(json.dumps(asyncio.run(measure(address, per_second, length))))
