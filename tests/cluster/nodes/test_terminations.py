"""How containers end, and what that makes of the pod."""

import pytest
from node_builders import a_container, a_pod, ended, running, statuses

from tonnage.cluster.ending.terminations import (
    KILLED_ENDINGS,
    back_off_event,
    crash_loop_message,
    go_duration,
    init_failed,
    pod_phase,
    restart_delay_seconds,
    should_restart,
    terminal_conditions,
)
from tonnage.cluster.objects.pod import TerminatedState


@pytest.mark.parametrize(
    ("policy", "codes", "phase"),
    [
        ("Never", [0], "Succeeded"),
        ("Never", [7], "Failed"),
        ("OnFailure", [0], "Succeeded"),
        ("OnFailure", [1], "Running"),
        ("Always", [0], "Running"),
        ("Never", [0, 1], "Failed"),
        ("OnFailure", [0, 1], "Running"),
    ],
)
def test_a_pod_is_over_when_nothing_will_be_restarted(policy, codes, phase):
    names = [f"c{i}" for i in range(len(codes))]
    pod = a_pod("p", *map(a_container, names), restartPolicy=policy)
    assert pod_phase(pod, statuses(*(ended(n, code) for n, code in zip(names, codes, strict=True)))) == phase


def test_an_oom_killed_child_leaves_a_succeeded_pod_when_pid_1_exits_zero():
    pod = a_pod("p", restartPolicy="Never")
    assert pod_phase(pod, statuses(ended(exit_code=0, reason="OOMKilled"))) == "Succeeded"


def test_a_terminal_pod_is_not_waiting_for_restarts():
    pod = a_pod("p", restartPolicy="Always")
    assert pod_phase(pod, statuses(ended(exit_code=1)), terminal=True) == "Failed"


def test_one_running_container_keeps_the_pod_running():
    pod = a_pod("p", a_container("a"), a_container("b"), restartPolicy="Never")
    assert pod_phase(pod, statuses(ended("a", 1), running("b"))) == "Running"


def test_a_failed_init_container_fails_the_pod_only_when_it_is_not_restarted():
    init = [a_container("setup")]
    waiting = {"name": "c", "state": {"waiting": {"reason": "PodInitializing"}}}
    never = a_pod("p", initContainers=init, restartPolicy="Never")
    always = a_pod("p", initContainers=init, restartPolicy="Always")
    assert pod_phase(never, statuses(ended("setup", 1), waiting)) == "Failed"
    assert pod_phase(always, statuses(ended("setup", 1), waiting)) == "Pending"
    assert pod_phase(never, statuses(ended("setup", 0), running("c"))) == "Running"


def test_a_finished_sidecar_does_not_decide_the_phase():
    pod = a_pod("p", initContainers=[a_container("side", restartPolicy="Always")], restartPolicy="Never")
    assert pod_phase(pod, statuses(ended("side", 137), ended("c", 0))) == "Succeeded"


def test_nothing_known_yet_is_pending():
    assert pod_phase(a_pod("p"), []) == "Pending"
    waiting = {"name": "c", "state": {"waiting": {"reason": "ContainerCreating"}}}
    assert pod_phase(a_pod("p"), statuses(waiting)) == "Pending"


def test_a_crash_looping_container_is_running_as_far_as_the_phase_goes():
    crashing = {
        "name": "c",
        "state": {"waiting": {"reason": "CrashLoopBackOff"}},
        "lastState": {"terminated": {"exitCode": 1}},
    }
    assert pod_phase(a_pod("p", restartPolicy="Always"), statuses(crashing)) == "Running"


def test_an_oom_kill_fails_an_init_container_whatever_it_returned():
    assert init_failed(TerminatedState(exit_code=0, reason="OOMKilled"))
    assert not init_failed(TerminatedState(exit_code=0, reason="Completed"))


def test_a_policy_on_the_container_beats_the_pods():
    pod = a_pod("p", a_container("c", restartPolicy="Never"), restartPolicy="Always")
    assert not should_restart(pod, pod.spec.containers[0], 1)


def test_restarts_are_delayed_from_the_second_on():
    assert [restart_delay_seconds(n) for n in (1, 2, 3, 6, 7, 50)] == [0, 10, 20, 160, 300, 300]


def test_the_crash_loop_message_names_pod_namespace_and_uid():
    text = crash_loop_message(a_pod("p"), "c", 10)
    assert text == "back-off 10s restarting failed container=c pod=p_ns(uid-p)"
    assert [go_duration(s) for s in (10, 80, 160, 300)] == ["10s", "1m20s", "2m40s", "5m0s"]


def test_a_finished_pod_says_so_in_its_conditions():
    assert [(c.type, c.reason) for c in terminal_conditions("Failed")] == [
        ("Ready", "PodFailed"),
        ("ContainersReady", "PodFailed"),
    ]
    assert [(c.type, c.status) for c in terminal_conditions("Succeeded")][-1] == ("Initialized", "True")


def test_a_container_killed_with_its_pod_shows_137_one_way_or_the_other():
    assert {end.exit_code for end in KILLED_ENDINGS} == {137}
    assert [end.reason for end in KILLED_ENDINGS] == ["Error", "ContainerStatusUnknown"]


def test_the_back_off_event_names_container_and_pod():
    pod = a_pod("p")
    assert back_off_event(pod, "c") == "Back-off restarting failed container c in pod p_ns(uid-p)"
