"""A sample travels as one JSON line."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tonnage_agent.telemetry import NotASampleError, Sample, parse_sample

sizes = st.integers(0, 2**60)
samples = st.builds(
    Sample,
    when=st.floats(0, 4e9),
    source=st.sampled_from(["cgroup-v1", "cgroup-v2"]),
    usage_bytes=sizes,
    working_set_bytes=sizes,
    limit_bytes=st.none() | sizes,
    anon_bytes=st.none() | sizes,
    file_bytes=st.none() | sizes,
    shmem_bytes=st.none() | sizes,
    peak_bytes=st.none() | sizes,
    oom_kills=st.none() | st.integers(0, 10**6),
)


@given(samples)
def test_a_sample_survives_its_journey(sample):
    line = sample.as_line()
    assert "\n" not in line
    assert parse_sample(line) == sample


def test_what_the_gpus_of_a_line_come_to():
    line = {"when": 1, "source": "cgroup-v2", "usageBytes": 1, "workingSetBytes": 1}
    gpus = [
        {"index": 0, "used": 7, "activity": 90},
        {"index": 1, "used": 9, "activity": 41},
        {"lost": True},
        5,
    ]
    assert parse_sample(json.dumps({**line, "gpus": gpus})).gpu_used_bytes == 9
    assert parse_sample(json.dumps({**line, "gpus": gpus})).gpu_activity == 66
    for told in ([], [{"index": 0, "lost": True}], "none", [{"used": "much"}]):
        found = parse_sample(json.dumps({**line, "gpus": told}))
        assert (found.gpu_used_bytes, found.gpu_activity) == (None, None)


@given(samples)
def test_an_older_reader_survives_a_newer_agent(sample):
    richer = {**json.loads(sample.as_line()), "gpuBytes": [1, 2]}
    assert parse_sample(json.dumps(richer)) == sample


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ('{"when":1,"source":"cgro', "not JSON"),
        ("[1]", "expected an object, found list"),
        ('{"when":1,"source":"x","usageBytes":1}', "missing workingSetBytes"),
        (
            '{"when":1,"source":"x","usageBytes":"1","workingSetBytes":1}',
            "usageBytes: expected a int, found '1'",
        ),
        (
            '{"when":1,"source":"x","usageBytes":true,"workingSetBytes":1}',
            "usageBytes: expected a int, found True",
        ),
    ],
)
def test_a_torn_or_foreign_line_is_refused_with_a_reason(line, why):
    with pytest.raises(NotASampleError) as caught:
        parse_sample(line)
    assert why in str(caught.value)
