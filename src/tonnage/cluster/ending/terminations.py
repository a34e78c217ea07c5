"""How containers end and what that makes of the pod: restarts, back-off and phase.

A container that exits is restarted in place or not, by its own restart policy or the pod's. The pod's phase
follows from all its containers together, and only a pod whose containers are all over, none of them to be
restarted, is Succeeded or Failed. Phase looks at exit codes alone: an OOM-killed child whose parent then
exits 0 leaves a Succeeded pod. Init containers are the exception: one that saw an OOM kill has failed,
whatever it returned.

Read in the kubelet's `kubelet_pods.go` (`getPhase`), `kuberuntime/helpers.go` and `status/generate.go`.
"""

from __future__ import annotations

from collections.abc import Iterable

from tonnage.cluster.node.oom import KILLED_EXIT
from tonnage.cluster.objects import Container, ContainerStatus, Pod
from tonnage.cluster.objects.meta import Condition
from tonnage.cluster.objects.pod import TerminatedState
from tonnage.cluster.resources import is_sidecar

KILLED = TerminatedState(exit_code=KILLED_EXIT, reason="Error")
LOST = TerminatedState(
    exit_code=KILLED_EXIT,
    reason="ContainerStatusUnknown",
    message="The container could not be located when the pod was terminated",
)
"""The kubelet no longer found the container it had killed, and made the code up."""
KILLED_ENDINGS = (KILLED, LOST)
"""What a container killed with its pod may show; disk pressure sweeps the dead, and then they are lost."""
CRASH_LOOP = "CrashLoopBackOff"
"""Why a container waits that keeps ending."""
NOT_YET = "PodInitializing"
"""Why a container waits whose pod's init containers are not through."""
FIRST_BACKOFF_SECONDS = 10
MAX_BACKOFF_SECONDS = 300


def should_restart(pod: Pod, container: Container, exit_code: int) -> bool:
    """Whether the kubelet starts the container again; a policy on the container beats the pod's."""
    match container.restart_policy or pod.spec.restart_policy or "Always":
        case "Never":
            return False
        case "OnFailure":
            return exit_code != 0
        case _:
            return True


def restart_delay_seconds(restarts: int) -> int:
    """The wait before this restart: none before the first, then 10 s doubling to five minutes."""
    if restarts <= 1:
        return 0
    return min(FIRST_BACKOFF_SECONDS << min(restarts - 2, 16), MAX_BACKOFF_SECONDS)


def crash_loop_message(pod: Pod, container: str, delay_seconds: int) -> str:
    """The waiting message beside the reason CrashLoopBackOff."""
    delay = go_duration(delay_seconds)
    return f"back-off {delay} restarting failed container={container} pod={_full_name(pod)}"


def back_off_event(pod: Pod, container: str) -> str:
    """The text of the `BackOff` event."""
    return f"Back-off restarting failed container {container} in pod {_full_name(pod)}"


def go_duration(seconds: int) -> str:
    """Whole seconds as Go prints a duration: `10s`, `2m40s`, `5m0s`."""
    return f"{seconds}s" if seconds < 60 else f"{seconds // 60}m{seconds % 60}s"


def init_failed(state: TerminatedState) -> bool:
    """Whether an init container's end stops the pod from starting."""
    return state.reason == "OOMKilled" or state.exit_code != 0


def pod_phase(pod: Pod, statuses: Iterable[ContainerStatus], *, terminal: bool = False) -> str:
    """The phase these statuses add up to; `terminal` when nothing will be restarted any more."""
    by_name = {status.name: status for status in statuses}
    waiting_for_init, init_lost = _init_progress(pod, by_name)
    if init_lost:
        return "Failed"
    sidecars = [by_name.get(c.name) for c in pod.spec.init_containers if is_sidecar(c)]
    main = [(c, by_name.get(c.name)) for c in pod.spec.containers]
    states = [_standing(status) for status in sidecars if _standing(status) != "over"]
    states += [_standing(status) for _, status in main]
    if waiting_for_init or "waiting" in states:
        return "Pending"
    if "unknown" in states:
        return "Pending"
    if "running" in states:
        return "Running"
    ended = [(c, _last_end(status)) for c, status in main if status is not None]
    codes = [(c, end.exit_code) for c, end in ended if end is not None]
    if not terminal and any(should_restart(pod, c, code) for c, code in codes):
        return "Running"
    return "Succeeded" if all(code == 0 for _, code in codes) else "Failed"


def terminal_conditions(phase: str) -> tuple[Condition, ...]:
    """What the kubelet writes on a finished pod."""
    reason = {"Failed": "PodFailed", "Succeeded": "PodCompleted"}[phase]
    ended = tuple(
        Condition(type=kind, status="False", reason=reason) for kind in ("Ready", "ContainersReady")
    )
    if phase == "Succeeded":
        return (*ended, Condition(type="Initialized", status="True", reason=reason))
    return ended


def _full_name(pod: Pod) -> str:
    """A pod as the kubelet's texts name it."""
    meta = pod.metadata
    return f"{meta.name}_{meta.namespace}({meta.uid})"


def _init_progress(pod: Pod, by_name: dict[str, ContainerStatus]) -> tuple[bool, bool]:
    """Whether plain init containers are still to come, and whether one has failed for good."""
    pending, lost = False, False
    for container in pod.spec.init_containers:
        if is_sidecar(container):
            continue
        status = by_name.get(container.name)
        end = _last_end(status) if status is not None else None
        if end is None:
            pending = True
        elif end.exit_code != 0:
            lost = lost or not should_restart(pod, container, end.exit_code)
            pending = True
    return pending and not lost, lost


def _standing(status: ContainerStatus | None) -> str:
    if status is None:
        return "unknown"
    if status.state.running is not None:
        return "running"
    if _last_end(status) is not None:
        return "over"
    return "waiting" if status.state.waiting is not None else "unknown"


def _last_end(status: ContainerStatus | None) -> TerminatedState | None:
    """How it ended, if it is not running: now, or last time while it waits to be restarted."""
    if status is None or status.state.running is not None:
        return None
    if status.state.terminated is not None:
        return status.state.terminated
    return status.last_state.terminated if status.state.waiting is not None else None
