"""LimitRanges, quotas, priority classes and claims: which Kubernetes stores, and as what."""

from __future__ import annotations

import pytest
from admission_builders import a_claim, a_class, a_limit_range, a_quota

from tonnage.cluster.admission.admitting import (
    NamespacePolicies,
    Rejected,
    Stored,
    admit_claim,
    admit_limit_range,
    admit_priority_class,
    admit_quota,
)

FREE = NamespacePolicies()


def only(answers):
    (answer,) = answers
    return answer


def errors(answers):
    answer = only(answers)
    assert isinstance(answer, Rejected), answer
    return answer.errors


def test_services_cannot_be_scoped_and_sink_the_whole_quota():
    selector = {
        "matchExpressions": [{"scopeName": "PriorityClass", "operator": "In", "values": ["critical", "high"]}]
    }
    quota = a_quota(hard={"requests.nvidia.com/gpu": "16", "services": "50"}, scopeSelector=selector)

    assert errors(admit_quota(quota, FREE)) == {
        "spec.scopeSelector.matchExpressions: Invalid value: "
        '{"MatchExpressions":[{"ScopeName":"PriorityClass",'
        '"Operator":"In","Values":["critical","high"]}]}: unsupported scope applied to resource'
    }


def test_names_with_a_slash_escape_the_scope_check():
    quota = a_quota(hard={"requests.nvidia.com/gpu": "8", "count/jobs.batch": "5"}, scopes=["PriorityClass"])

    assert isinstance(only(admit_quota(quota, FREE)), Stored)


@pytest.mark.parametrize("key", ["limits.nvidia.com/gpu", "nvidia.com/gpu", "anything.example.com/at-all"])
def test_any_qualified_key_is_accepted(key):
    assert isinstance(only(admit_quota(a_quota(hard={key: "8"}), FREE)), Stored)


def test_limits_on_huge_pages_are_no_quota_key():
    assert (
        'spec.hard[limits.hugepages-2Mi]: Invalid value: "limits.hugepages-2Mi": must be '
        "a standard resource for quota"
    ) in errors(admit_quota(a_quota(hard={"limits.hugepages-2Mi": "4Mi"}), FREE))


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        ({"scopes": ["BestEffort", "NotBestEffort"]}, "conflicting scopes"),
        ({"scopes": ["Nowhere"]}, "unsupported scope"),
        (
            {
                "scopeSelector": {
                    "matchExpressions": [{"scopeName": "BestEffort", "operator": "DoesNotExist"}]
                }
            },
            "must be 'Exists'",
        ),
        (
            {"scopeSelector": {"matchExpressions": [{"scopeName": "PriorityClass", "operator": "In"}]}},
            "at least one value",
        ),
        (
            {
                "scopeSelector": {
                    "matchExpressions": [
                        {"scopeName": "PriorityClass", "operator": "Exists", "values": ["x"]}
                    ]
                }
            },
            "must be no value",
        ),
        (
            {"scopeSelector": {"matchExpressions": [{"scopeName": "PriorityClass", "operator": "Near"}]}},
            "not a valid selector",
        ),
    ],
)
def test_scopes_must_make_sense(spec, words):
    assert any(words in error for error in errors(admit_quota(a_quota(hard={"pods": "1"}, **spec), FREE)))


def test_pods_come_whole():
    assert errors(admit_quota(a_quota(hard={"pods": "1500m"}), FREE)) == {
        'spec.hard[pods]: Invalid value: "1500m": must be an integer'
    }


