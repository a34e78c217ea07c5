"""Settings come from variables; whatever is wrong is named, all of it at once."""

from __future__ import annotations

import pytest

from tonnage_agent.settings import Settings, SettingsError, read_settings


def test_nothing_set_is_a_plain_wrapper():
    assert read_settings({"PATH": "/bin"}) == Settings()


def test_a_cluster_sets_everything():
    found = read_settings({
        "TONNAGE_RUN": "llama", "TONNAGE_ATTEMPT": "3", "TONNAGE_NODE": "1", "TONNAGE_NODES": "2",
        "TONNAGE_PEERS": "a-0.a:29400, a-1.a:29400", "TONNAGE_GRACE_SECONDS": "120", "TONNAGE_BUDGET": "5000000",
    })  # fmt: skip

    assert (found.run, found.attempt, found.node, found.nodes) == ("llama", 3, 1, 2)
    assert found.peers == ("a-0.a:29400", "a-1.a:29400")
    assert (found.budget, found.reserve_seconds) == (5000000, 2.0)


def test_an_indexed_job_says_which_node_this_is():
    assert read_settings({"JOB_COMPLETION_INDEX": "4"}).node == 4
    assert read_settings({"JOB_COMPLETION_INDEX": "4", "TONNAGE_NODE": "2"}).node == 2


@pytest.mark.parametrize(("grace", "reserve"), [("30", 2.0), ("5", 0.5), ("0", 0.0)])
def test_the_agent_keeps_two_seconds_or_a_tenth(grace, reserve):
    assert read_settings({"TONNAGE_GRACE_SECONDS": grace}).reserve_seconds == reserve


@pytest.mark.parametrize(
    ("variable", "value"),
    [
        ("ATTEMPT", "two"), ("NODE", "-1"), ("SAMPLE_SECONDS", "0"), ("SAMPLE_SECONDS", "nan"),
        ("METRICS_PORT", "70000"),
        ("DEADLINE", "2026-11-15"), ("BUDGET", "4.5"), ("PEERS", "a,b"), ("PEERS", "a:0"), ("STEP_PATTERN", "step"),
        ("STEP_PATTERN", "(?P<step>"), ("MEMORY_LIMIT", "4Gi"), ("GRACE_SECONDS", "-1"), ("GRACE_SECONDS", "inf"),
        ("LINK_BYTES_PER_SECOND", "fast"),
    ],
)  # fmt: skip
def test_what_cannot_be_read_is_named_with_what_was_expected(variable, value):
    with pytest.raises(SettingsError, match=rf"TONNAGE_{variable}: found .*; expected"):
        read_settings({f"TONNAGE_{variable}": value})


def test_a_node_that_is_not_among_the_peers_is_named():
    with pytest.raises(SettingsError, match=r"lists 2 pods; this one is TONNAGE_NODE=5, counted from 0"):
        read_settings({"TONNAGE_NODE": "5", "TONNAGE_PEERS": "a:1,b:1"})
