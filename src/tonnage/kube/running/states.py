"""What a look means: the state of an attempt, and since when. Pure.

An attempt is one gang from start to end. So it is over as soon as a pod that had started is lost, even where its
controller would make another: the supervisor gives the next one its cause, its size and its place in the history.
Where the other already runs when somebody looks (a supervisor was away, a node took long to answer), ending what works
would help nobody: the attempt goes on, and the death is kept in its history.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from tonnage.kube.running import reading
from tonnage.kube.running.looking import SUSPENDED, Look
from tonnage.running.observing import State


def state_of(look: Look, *, is_queued: bool = False) -> State:
    """The state; `is_queued` means that Kueue, not we, suspends it."""
    if look.is_absent:
        return "absent"
    if look.marked_over:
        return "stopping" if look.living else "suspended" if look.marked_over == SUSPENDED else "ended"
    if look.is_finished:
        return "ended"
    if look.workload is None or reading.is_going(look.workload):
        return "stopping" if look.living else "absent"
    if look.is_ending:
        return "stopping"
    if look.is_suspended and not is_queued:
        return "stopping" if look.living else "suspended"
    return _of_pods(look)


def _of_pods(look: Look) -> State:
    pods = list(look.newest.values())
    expected = max(look.nodes, 1)
    if len(pods) < expected or any(not reading.status(pod).get("startTime") for pod in pods):
        return "waiting"
    if pods and all(reading.has_started(pod) or reading.is_over(pod) for pod in pods):
        return "running"
    if any(_is_stuck(pod) for pod in pods):
        return "waiting"
    return "starting"


def _is_stuck(pod: Mapping[str, Any]) -> bool:
    """Placed, and its containers cannot be made: it waits for somebody to put that right."""
    return bool(stuck_reason(pod))


STUCK = ("ImagePullBackOff", "ErrImagePull", "InvalidImageName", "ErrImageNeverPull", "CreateContainerConfigError",
         "CreateContainerError", "RegistryUnavailable", "ImageInspectError")  # fmt: skip


def stuck_reason(pod: Mapping[str, Any]) -> str:
    """Why containers cannot be made, in the kubelet's words."""
    for each in (*reading.container_statuses(pod, init=True), *reading.container_statuses(pod)):
        waiting = (each.get("state") or {}).get("waiting") or {}
        if waiting.get("reason") in STUCK:
            text = " ".join(str(waiting.get("message", "")).split())
            return f"{waiting['reason']}: {text}" if text else str(waiting["reason"])
    return ""


def since(look: Look, state: State) -> dt.datetime | None:
    """When this state began, as far as the objects say."""
    pods = list(look.newest.values())
    match state:
        case "waiting" | "starting":
            times = [reading.created(pod) for pod in pods]
            times += [reading.created(look.workload)] if look.workload is not None else []
            return max((at for at in times if at is not None), default=None)
        case "running":
            return min((at for pod in pods if (at := reading.started_at(pod)) is not None), default=None)
        case "ended":
            return ended_at(look)
        case _:
            return None


def ended_at(look: Look) -> dt.datetime | None:
    """When its last container ended, or when its controller said so."""
    times = [finished_at(pod) for pod in look.pods]
    times = [at for at in times if at is not None]
    if times:
        return max(at for at in times if at is not None)
    if look.workload is None:
        return None
    return max(_told_at(look.workload), default=None)


def finished_at(pod: Mapping[str, Any]) -> dt.datetime | None:
    ended = (reading.main_status(pod).get("state") or {}).get("terminated") or {}
    return reading.moment(ended.get("finishedAt"))


def lost_pods(look: Look) -> list[str]:
    """Uids of pods that had started and are lost: failed or vanished, without a running one in their place."""
    running = {
        index for index, pod in look.newest.items() if reading.is_running(pod) and not reading.is_going(pod)
    }
    return [uid for uid, pod in _lost(look) if reading.index_of(pod, look.nodes) not in running]


def replaced_pods(look: Look) -> list[str]:
    """Uids of lost pods in whose place another has started since: deaths that the attempt outlived."""
    current = look.newest
    found = []
    for uid, pod in _lost(look):
        after = current.get(reading.index_of(pod, look.nodes))
        if after is not None and reading.uid_of(after) != uid and reading.has_started(after):
            found.append(uid)
    return found


def vanished_first(look: Look, gone: Mapping[str, float]) -> list[str]:
    """Uids of pods that vanished while they ran, before their controller called the attempt finished.

    What it removes afterwards is its own cleaning up.
    """
    if look.workload is None or not look.is_finished:
        return []
    over = max((at.timestamp() for at in _told_at(look.workload)), default=0.0)
    outlived = replaced_pods(look)
    return [
        uid
        for uid, pod in _lost(look)
        if uid not in outlived and not reading.is_over(pod) and gone.get(uid, over) < over
    ]


def _told_at(workload: Mapping[str, Any]) -> Iterator[dt.datetime]:
    for each in reading.conditions(workload):
        if (moment := reading.moment(each.get("lastTransitionTime"))) is not None:
            yield moment


def _lost(look: Look) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Pods that had started and failed or vanished, as they were last seen."""
    now = {reading.uid_of(pod): pod for pod in look.pods}
    for uid, before in look.known.items():
        pod = now.get(uid, before)
        is_lost = uid not in now or reading.status(pod).get("phase") == "Failed"
        if reading.has_started(pod) and is_lost and not _succeeded(pod):
            yield uid, pod


def _succeeded(pod: Mapping[str, Any]) -> bool:
    return reading.status(pod).get("phase") == "Succeeded"


def nodes_of(pods: Iterable[Mapping[str, Any]]) -> tuple[str, ...]:
    return tuple(sorted({str(name) for pod in pods if (name := pod.get("spec", {}).get("nodeName"))}))
