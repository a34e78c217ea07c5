"""What the Eviction API answers."""

import msgspec
import pytest
from node_builders import a_pod

from tonnage.cluster.ending.disrupting import answer_eviction
from tonnage.cluster.messages.disruption import OVER_BUDGET, disruption_condition, disruption_of
from tonnage.cluster.objects import PodDisruptionBudget

READY = {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}


def a_budget(name="b", *, allowed=0, healthy=1, desired=1, **parts):
    body = {
        "metadata": {"name": name, "namespace": "ns", **parts.pop("metadata", {})},
        "spec": {"selector": {"matchLabels": {"app": "x"}}, **parts.pop("spec", {})},
        "status": {
            "disruptionsAllowed": allowed,
            "currentHealthy": healthy,
            "desiredHealthy": desired,
            **parts.pop("status", {}),
        },
    }
    return msgspec.convert(body, PodDisruptionBudget)


def guarded(**status):
    return a_pod("p", labels={"app": "x"}, status=status or READY)


def test_a_spent_budget_refuses_and_says_what_it_needs():
    answer = answer_eviction(guarded(), [a_budget()])
    assert (answer.code, answer.message) == (429, OVER_BUDGET)
    assert answer.cause == "The disruption budget b needs 1 healthy pods and has 1 currently"


def test_an_allowed_disruption_evicts():
    assert answer_eviction(guarded(), [a_budget(allowed=1)]).evicted


def test_no_budget_no_protection():
    assert answer_eviction(guarded(), []).evicted
    assert answer_eviction(guarded(), [a_budget(metadata={"namespace": "other"})]).evicted
    assert answer_eviction(a_pod("p", labels={"app": "y"}, status=READY), [a_budget()]).evicted


@pytest.mark.parametrize("phase", ["Pending", "Succeeded", "Failed"])
def test_pods_that_do_no_work_are_not_protected(phase):
    assert answer_eviction(guarded(phase=phase), [a_budget()]).evicted


def test_two_budgets_are_more_than_the_api_can_ask():
    assert answer_eviction(guarded(), [a_budget("a", allowed=1), a_budget("b", allowed=1)]).code == 500


def test_an_unready_pod_goes_when_the_others_are_healthy_or_the_policy_says_so():
    unready = guarded(phase="Running")
    assert answer_eviction(unready, [a_budget(healthy=1, desired=1)]).evicted
    assert not answer_eviction(unready, [a_budget(healthy=0, desired=1)]).evicted
    always = a_budget(healthy=0, spec={"unhealthyPodEvictionPolicy": "AlwaysAllow"})
    assert answer_eviction(unready, [always]).evicted


def test_a_budget_the_controller_has_not_seen_refuses():
    answer = answer_eviction(guarded(), [a_budget(allowed=1, metadata={"generation": 2})])
    assert answer.cause == "The disruption budget b is still being processed by the server."


def test_a_failed_sync_is_named_before_the_numbers():
    broken = {"type": "DisruptionAllowed", "status": "False", "reason": "SyncFailed", "message": "no scale"}
    answer = answer_eviction(guarded(), [a_budget(status={"conditions": [broken]})])
    assert answer.cause == (
        "The disruption budget b does not allow evicting pods currently because it failed sync: no scale"
    )
    other = {**broken, "reason": "InsufficientPods", "message": "m"}
    assert answer_eviction(guarded(), [a_budget(healthy=2, status={"conditions": [other]})]).cause == (
        "The disruption budget b does not allow evicting pods currently (InsufficientPods): m"
    )
    assert answer_eviction(guarded(), [a_budget(healthy=2)]).cause == (
        "The disruption budget b does not allow evicting pods currently"
    )


def test_a_negative_allowance_is_forbidden():
    assert answer_eviction(guarded(), [a_budget(allowed=-1)]).code == 403


def test_the_condition_tells_who_disrupted_a_pod():
    condition = {"type": "DisruptionTarget", "status": "True", "reason": "EvictionByEvictionAPI"}
    pod = a_pod("p", status={"conditions": [condition]})
    assert disruption_of(pod) == "EvictionByEvictionAPI"
    assert disruption_condition(disruption_of(pod)).message == "Eviction API: evicting"
    assert disruption_of(a_pod("p")) is None
