"""More memory for running pods, without a restart: the `resize` subresource, and the wait for its answer.

The class of a pod may not change, so a request that equals its limit is raised with it, and one below keeps its part:
what the scheduler counts with must grow too, or the node would be promised twice. What the kubelet cannot do now
(`Deferred`) or ever (`Infeasible`) is taken back: a pod whose wish is still open would be resized by surprise.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

from tonnage.errors import RefusedError
from tonnage.kube.running import reading
from tonnage.kube.running.api import STRATEGIC, Ref, RunApi
from tonnage.manifests.amounts import quantity
from tonnage.units import try_quantity

Pod = Mapping[str, Any]
WAIT_SECONDS = 20.0
PAUSE_SECONDS = 0.25


def resize_pods(api: RunApi, pods: list[Pod], memory: int) -> bool:
    """Raise all of them or none; False where the cluster refuses or cannot."""
    running = [pod for pod in pods if reading.is_running(pod)]
    if not running or len(running) < len(pods):
        return False
    done: list[Pod] = []
    for pod in running:
        if not _ask(api, pod, memory):
            for earlier in done:
                _take_back(api, earlier)
            return False
        done.append(pod)
    if all(_has_happened(api, pod, memory) for pod in done):
        return True
    for pod in done:
        _take_back(api, pod)
    return False


def _ask(api: RunApi, pod: Pod, memory: int) -> bool:
    requests, limits = _memory_of(pod)
    wish = {"limits": {"memory": quantity(memory)}}
    if requests is not None and limits:
        asked = memory if requests == limits else min(memory - 1, requests * memory // limits)
        wish["requests"] = {"memory": quantity(asked)}
    return _patch(api, pod, wish)


def _take_back(api: RunApi, pod: Pod) -> None:
    written = _resources(pod)
    _patch(api, pod, {side: {"memory": held["memory"]} for side, held in written.items() if "memory" in held})


def _patch(api: RunApi, pod: Pod, resources: Mapping[str, Any]) -> bool:
    body = {"spec": {"containers": [{"name": reading.main_container(pod), "resources": resources}]}}
    ref = Ref("v1", "Pod", reading.name_of(pod))
    try:
        return api.patch(ref, body, kind=STRATEGIC, subresource="resize") is not None
    except RefusedError:
        return False  # forbidden, above the node or the quota, or a cluster without it


def _has_happened(api: RunApi, pod: Pod, memory: int) -> bool:
    """Whether the kubelet has set the limit, within the time it usually takes."""
    give_up = time.monotonic() + WAIT_SECONDS
    while time.monotonic() < give_up:
        now = api.get(Ref("v1", "Pod", reading.name_of(pod)))
        if now is None or reading.condition(now, "PodResizePending") is not None:
            return False
        actual = ((reading.main_status(now).get("resources") or {}).get("limits") or {}).get("memory")
        if actual is not None and _bytes(actual) == memory:
            return True
        time.sleep(PAUSE_SECONDS)
    return False


def _resources(pod: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    main = reading.main_container(pod)
    for each in pod.get("spec", {}).get("containers", ()):
        if each["name"] == main:
            found: dict[str, dict[str, Any]] = each.get("resources") or {}
            return {side: found[side] for side in ("requests", "limits") if side in found}
    return {}


def _memory_of(pod: Mapping[str, Any]) -> tuple[int | None, int | None]:
    held = _resources(pod)
    return _bytes(held.get("requests", {}).get("memory")), _bytes(held.get("limits", {}).get("memory"))


def _bytes(written: object) -> int | None:
    amount = try_quantity(str(written)) if written is not None else None
    return amount.value() if amount is not None else None
