"""Quota refusals are read as they are written, old forms too."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tonnage.cluster.messages.quota import (
    MustSpecify,
    NegativeUsage,
    NoCoveringQuota,
    QuotaExceeded,
    QuotaStatusUnknown,
    parse_quota_refusal,
)

names = st.from_regex(r"[a-z0-9]([-a-z0-9.]{0,20}[a-z0-9])?", fullmatch=True)
keys = st.sampled_from(
    ["cpu", "pods", "requests.cpu", "limits.memory", "requests.nvidia.com/gpu", "count/jobs.batch"]
)
amounts = st.sampled_from(["0", "1", "500m", "1.500", "32Gi", "1e3"])
lists = st.dictionaries(keys, amounts, min_size=1, max_size=4)
some_keys = st.sets(keys, min_size=1).map(lambda found: tuple(sorted(found)))
containers = st.sets(names, min_size=1, max_size=3).map(lambda found: tuple(sorted(found)))
refusals = st.one_of(
    st.builds(QuotaExceeded, quota=names, requested=lists, used=lists, limited=lists),
    st.builds(MustSpecify, quota=names, missing=st.dictionaries(keys, containers, min_size=1)),
    st.builds(MustSpecify, quota=names, missing=st.dictionaries(keys, st.just(()), min_size=1)),
    st.builds(QuotaStatusUnknown, quota=names, resources=some_keys),
    st.builds(NoCoveringQuota, resources=some_keys),
    st.builds(NoCoveringQuota, scopes=st.just("[{PriorityClass In [critical]}]")),
    st.builds(NegativeUsage, resources=some_keys),
)


@given(
    refusals, st.sampled_from(["", 'pods "p" is forbidden: ', 'Error creating: pods "job-x" is forbidden: '])
)
def test_what_is_written_is_read_back(refusal, prefix):
    assert parse_quota_refusal(f"{prefix}{refusal}") == refusal


@pytest.mark.parametrize(
    ("message", "quota", "over"),
    [
        (
            'pods "x" is forbidden: exceeded quota: mem, requested: '
            "requests.memory=700Mi,used: requests.memory=600Mi, "
            "limited: requests.memory=1Gi",
            "mem",
            {"requests.memory": "700Mi"},
        ),
        (
            'Error creating: pods "t-0" is forbidden: exceeded quota: gpu-quota, requested: '
            "requests.nvidia.com/gpu=4, "
            "used: requests.nvidia.com/gpu=8, limited: requests.nvidia.com/gpu=8",
            "gpu-quota",
            {"requests.nvidia.com/gpu": "4"},
        ),
    ],
)
def test_messages_as_people_paste_them(message, quota, over):
    refusal = parse_quota_refusal(message)

    assert isinstance(refusal, QuotaExceeded)
    assert (refusal.quota, refusal.requested) == (quota, over)


def test_the_old_form_names_keys_and_no_containers():
    refusal = parse_quota_refusal(
        'pods "x" is forbidden: failed quota: q: must specify limits.cpu,limits.memory'
    )

    assert refusal == MustSpecify(quota="q", missing={"limits.cpu": (), "limits.memory": ()})


def test_other_messages_speak_of_no_quota():
    assert parse_quota_refusal("0/3 nodes are available: 3 Insufficient cpu.") is None
