"""From a class name to the number the scheduler compares."""

from __future__ import annotations

from admission_builders import a_class, a_pod, admitted, rejected

LOW = a_class("low", 10, preemptionPolicy="Never")
USUAL = a_class("usual", 77, globalDefault=True, preemptionPolicy="PreemptLowerPriority")


def priority(pod):
    return pod.spec.priority_class_name, pod.spec.priority, pod.spec.preemption_policy


def test_without_any_class_the_priority_is_zero_and_the_pod_preempts():
    assert priority(admitted(a_pod()).pod) == ("", 0, "PreemptLowerPriority")


def test_the_global_default_names_itself_in_the_pod():
    assert priority(admitted(a_pod(), priority_classes=[LOW, USUAL]).pod) == (
        "usual",
        77,
        "PreemptLowerPriority",
    )


def test_of_several_defaults_the_lowest_wins():
    other = a_class("other", 5, globalDefault=True, preemptionPolicy="Never")

    assert admitted(a_pod(), priority_classes=[USUAL, other]).pod.spec.priority == 5


def test_a_named_class_gives_number_and_policy():
    pod = admitted(a_pod(priorityClassName="low"), priority_classes=[LOW, USUAL]).pod

    assert priority(pod) == ("low", 10, "Never")


def test_the_system_classes_always_exist():
    assert admitted(a_pod(priorityClassName="system-node-critical")).pod.spec.priority == 2_000_001_000


def test_an_unknown_class_is_refused():
    assert rejected(a_pod(priorityClassName="nope")).message == (
        'pods "p" is forbidden: no PriorityClass with name nope was found'
    )


def test_a_number_may_be_repeated_but_not_invented():
    assert admitted(a_pod(priority=0))
    assert rejected(a_pod(priority=5)).errors == {
        "the integer value of priority (5) must not be provided in pod spec; "
        "priority admission controller computed 0 from the given PriorityClass name"
    }


def test_a_policy_may_not_contradict_the_class():
    pod = a_pod(priorityClassName="low", preemptionPolicy="PreemptLowerPriority")

    assert rejected(pod, priority_classes=[LOW]).errors == {
        "the string value of PreemptionPolicy (PreemptLowerPriority) must not be provided in pod spec; "
        "priority admission controller computed Never from the given PriorityClass name"
    }
