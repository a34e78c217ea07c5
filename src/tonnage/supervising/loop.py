"""Observe, decide, act: the loop that keeps one run alive.

Everything it learns is written down before it is acted upon, and every act may be repeated, so it can be killed
between any two lines and the next supervisor goes on. It holds one run's lock for as long as it lives.
"""

from __future__ import annotations

import datetime as dt
import re
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace

from tonnage.clock import Clock
from tonnage.errors import RefusedError, TonnageError
from tonnage.running.actions import (
    Action,
    Finish,
    GiveUp,
    Launch,
    RaiseInPlace,
    Record,
    Save,
    Stop,
    Suspend,
    Tell,
)
from tonnage.running.attempts import Attempt
from tonnage.running.deciding import decide, needs_ending
from tonnage.running.endings import ending_of
from tonnage.running.forecasting import forecast_of
from tonnage.running.history import RunRecord
from tonnage.running.losses import HEALED, loss_of
from tonnage.running.observing import Forecast, Observation, Situation
from tonnage.running.policies import Policies
from tonnage.running.port import HealingPlace, RunPlace, SharedPlace
from tonnage.running.remedies.host_oom import raised
from tonnage.running.spending import ran_seconds, spent_on
from tonnage.running.timelines import NONE, Timeline
from tonnage.running.wording import death_lines, finish_line, given_up, launch_line, resumed_line
from tonnage.store.store import Store
from tonnage.supervising.sampling import CHUNK_SECONDS, keep_samples, kept_series

LOOK_SECONDS = 1.0
FORECAST_SECONDS, FORECAST_SHARE = 5.0, 200.0
"""Between two forecasts: at least this, and so many times what one takes."""
RESIZE_SECONDS = 300.0
"""After a place said no to a raise it is asked again: a node may have been full."""
_FIGURES = re.compile(r"\d[\d.,]*")
PATIENCE = 3
"""So often a place may refuse an attempt before the run is given up: what it needs may be a moment late."""
PASSING = frozenset(("KUBE-060", "KUBE-062"))
"""Refusals that pass by themselves: somebody wrote at the same time; a quota is full."""