@pytest.mark.parametrize(
    ("item", "error"),
    [
        (
            {"type": "Container", "min": {"cpu": "2"}, "max": {"cpu": "1"}},
            'spec.limits[0].min[cpu]: Invalid value: "2": min value 2 is greater than max value 1',
        ),
        (
            {"type": "Pod", "default": {"cpu": "1"}},
            "spec.limits[0].default: Forbidden: may not be specified when `type` is 'Pod'",
        ),
        (
            {"type": "PersistentVolumeClaim", "max": {"cpu": "1"}},
            "spec.limits[0].limits: Required value: either minimum or maximum storage value is required, "
            "but neither was provided",
        ),
        (
            {"type": "Container", "maxLimitRequestRatio": {"cpu": "500m"}},
            'spec.limits[0].maxLimitRequestRatio[cpu]: Invalid value: "500m": ratio 500m is less than 1',
        ),
        (
            {"type": "Pod", "min": {"cpu": "1"}, "max": {"cpu": "2"}, "maxLimitRequestRatio": {"cpu": "4"}},
            'spec.limits[0].maxLimitRequestRatio[cpu]: Invalid value: "4": ratio 4 is '
            "greater than max/min = 2.000000",
        ),
        (
            {
                "type": "Container",
                "default": {"nvidia.com/gpu": "2"},
                "defaultRequest": {"nvidia.com/gpu": "1"},
            },
            'spec.limits[0].defaultRequest[nvidia.com/gpu]: Invalid value: "1": '
            "default value 2 must equal to defaultRequest value 1 in nvidia.com/gpu",
        ),
        (
            {"type": "Node"},
            'spec.limits[0].type: Invalid value: "Node": must be a standard limit type or fully qualified',
        ),
    ],
)
def test_walls_must_stand_in_order(item, error):
    assert error in errors(admit_limit_range(a_limit_range(item), FREE))


def test_a_type_may_appear_once():
    items = ({"type": "Pod", "max": {"cpu": "1"}}, {"type": "Pod", "max": {"memory": "1Gi"}})

    assert errors(admit_limit_range(a_limit_range(*items), FREE)) == {
        'spec.limits[1].type: Duplicate value: "Pod"'
    }


def test_the_stored_limit_range_shows_what_a_maximum_really_means():
    answer = only(
        admit_limit_range(a_limit_range({"type": "Container", "max": {"nvidia.com/gpu": "8"}}), FREE)
    )

    assert answer.object.spec.limits[0].default == {"nvidia.com/gpu": "8"}


def test_a_quota_can_count_policies_too():
    full = NamespacePolicies(
        quotas=[a_quota(hard={"count/limitranges": "1"}, used={"count/limitranges": "1"})]
    )

    assert errors(admit_limit_range(a_limit_range({"type": "Pod", "max": {"cpu": "1"}}), full)) == {
        "exceeded quota: q, requested: count/limitranges=1, used: count/limitranges=1, "
        "limited: count/limitranges=1"
    }


def test_users_priorities_end_at_a_billion():
    assert errors(admit_priority_class(a_class("ml-critical", 1_000_000_001), [])) == {
        "value: Forbidden: maximum allowed value of a user defined priority is 1000000000"
    }


def test_the_system_prefix_is_reserved():
    assert errors(admit_priority_class(a_class("system-mine", 5), [])) == {
        "metadata.name: Forbidden: priority class names with 'system-' prefix are "
        "reserved for system use only. "
        "error: system-mine is not a known system priority class"
    }


def test_only_one_class_may_be_the_default():
    existing = [a_class("d1", 5, globalDefault=True)]

    assert errors(admit_priority_class(a_class("d2", 6, globalDefault=True), existing)) == {
        "PriorityClass d1 is already marked as default. Only one default can exist"
    }


def test_a_class_that_exists_is_not_made_twice():
    assert only(admit_priority_class(a_class("a", 1), [a_class("a", 1)])).status == 409


def test_a_class_preempts_unless_it_says_otherwise():
    assert only(admit_priority_class(a_class("a", 1), [])).object.preemption_policy == "PreemptLowerPriority"


@pytest.mark.parametrize(
    ("claim", "error"),
    [
        (a_claim(None), "spec.resources[storage]: Required value"),
        (a_claim("0"), 'spec.resources[storage]: Invalid value: "0": must be greater than zero'),
        (a_claim(accessModes=[]), "spec.accessModes: Required value: at least 1 access mode is required"),
        (
            a_claim(accessModes=["ReadWriteOncePod", "ReadWriteOnce"]),
            "spec.accessModes: Forbidden: may not use ReadWriteOncePod with other access modes",
        ),
    ],
)
def test_claims_are_checked(claim, error):
    assert errors(admit_claim(claim, FREE)) == {error}
