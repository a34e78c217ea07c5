"""Whatever is seen, the judge answers, the same each time, and never two things that exclude each other."""

from __future__ import annotations

import datetime as dt
from typing import get_args

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.running.situations import NOW, policies

from tonnage.running.actions import Finish, GiveUp, Launch, Record, Stop, Suspend
from tonnage.running.attempts import Attempt, Cause, Ending, Size
from tonnage.running.deciding import decide
from tonnage.running.observing import Bounds, MemoryNow, Observation, Progress, Refit, Saved, Situation, State

TIMES = st.floats(-1e6, 1e6).map(lambda seconds: NOW + dt.timedelta(seconds=seconds))
MAYBE_TIME = st.none() | TIMES
BYTES = st.none() | st.integers(1, 2**45)
STEPS = st.none() | st.integers(0, 10**6)
SIZES = st.builds(
    Size,
    memory=BYTES,
    memory_request=BYTES,
    shm=BYTES,
    disk=BYTES,
    micro_batch=st.none() | st.integers(1, 64),
    accumulation=st.none() | st.integers(1, 64),
)
ENDINGS = st.builds(
    Ending,
    when=TIMES,
    cause=st.sampled_from([None, *get_args(Cause)]),
    code=st.sampled_from(["", "MEM-01", "MEM-05", "GPU-01e", "PRE-01", "STO-01", "MEM-03", "UNKNOWN"]),
    summary=st.sampled_from(["", "rank 5 OOM-killed"]),
    step=STEPS,
    safe_step=STEPS,
    lost_seconds=st.none() | st.floats(0, 1e6),
    peak=BYTES,
    growth_per_second=st.none() | st.floats(-1e12, 1e12),
    seconds_left=st.none() | st.floats(0, 1e9),
)
OBSERVATIONS = st.builds(
    Observation,
    state=st.sampled_from(get_args(State)),
    since=MAYBE_TIME,
    held_by=st.sampled_from(["", "quota"]),
    progress=st.none()
    | st.builds(
        Progress, step=st.integers(0, 999), seconds_per_step=st.none() | st.floats(0, 1e4), when=MAYBE_TIME
    ),
    saved=st.none() | st.builds(Saved, step=st.integers(0, 999), when=TIMES),
    memory=st.none() | st.builds(MemoryNow, usage=st.integers(0, 2**45)),
    ending=st.none(),
)
POLICIES = st.builds(
    policies,
    deadline_seconds=st.none() | st.floats(1, 1e6),
    max_wait_seconds=st.none() | st.floats(1, 1e6),
    budget=st.none() | st.integers(1, 10**9),
    on_exceed=st.sampled_from(["checkpointAndStop", "suspend", "warn"]),
    grow_by=st.none() | st.floats(1.001, 10),
    max_memory=BYTES,
    on_gpu_oom=st.sampled_from(["refit", "largerGpu", "fail"]),
    raise_memory=st.booleans(),
    backoff_first_seconds=st.floats(0, 100),
)


@st.composite
def situations(draw: st.DrawFn) -> Situation:
    over = draw(st.lists(st.tuples(SIZES, ENDINGS), max_size=4))
    attempts = [
        Attempt(number=n, size=size, created=NOW, started=draw(MAYBE_TIME), ending=ending)
        for n, (size, ending) in enumerate(over, start=1)
    ]
    if draw(st.booleans()):
        attempts.append(
            Attempt(number=len(over) + 1, size=draw(SIZES), created=NOW, started=draw(MAYBE_TIME))
        )
    seen = draw(OBSERVATIONS)
    if seen.state == "ended" and draw(st.booleans()):
        seen = Observation(state="ended", since=seen.since, ending=draw(ENDINGS))
    return Situation(
        name="bert",
        wish=draw(st.sampled_from(["run", "stop", "suspend"])),
        attempts=tuple(attempts),
        observation=seen,
        bounds=Bounds(memory=draw(BYTES), memory_wall=draw(st.sampled_from(["", "largest node"]))),
        first_size=draw(SIZES),
        refits=tuple(
            draw(
                st.lists(
                    st.builds(Refit, micro_batch=st.integers(1, 8), accumulation=st.integers(1, 8)),
                    max_size=3,
                )
            )
        ),
        spent=draw(st.integers(0, 10**9)),
        ran_seconds=draw(st.floats(0, 1e6)),
        forgiven=draw(st.integers(0, 5)),
    )


@given(situations(), POLICIES)
@settings(max_examples=400, deadline=None)
def test_the_judge_always_answers_and_never_contradicts_itself(situation: Situation, rules: object) -> None:
    actions = decide(situation, rules, NOW)  # type: ignore[arg-type]
    assert actions == decide(situation, rules, NOW)  # type: ignore[arg-type]
    deciding = [each for each in actions if isinstance(each, Launch | Stop | Suspend | Finish | GiveUp)]
    assert len(deciding) <= 1, actions
    records = [each for each in actions if isinstance(each, Record)]
    assert records == list(actions[: len(records)]), "what ended is written down before anything follows"
    is_live = situation.attempts and situation.attempts[-1].ending is None and not records
    for each in deciding:
        if isinstance(each, Launch):
            assert situation.wish == "run"
            assert each.number == len(situation.attempts) + (0 if is_live else 1)
        if is_live and isinstance(each, Launch):
            assert situation.observation.state == "absent", "a live attempt is not launched twice"
        if isinstance(each, GiveUp):
            assert each.why


@given(situations(), POLICIES)
@settings(max_examples=200, deadline=None)
def test_a_run_nobody_wants_to_run_comes_to_rest(situation: Situation, rules: object) -> None:
    if situation.wish == "run" or not situation.attempts or situation.attempts[-1].ending is None:
        return
    (action,) = decide(situation, rules, NOW)  # type: ignore[arg-type]
    assert isinstance(action, Finish | GiveUp | Suspend)