@dataclass
class Supervisor:
    """One run, the place it runs at, and what it may do."""

    store: Store
    place: RunPlace
    policies: Policies
    clock: Clock
    run_id: int
    trouble: int = field(default=0)
    """Looks in a row that failed: the place could not be reached."""
    refusals: int = field(default=0)
    forecast: Forecast | None = field(default=None)
    forecast_after: dt.datetime = field(default=dt.datetime.min.replace(tzinfo=dt.UTC))
    resize_after: dt.datetime = field(default=dt.datetime.min.replace(tzinfo=dt.UTC))
    sample_after: dt.datetime = field(default=dt.datetime.min.replace(tzinfo=dt.UTC))
    timeline: Timeline = field(default_factory=Timeline)
    save_asked: dt.datetime | None = field(default=None)
    """Of the current attempt; lost with this process, which costs one checkpoint more."""

    def watch(self) -> RunRecord:
        """Look until nothing more will happen by itself."""
        while (run := self.store.run(self.run_id)).is_active:
            try:
                if other := self._held_by_another():
                    return self._leave_to(run, other)
                self.look(run)
                self._share()
                self.trouble = 0
            except TonnageError as error:
                self._tell_trouble(error)
            self.clock.sleep(LOOK_SECONDS)
        if isinstance(self.place, SharedPlace):
            with suppress(TonnageError):  # what cannot be said now is said by the Lease's own end
                self.place.keep(run)
                self.place.let_go()
        return run

    def _held_by_another(self) -> str:
        """Who else keeps this run alive: a place that several machines reach knows."""
        return self.place.hold() if isinstance(self.place, SharedPlace) else ""

    def _leave_to(self, run: RunRecord, other: str) -> RunRecord:
        """Two supervisors would start two gangs: the one that came later goes."""
        now = self.clock.now()
        where = f"`tonnage ps --on {run.place}` shows it"
        self._end(run, "stopped", f"kept alive by {other}, not from here; {where}", now)
        return self.store.run(run.id)

    def _share(self) -> None:
        """Let other machines know where the run stands."""
        if isinstance(self.place, SharedPlace):
            self.place.keep(self.store.run(self.run_id))

    def look(self, run: RunRecord) -> None:
        """One round."""
        now = self.clock.now()
        run, observation = self._observe(run, now)
        if not self.timeline.may_be_judged(observation):
            return
        situation = self._situation(run, observation, now)
        for action in decide(situation, self.policies, now):
            self._act(self.store.run(run.id), action, now)

    def _observe(self, run: RunRecord, now: dt.datetime) -> tuple[RunRecord, Observation]:
        attempt = run.current
        if attempt is None or attempt.is_over:
            return run, Observation(state="absent")
        told = self.place.observe(attempt.number)
        self.timeline = self.timeline.seen(told, now)
        seen = self.timeline.ours(told)
        run = self._remember(run, self._redated(run, attempt, told), seen, now)
        run = self._count_replaced(run, seen, now)
        if needs_ending(attempt, seen):
            keep_samples(self.store, self.place, run.id, attempt.number)
            evidence = self.place.evidence(attempt.number)
            series = kept_series(self.store, run.id, attempt.number, now)
            theirs, here = self.timeline.theirs(run.current or attempt), self.timeline.ending_here
            ending = ending_of(theirs, told, evidence, now - self.timeline.ahead, series=series)
            seen = replace(seen, ending=here(ending))
        elif now >= self.sample_after:
            keep_samples(self.store, self.place, run.id, attempt.number)
            self.sample_after = now + dt.timedelta(seconds=CHUNK_SECONDS)
        return run, seen

    def _redated(self, run: RunRecord, attempt: Attempt, told: Observation) -> Attempt:
        """The attempt with its start by our clock, where it was noted by another."""
        started = self.timeline.started(attempt, told.since if told.state == "running" else None)
        if started == attempt.started:
            return attempt
        moved = replace(attempt, started=started)
        self.store.put_attempt(run.id, moved)
        return moved

    def _remember(self, run: RunRecord, attempt: Attempt, seen: Observation, now: dt.datetime) -> RunRecord:
        """Keep what the attempt said of itself, and tell it once."""
        changed = attempt
        if attempt.started is None and seen.state == "running":
            changed = replace(changed, started=seen.since or now)
        if attempt.from_step is None and seen.resumed_from is not None:
            changed = replace(changed, from_step=seen.resumed_from)
            if text := resumed_line(changed):
                self.store.tell(run.id, now, text, key=f"resumed-{attempt.number}", kind="resume")
        for text in seen.notes if seen.state != "ended" else ():  # an end is told by its finding
            # Once for each attempt, whatever the figures in it: a loss that is not a number is told at every step.
            self.store.tell(
                run.id, now, text, key=f"note-{attempt.number}-{_FIGURES.sub('#', text)}", kind="wait"
            )
        for text in seen.skipped:
            self.store.tell(run.id, now, f"checkpoint passed over: {text}", key=f"skipped-{text}")
        if changed is not attempt:
            self.store.put_attempt(run.id, changed)
        return replace(run, attempts=(*run.attempts[:-1], changed))

    def _count_replaced(self, run: RunRecord, seen: Observation, now: dt.datetime) -> RunRecord:
        """Deaths that the attempt outlived, because its controller was faster than this loop: kept all the same."""
        attempt = run.current
        if attempt is None or not isinstance(self.place, HealingPlace):
            return run
        for pod, evidence in self.place.replaced(attempt.number, attempt.replaced).items():
            # What is not sure is looked at again, as long as there is a next look.
            loss = loss_of(attempt, replace(evidence, is_final=seen.state == "ended"), now)
            if loss is None:
                continue
            attempt = replace(attempt, replaced={**attempt.replaced, pod: loss})
            self.store.put_attempt(run.id, attempt)
            lines = [*death_lines(replace(attempt, ending=loss), self.policies), HEALED]
            self._tell(run, lines, loss.when, f"replaced-{attempt.number}-{pod}", "death")
        return replace(run, attempts=(*run.attempts[:-1], attempt))

    def _situation(self, run: RunRecord, seen: Observation, now: dt.datetime) -> Situation:
        ran = ran_seconds(run.attempts, now)
        size = run.current.size if run.current else run.launching.first_size
        self._look_ahead(run, seen, now)
        return Situation(
            name=run.name,
            wish=run.wish,
            attempts=run.attempts,
            observation=seen,
            bounds=self.place.bounds(size),
            first_size=run.launching.first_size,
            refits=run.launching.refits,
            forgiven=run.forgiven,
            spent=spent_on(run.launching, run.attempts, now),
            created=run.created,
            ran_seconds=ran,
            forecast=self.forecast,
            save_asked=self.save_asked,
        )

    def _look_ahead(self, run: RunRecord, seen: Observation, now: dt.datetime) -> None:
        """When its RAM runs out; asked now and then: a long series of many nodes takes its time to read."""
        attempt = run.current
        if self.policies.look_ahead_seconds is None or attempt is None or seen.state != "running":
            self.forecast = None
        elif now >= self.forecast_after and attempt.size.memory is not None:
            began = time.thread_time()
            self.forecast = forecast_of(
                kept_series(self.store, run.id, attempt.number, now),
                attempt.size.memory,
                confidence=self.policies.look_ahead_confidence,
            )
            pause = max(FORECAST_SECONDS, FORECAST_SHARE * (time.thread_time() - began))
            self.forecast_after = now + dt.timedelta(seconds=pause)

    def _act(self, run: RunRecord, action: Action, now: dt.datetime) -> None:
        match action:
            case Record(attempt=attempt, ending=ending):
                over = replace(attempt, ending=ending)
                if not ending.is_success:
                    self._tell(
                        run,
                        death_lines(over, self.policies),
                        ending.when,
                        f"ending-{attempt.number}",
                        "death",
                    )
                self.store.put_attempt(run.id, over)
            case Launch():
                self._launch(run, action, now)
            case RaiseInPlace(memory=memory, why=why):
                self._raise_in_place(run, memory, why, now)
            case Save(why=why, key=key):
                self._save(run, why, key, now)
            case Stop(why=why, cause=cause):
                self._stop(run, why, cause, now)
            case Suspend(why=why):
                self.store.set_wish(run.id, "suspend")
                if run.current is not None and not run.current.is_over:
                    self.store.put_attempt(run.id, replace(run.current, stopping="suspended"))
                    self.place.suspend(run.current.number)
                self._end(run, "suspended", why, now)
            case Finish(why=why):
                self._end(run, "finished", finish_line(run, why), now)
            case GiveUp(why=why):
                stopped = (
                    run.current is not None and run.current.ending is not None and run.current.ending.cause
                )
                state = "stopped" if stopped == "stopped" else "failed"
                self._end(run, state, why, now, given_up(action))
            case Tell(text=text, key=key):
                self.store.tell(run.id, now, text, key=key)

    def _launch(self, run: RunRecord, action: Launch, now: dt.datetime) -> None:
        wait = NONE if action.after is None else action.after - now
        if NONE < wait <= dt.timedelta(seconds=self.policies.backoff_most_seconds):
            return  # a wait beyond the longest there is comes from a clock that was set back
        known = run.current is not None and run.current.number == action.number
        self.save_asked, self.timeline = None, Timeline()
        if not known:
            attempt = Attempt(number=action.number, size=action.size, created=now, why=action.why)
            self.store.put_attempt(run.id, attempt)
            if text := launch_line(action, run):
                self.store.tell(run.id, now, text, key=f"launch-{action.number}", kind="remedy")
        try:
            self.place.launch(action.number, action.size, resume=action.number > 1)
        except RefusedError as error:
            if error.problem.code in PASSING or self.refusals < PATIENCE:
                self.refusals += 1
                raise
            hint = f"; {error.problem.hint}" if error.problem.hint else ""
            self._end(run, "failed", f"could not be started: {error.problem.what}{hint}", now)
        self.refusals = 0

    def _stop(self, run: RunRecord, why: str, cause: str, now: dt.datetime) -> None:
        """Write down first who ends it, or its death would be taken for somebody else's doing."""
        attempt = run.current
        if attempt is None or attempt.is_over:
            return
        if not attempt.stopping:
            self.store.put_attempt(run.id, replace(attempt, stopping=cause))
            self.store.tell(run.id, now, why, key=f"stop-{attempt.number}", kind="wait")
        self.place.stop(attempt.number, run.launching.grace_seconds)

    def _save(self, run: RunRecord, why: str, key: str, now: dt.datetime) -> None:
        attempt = run.current
        if attempt is None or attempt.is_over:
            return
        self.save_asked = now
        is_asked = self.place.save(attempt.number)
        what = "a checkpoint is asked for" if is_asked else "it cannot be asked for a checkpoint here"
        self.store.tell(run.id, now, f"{why}: {what}", key=key, kind="wait")

    def _raise_in_place(self, run: RunRecord, memory: int, why: str, now: dt.datetime) -> None:
        attempt = run.current
        self.forecast = None  # it was made for the size it had; the next one is asked again
        if attempt is None or now < self.resize_after:
            return
        if self.place.resize(attempt.number, memory):
            self.store.put_attempt(run.id, replace(attempt, size=raised(attempt.size, memory)))
            self.save_asked = None  # what is seen coming at the new size is answered anew
            self.store.tell(run.id, now, why, kind="remedy")
            return
        self.resize_after = now + dt.timedelta(seconds=RESIZE_SECONDS)
        text = "its memory cannot be raised in place here: if it runs out, it comes back larger"
        self.store.tell(run.id, now, text, key=f"no-resize-{attempt.number}", kind="wait")

    def _end(self, run: RunRecord, state: str, why: str, now: dt.datetime, lines: Sequence[str] = ()) -> None:
        self._tell(run, lines or [why], now, f"end-{len(run.attempts)}-{state}", "end")
        self.store.set_state(run.id, state, why, now)  # type: ignore[arg-type]

    def _tell(self, run: RunRecord, lines: Sequence[str], when: dt.datetime, key: str, kind: str) -> None:
        """Several lines of one moment: what follows the first is detail."""
        for index, text in enumerate(lines):
            self.store.tell(
                run.id, when, text, key=f"{key}-{index}" if index else key, kind="detail" if index else kind
            )

    def _tell_trouble(self, error: TonnageError) -> None:
        """A place that cannot be reached is no reason to give up: say it once, and go on looking."""
        self.trouble += 1
        if self.trouble == 3:
            now = self.clock.now()
            with suppress(TonnageError):  # a full disk is such a trouble, and cannot be told of
                self.store.tell(self.run_id, now, f"cannot look at it: {error.problem.what}", kind="wait")
