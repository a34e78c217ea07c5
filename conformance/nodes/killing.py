"""Containers that end: by a signal, a code, the kernel, or time."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path

import msgspec

from conformance.nodes.bench import Bench, finished, warnings
from conformance.nodes.case import Facts, Outcome, caused
from conformance.nodes.manifests import Json, a_pod, child_dies_then, endless_memory, python, shell
from conformance.nodes.reading import predicted_ending, read_ending
from tonnage.cluster.ending.terminations import (
    CRASH_LOOP,
    NOT_YET,
    back_off_event,
    crash_loop_message,
    init_failed,
    pod_phase,
    restart_delay_seconds,
)
from tonnage.cluster.messages.disruption import DEADLINE_REASON, DEADLINE_TEXT
from tonnage.cluster.node.oom import Victim, after_oom_kill, kills_whole_container, plain_reason
from tonnage.cluster.objects import ContainerStatus, Pod
from tonnage.cluster.objects.pod import ContainerState, RunningState, TerminatedState

_ALARMS = ("BackOff", "Evicted", "SystemOOM", "Failed", "Killing")


def as_pod(manifest: Json) -> Pod:
    """The manifest as our rules see it."""
    return msgspec.convert(manifest, Pod)


def ends(code: int) -> TerminatedState:
    """An ordinary exit."""
    return TerminatedState(exit_code=code, reason=plain_reason(code))


def _oom_kill(bench: Bench, name: str, **resources: Json) -> Outcome:
    manifest = a_pod(name, bench.node_name, python("c", endless_memory(), **resources))
    whole = kills_whole_container(cgroup_version=bench.cgroup_version)
    state = after_oom_kill(Victim.PID_1, whole_container=whole)
    assert state is not None
    predicted = predicted_ending(as_pod(manifest), {"c": state}) | {"warnings": []}
    pod = bench.run(manifest)
    return Outcome(
        predicted=predicted,
        # There is no event for a container's OOM kill: the status is all there is.
        real=read_ending(pod, predicted) | {"warnings": warnings(bench.events(name), *_ALARMS)},
    )


@caused("PID 1 over a limit of 32Mi (Burstable)", "OOMKilled/137", "no event for a limit OOM")
def oom_burstable(bench: Bench) -> Outcome:
    return _oom_kill(bench, "oom-burstable", requests={"memory": "16Mi"}, limits={"memory": "32Mi"})


@caused("PID 1 over a limit of 64Mi (Guaranteed)", "OOMKilled/137", "no event for a limit OOM")
def oom_guaranteed(bench: Bench) -> Outcome:
    full = {"memory": "64Mi", "cpu": "100m"}
    return _oom_kill(bench, "oom-guaranteed", requests=full, limits=full)


@caused("PID 1 over a limit of 200Mi", "OOMKilled/137", "no event for a limit OOM")
def oom_larger(bench: Bench) -> Outcome:
    return _oom_kill(bench, "oom-larger", limits={"memory": "200Mi"})


@caused("a container without a limit meets the pod's", "pod-level limit is the container's wall")
def oom_pod_level(bench: Bench) -> Outcome:
    name = "oom-pod-level"
    manifest = a_pod(
        name,
        bench.node_name,
        python("c", endless_memory()),
        resources={"limits": {"memory": "64Mi"}, "requests": {"memory": "32Mi"}},
    )
    state = after_oom_kill(Victim.PID_1, whole_container=False)
    assert state is not None
    predicted = predicted_ending(as_pod(manifest), {"c": state})
    return Outcome(predicted=predicted, real=read_ending(bench.run(manifest), predicted))


@caused("OOM kill, then a restart that succeeds", "OnFailure restarts after an OOM kill")
def oom_then_restart(bench: Bench) -> Outcome:
    name = "oom-restart"
    script = (
        "import os, sys\n"
        "if os.path.exists('/keep/seen'): sys.exit(0)\n"
        f"open('/keep/seen', 'w').close()\n{endless_memory()}"
    )
    keep = {"name": "keep", "mountPath": "/keep"}
    manifest = a_pod(
        name,
        bench.node_name,
        python("c", script, limits={"memory": "48Mi"}, volumeMounts=[keep]),
        restartPolicy="OnFailure",
        volumes=[{"name": "keep", "emptyDir": {}}],
    )
    killed = after_oom_kill(Victim.PID_1, whole_container=False)
    assert killed is not None
    predicted = predicted_ending(as_pod(manifest), {"c": ends(0)}, restarts={"c": 1})
    predicted["last"] = f"{killed.reason} {killed.exit_code}"
    pod = bench.run(manifest)
    last = pod.status.container_statuses[0].last_state.terminated
    real = read_ending(pod, predicted) | {"last": f"{last.reason} {last.exit_code}" if last else None}
    return Outcome(predicted=predicted, real=real)


def _child_oom(bench: Bench, name: str, code: int) -> Outcome:
    manifest = a_pod(name, bench.node_name, python("c", child_dies_then(code), limits={"memory": "64Mi"}))
    whole = kills_whole_container(cgroup_version=bench.cgroup_version)
    state = after_oom_kill(Victim.CHILD, whole_container=whole, own_exit_code=code)
    assert state is not None
    predicted = predicted_ending(as_pod(manifest), {"c": state}) | {"counter": "oom_kill 1"}
    pod = bench.run(manifest)
    end = pod.status.container_statuses[0].state.terminated
    return Outcome(
        predicted=predicted, real=read_ending(pod, predicted) | {"counter": end.message if end else None}
    )


@caused(
    "a child is killed, PID 1 ends 0",
    "child OOM, own exit code",
    "OOMKilled and Succeeded",
    only_cgroup_v1=True,
)
def child_oom_0(bench: Bench) -> Outcome:
    return _child_oom(bench, "child-oom-0", 0)


@caused("a child is killed, PID 1 ends 7", "child OOM, own exit code", only_cgroup_v1=True)
def child_oom_7(bench: Bench) -> Outcome:
    return _child_oom(bench, "child-oom-7", 7)


@caused(
    "a child is killed, PID 1 lives on", "child OOM leaves no trace while PID 1 lives", only_cgroup_v1=True
)
def child_oom_alive(bench: Bench) -> Outcome:
    name = "child-oom-alive"
    script = child_dies_then(0).replace("sys.exit(0)", "import time; time.sleep(3600)")
    manifest = a_pod(name, bench.node_name, python("c", script, limits={"memory": "64Mi"}))
    whole = kills_whole_container(cgroup_version=bench.cgroup_version)
    ending = after_oom_kill(Victim.CHILD, whole_container=whole)
    state = ContainerState(running=RunningState()) if ending is None else ContainerState(terminated=ending)
    predicted: Facts = {
        "killed": 1,
        "phase": pod_phase(as_pod(manifest), [ContainerStatus(name="c", state=state)]),
        "c": "running" if ending is None else "not running",
        "restarts": 0,
        "warnings": [],
    }
    created = bench.create(manifest)
    folder = (
        Path("/sys/fs/cgroup/memory")
        / bench.real_node.cgroup
        / f"kubepods/burstable/pod{created.metadata.uid}"
    )
    killed = _await_kill(folder)
    time.sleep(1)  # long enough for a status to change, if one were to
    pod = bench.pod(name)
    status = pod.status.container_statuses[0]
    real = {
        "killed": killed,
        "phase": pod.status.phase,
        "c": "running" if status.state.running else "not running",
        "restarts": status.restart_count,
        "warnings": warnings(bench.events(name), *_ALARMS),
    }
    bench.delete(name)
    return Outcome(predicted=predicted, real=real)


def _await_kill(folder: Path) -> int:
    """The kernel's own count of kills in the pod's containers, once there is one."""
    for _ in range(100):
        for control in folder.glob("*/memory.oom_control"):
            counts = dict(line.split() for line in control.read_text().splitlines())
            if int(counts["oom_kill"]):
                return int(counts["oom_kill"])
        time.sleep(0.2)
    return 0


def _killed_child(signal: int) -> str:
    return f'python3 -c "import os; os.kill(os.getpid(), {signal})"; exit $?'


def _exit(bench: Bench, name: str, script: str, code: int) -> Outcome:
    manifest = a_pod(name, bench.node_name, shell("c", script))
    predicted = predicted_ending(as_pod(manifest), {"c": ends(code)})
    return Outcome(predicted=predicted, real=read_ending(bench.run(manifest), predicted))


@caused("exit 0", "Completed", "Succeeded with PodCompleted")
def exit_0(bench: Bench) -> Outcome:
    return _exit(bench, "exit-0", "exit 0", 0)


@caused("exit 1", "Error")
def exit_1(bench: Bench) -> Outcome:
    return _exit(bench, "exit-1", "exit 1", 1)


@caused("exit 42", "Error")
def exit_42(bench: Bench) -> Outcome:
    return _exit(bench, "exit-42", "exit 42", 42)


@caused("137 without an OOM: a child's kill -9, relayed", "Error/137 is not an OOM")
def exit_137(bench: Bench) -> Outcome:
    return _exit(bench, "exit-137", _killed_child(9), 137)


@caused("143: a child's SIGTERM, relayed", "Error")
def exit_143(bench: Bench) -> Outcome:
    return _exit(bench, "exit-143", _killed_child(15), 143)


@caused("two containers, one fails", "one failing container fails the pod")
def two_containers(bench: Bench) -> Outcome:
    manifest = a_pod("two", bench.node_name, shell("a", "exit 0"), shell("b", "sleep 1; exit 3"))
    predicted = predicted_ending(as_pod(manifest), {"a": ends(0), "b": ends(3)})
    return Outcome(predicted=predicted, real=read_ending(bench.run(manifest), predicted))


@caused("OnFailure and exit 0", "OnFailure does not restart success")
def on_failure_0(bench: Bench) -> Outcome:
    manifest = a_pod("on-failure-0", bench.node_name, shell("c", "exit 0"), restartPolicy="OnFailure")
    predicted = predicted_ending(as_pod(manifest), {"c": ends(0)})
    return Outcome(predicted=predicted, real=read_ending(bench.run(manifest), predicted))


@caused("a crash loop", "CrashLoopBackOff", "restart delay", seconds=8)
def crash_loop(bench: Bench) -> Outcome:
    name = "crash-loop"
    manifest = a_pod(name, bench.node_name, shell("c", "exit 5"), restartPolicy="Always")
    bench.create(manifest)
    pod = bench.await_pod(name, _is_looping, seconds=90)
    status = pod.status.container_statuses[0]
    delay = restart_delay_seconds(status.restart_count + 1)
    last, waiting = status.last_state.terminated, status.state.waiting
    event = bench.await_event(name, "BackOff")
    bench.delete(name)
    return Outcome(
        predicted={
            "phase": pod_phase(
                as_pod(manifest), [ContainerStatus(name="c", state=ContainerState(terminated=ends(5)))]
            ),
            "last": f"{ends(5).reason} 5",
            "waiting": f"{CRASH_LOOP}: {crash_loop_message(pod, 'c', delay)}",
            "event": f"Warning: {back_off_event(pod, 'c')}",
        },
        real={
            "phase": pod.status.phase,
            "last": f"{last.reason} {last.exit_code}" if last else None,
            "waiting": f"{waiting.reason}: {waiting.message}" if waiting else None,
            "event": f"{event.type}: {event.message}" if event else None,
        },
    )


def _is_looping(pod: Pod) -> bool:
    return _first_waits(pod.status.container_statuses)


def _init_is_looping(pod: Pod) -> bool:
    return _first_waits(pod.status.init_container_statuses)


def _first_waits(statuses: Sequence[ContainerStatus]) -> bool:
    """Whether the first container waits to be started again."""
    waiting = statuses[0].state.waiting if statuses else None
    return waiting is not None and waiting.reason == CRASH_LOOP


@caused("an init container fails, never restarted", "init failure fails the pod")
def init_fails(bench: Bench) -> Outcome:
    name = "init-fails"
    manifest = a_pod(name, bench.node_name, shell("c", "exit 0"), initContainers=[shell("setup", "exit 9")])
    predicted = predicted_ending(as_pod(manifest), {"setup": ends(9)})
    predicted["c"] = f"waiting {NOT_YET}"
    return Outcome(predicted=predicted, real=read_ending(bench.run(manifest), predicted))


@caused("an init container fails, always restarted", "init failure keeps the pod Pending", seconds=8)
def init_loops(bench: Bench) -> Outcome:
    name = "init-loops"
    manifest = a_pod(
        name,
        bench.node_name,
        shell("c", "exit 0"),
        initContainers=[shell("setup", "exit 9")],
        restartPolicy="Always",
    )
    bench.create(manifest)
    pod = bench.await_pod(name, _init_is_looping, seconds=90)
    predicted = predicted_ending(as_pod(manifest), {"setup": ends(9)})
    predicted |= {"setup": f"waiting {CRASH_LOOP}", "c": f"waiting {NOT_YET}"}
    bench.delete(name)
    return Outcome(predicted=predicted, real=read_ending(pod, predicted))


@caused("a sidecar outlives the work", "sidecars do not decide the phase", seconds=6)
def sidecar(bench: Bench) -> Outcome:
    name = "sidecar"
    manifest = a_pod(
        name,
        bench.node_name,
        shell("c", "exit 0"),
        initContainers=[shell("side", "trap 'exit 0' TERM; sleep 3600 & wait", restartPolicy="Always")],
        terminationGracePeriodSeconds=2,
    )
    predicted = predicted_ending(as_pod(manifest), {"side": ends(0), "c": ends(0)})
    del predicted["side"]
    return Outcome(predicted=predicted, real=read_ending(bench.run(manifest), predicted))


@caused("a pod's own deadline", "DeadlineExceeded", seconds=8)
def deadline(bench: Bench) -> Outcome:
    name = "deadline"
    manifest = a_pod(name, bench.node_name, shell("c", "sleep 3600"), activeDeadlineSeconds=2)
    predicted: Facts = {
        "phase": "Failed",
        "reason": DEADLINE_REASON,
        "message": DEADLINE_TEXT,
        "DisruptionTarget": None,
        "event": f"Normal: {DEADLINE_TEXT}",
    }
    pod = bench.run(manifest)
    event = bench.await_event(name, DEADLINE_REASON)
    real = read_ending(pod, predicted)
    real["event"] = f"{event.type}: {event.message}" if event else None
    return Outcome(predicted=predicted, real=real)


@caused(
    "an init container's child is killed, it ends 0",
    "init OOM is a failure whatever the code",
    only_cgroup_v1=True,
)
def init_child_oom(bench: Bench) -> Outcome:
    name = "init-child-oom"
    setup = python("setup", child_dies_then(0), limits={"memory": "64Mi"})
    manifest = a_pod(name, bench.node_name, shell("c", "exit 0"), initContainers=[setup])
    bench.create(manifest)
    pod = bench.await_pod(name, lambda p: finished(p) or _init_over(p), seconds=20)
    pod = bench.await_pod(name, finished, seconds=4)
    main = pod.status.container_statuses[0]
    whole = kills_whole_container(cgroup_version=bench.cgroup_version)
    expected = after_oom_kill(Victim.CHILD, whole_container=whole, own_exit_code=0)
    assert expected is not None
    predicted: Facts = {
        "c": "never ran" if init_failed(expected) else "ran",
        "setup": f"{expected.reason} {expected.exit_code}",
    }
    real: Facts = {
        "c": "never ran" if main.state.terminated is None and main.state.running is None else "ran"
    }
    end = pod.status.init_container_statuses[0].state.terminated
    real["setup"] = f"{end.reason} {end.exit_code}" if end else None
    bench.delete(name)
    return Outcome(predicted=predicted, real=real)


def _init_over(pod: Pod) -> bool:
    statuses = pod.status.init_container_statuses
    return bool(statuses) and statuses[0].state.terminated is not None
