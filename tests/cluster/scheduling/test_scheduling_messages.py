"""FailedScheduling: real messages are read as they are, and what we write reads back."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tonnage.cluster.messages.scheduling import (
    EVENT_LIMIT,
    NO_CLAIMS,
    STATE_MISSING,
    Counted,
    FailedScheduling,
    as_event,
    counted,
    parse_failed_scheduling,
)
from tonnage.cluster.messages.scheduling_reasons import (
    NEVER_PREEMPTS,
    NO_VICTIMS,
    PLUGIN_OF,
    PREEMPTION_NO_HELP,
    narrowed_away,
    plugin_of,
    taint_in,
)

NO_HELP = "preemption: 0/4 nodes are available: 4 Preemption is not helpful for scheduling."
CAPTURED = (
    "0/4 nodes are available: 2 Insufficient nvidia.com/gpu, 2 node(s) had untolerated taint(s). "
    f"no new claims to deallocate, {NO_HELP}",
    "0/4 nodes are available: 4 Insufficient nvidia.com/gpu. "
    "no new claims to deallocate, preemption: not eligible due to preemptionPolicy=Never.",
    "0/4 nodes are available: 4 Insufficient nvidia.com/gpu. no new claims to deallocate, preemption: "
    "0/4 nodes are available: 2 No preemption victims found for incoming pod, "
    "2 Preemption is not helpful for scheduling.",
    "0/4 nodes are available: 4 Insufficient nvidia.com/gpu.",
    "0/4 nodes are available: 4 node(s) didn't satisfy plugin(s) [NodeAffinity]. "
    f"no new claims to deallocate, {NO_HELP}",
    '0/4 nodes are available: persistentvolumeclaim "missing" not found. not found',
)
"""As kube-scheduler v1.36.4 said them about two cpu nodes and two tainted GPU nodes."""


@pytest.mark.parametrize("text", CAPTURED)
def test_captured_messages_survive_reading_and_writing(text: str) -> None:
    parsed = parse_failed_scheduling(text)
    assert parsed is not None
    assert str(parsed) == text
    assert parsed.nodes == 4


def test_counts_and_the_nested_part_are_read() -> None:
    parsed = parse_failed_scheduling(CAPTURED[2])
    assert parsed is not None
    assert parsed.count("Insufficient nvidia.com/gpu") == 4
    assert isinstance(parsed.preemption, FailedScheduling)
    assert parsed.preemption.count(NO_VICTIMS) == 2
    assert parsed.remark == NO_CLAIMS


def test_an_older_cluster_names_the_taint() -> None:
    parsed = parse_failed_scheduling(
        "0/3 nodes are available: 1 node(s) had untolerated taint {nvidia.com/gpu: present}, "
        "2 node(s) had volume node affinity conflict. preemption:"
        " 0/3 nodes are available: 3 Preemption is not helpful for scheduling.."
    )
    assert parsed is not None
    assert taint_in(parsed.reasons[0].reason) == ("nvidia.com/gpu", "present")
    assert [plugin_of(item.reason) for item in parsed.reasons] == ["TaintToleration", "VolumeBinding"]
    assert parsed.preemption == FailedScheduling(3, (Counted(3, PREEMPTION_NO_HELP),))


def test_a_taint_without_a_value_is_read_too() -> None:
    assert taint_in("node(s) had untolerated taint {node-role.kubernetes.io/control-plane: }") == (
        "node-role.kubernetes.io/control-plane",
        "",
    )
    assert taint_in("node(s) had untolerated taint(s)") is None


@pytest.mark.parametrize(
    "text", ["", "no nodes available to schedule pods", "running PreFilter plugin: boom"]
)
def test_other_texts_are_left_alone(text: str) -> None:
    assert parse_failed_scheduling(text) is None


def test_reasons_are_sorted_as_texts() -> None:
    text = str(FailedScheduling(12, counted({"y": 2, "x": 10})))
    assert text == "0/12 nodes are available: 10 x, 2 y."


def test_events_are_cut_by_bytes() -> None:
    long = str(
        FailedScheduling(900, counted({f"Insufficient example.com/device-{n}": n for n in range(1, 60)}))
    )
    event = as_event(long)
    assert len(event.encode()) == EVENT_LIMIT
    assert event.endswith(" ...")
    parsed = parse_failed_scheduling(event)
    assert parsed is not None
    assert parsed.cut
    assert parsed.count("Insufficient example.com/device-1") == 1
    assert as_event("short") == "short"


reasons = st.one_of(
    st.sampled_from(sorted(PLUGIN_OF)),
    st.sampled_from(["Insufficient cpu", "Insufficient nvidia.com/gpu", narrowed_away(("NodeAffinity",))]),
)
histograms = st.dictionaries(reasons, st.integers(1, 5000), min_size=1, max_size=6)
nested = st.builds(
    lambda nodes, found: FailedScheduling(nodes, counted(found)), st.integers(1, 5000), histograms
)
messages = st.one_of(
    st.builds(
        lambda nodes, found, remark, preemption: FailedScheduling(
            nodes, counted(found), remark=remark, preemption=preemption
        ),
        st.integers(1, 5000),
        histograms,
        st.sampled_from(["", NO_CLAIMS]),
        st.one_of(st.none(), nested, st.just(NEVER_PREEMPTS)),
    ),
    st.builds(
        lambda nodes, claim: FailedScheduling(
            nodes, stopped=f'persistentvolumeclaim "{claim}" not found', remark=STATE_MISSING
        ),
        st.integers(1, 5000),
        st.from_regex(r"[a-z][a-z0-9.-]{0,20}[a-z0-9]", fullmatch=True),
    ),
)


@given(messages)
def test_whatever_we_write_reads_back_the_same(message: FailedScheduling) -> None:
    assert parse_failed_scheduling(str(message)) == message


@given(st.text(max_size=200))
def test_no_text_breaks_the_reader(text: str) -> None:
    parse_failed_scheduling(text)
    parse_failed_scheduling(f"0/3 nodes are available: {text}")


@pytest.mark.parametrize("reason", sorted(PLUGIN_OF))
def test_every_reason_has_its_plugin(reason: str) -> None:
    assert plugin_of(reason) == PLUGIN_OF[reason]


@pytest.mark.parametrize(
    ("reason", "plugin"),
    [
        ('persistentvolumeclaim "data" not found', "VolumeRestrictions"),
        ('persistentvolumeclaim "data" is being deleted', "VolumeBinding"),
        ("resource claim team/gpus is in the process of being allocated", "DynamicResources"),
        ("request gpu: device class big.example.com does not exist", "DynamicResources"),
    ],
)
def test_reasons_that_name_an_object_have_their_plugin_too(reason: str, plugin: str) -> None:
    assert plugin_of(reason) == plugin


def test_unknown_words_have_no_plugin() -> None:
    assert plugin_of("node(s) were eaten") is None
    assert plugin_of(narrowed_away(("NodeAffinity", "DynamicResources"))) == "DynamicResources"
