"""Snapshots that stay fresh: listed once, then kept up by changes."""

from __future__ import annotations

import asyncio
import datetime as dt
import json
from contextlib import aclosing
from pathlib import Path

import httpx2
from kube_faults import Stream, client_of, line, page, pod

from tonnage.cluster.port import Target
from tonnage.kube.following import Follower
from tonnage.kube.port import KubeCluster
from tonnage.kube.saved import API_VERSION, SavedCluster, parse_saved


def answer(request: httpx2.Request) -> httpx2.Response:
    """A cluster of pods alone; the watch reports one more, then falls silent."""
    path, is_watch = request.url.path, "watch" in request.url.params
    if path == "/version":
        return httpx2.Response(200, json={"gitVersion": "v1.36.4"})
    if path == "/apis":
        return httpx2.Response(200, json={"kind": "APIGroupList", "groups": []})
    if path != "/api/v1/pods":
        return httpx2.Response(404, text="404 page not found")
    if not is_watch:
        return page(["a"])
    return httpx2.Response(200, stream=Stream(line("ADDED", pod("b", "11")), line("DELETED", pod("a", "12"))))


async def test_the_first_snapshot_is_listed_and_the_next_follow_changes() -> None:
    follower = Follower(KubeCluster(client_of(answer)))
    async with asyncio.timeout(30), aclosing(follower.snapshots(every=0.01)) as snapshots:
        async for found in snapshots:
            names = {one.metadata.name for one in found.pods}
            if names == {"b"}:
                break

    assert found.server_version == "v1.36.4"
    assert found.gap("nodes") is not None


async def test_one_object_that_makes_no_sense_does_not_hide_its_kind() -> None:
    def with_a_broken_one(request: httpx2.Request) -> httpx2.Response:
        if request.url.path == "/api/v1/pods" and "watch" not in request.url.params:
            broken = {"metadata": {"name": "broken"}, "spec": {"containers": "none"}}
            return httpx2.Response(200, json={"metadata": {}, "items": [pod("a"), broken]})
        return answer(request)

    follower = Follower(KubeCluster(client_of(with_a_broken_one)))
    async with asyncio.timeout(30), aclosing(follower.snapshots(every=0.01)) as snapshots:
        async for found in snapshots:
            if {one.metadata.name for one in found.pods} == {"b"}:
                break

    gap = found.gap("pods")
    assert gap is not None
    assert "broken" in gap.message


async def test_following_a_file_ends_with_the_file() -> None:
    header = {"takenAt": "2026-01-01T00:00:00Z", "source": "x"}
    pods = {"apiVersion": "v1", "kind": "Pod", "items": [pod("a")]}
    document = {
        "apiVersion": API_VERSION,
        "kind": "Snapshot",
        "metadata": header,
        "resources": {"pods": pods},
    }
    cluster = SavedCluster(parse_saved(json.dumps(document).encode(), Path("x")), Target("snapshot", "x"))

    found = [snapshot async for snapshot in Follower(cluster).snapshots(every=0.01)]

    assert all(len(snapshot.pods) == 1 for snapshot in found)
    assert found[0].taken_at == dt.datetime(2026, 1, 1, tzinfo=dt.UTC)
