"""One training run as its script sees it: where to resume, which step comes next, when to save, when to end.

    resume()            the newest checkpoint that is whole
    steps(total)        the loop; tells progress, and ends the script when somebody asks for it
    save_if_due(...)    saves when it is time
    phase(), waiting()  what the time is spent on

Nothing here can stop training by itself: no agent, no place, a full disk, a broken socket cost a message each. Only
who asked for a stop gets one, and only between two steps.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Callable

from tonnage_agent.contract import PROBE_OVER
from tonnage_agent.keeper.checkpoint import Checkpoint
from tonnage_agent.keeper.clock import Clock, SystemClock
from tonnage_agent.keeper.failing import KeeperError, SaveFailed
from tonnage_agent.keeper.intervals import assumed_mean
from tonnage_agent.keeper.keeper import Keeper
from tonnage_agent.keeper.opening import open_place
from tonnage_agent.keeper.pacing import Pace, Rule
from tonnage_agent.keeper.ranks import Ranks, find_ranks
from tonnage_agent.keeper.together import newest_together, save_together
from tonnage_agent.keeper.writing import Dump
from tonnage_agent.progress import Reporter
from tonnage_agent.sdk.agreeing import Agreement
from tonnage_agent.sdk.asking import Control, Signals
from tonnage_agent.sdk.deciding import Moment, Verdict, decide, exit_code
from tonnage_agent.sdk.settings import Settings
from tonnage_agent.sdk.telling import Telling
from tonnage_agent.settings import reserve_of

_NOTHING = Verdict()


class Run(Telling):
    """See the module. Made by `attach`."""

    def __init__(
        self,
        settings: Settings,
        *,
        ranks: Ranks | None = None,
        on_failure: str = "warn",
        clock: Clock | None = None,
        say: Callable[[str], None] | None = None,
    ) -> None:
        if on_failure not in ("warn", "raise"):
            raise ValueError(f"on_failure is {on_failure!r}; expected 'warn' or 'raise'")
        super().__init__(Reporter(settings.socket, settings.rank), settings.rank, say)
        self.settings = settings
        self.clock: Clock = clock or SystemClock()
        self.next_step = 0
        """The step after the last one that a resumed checkpoint contains."""
        self._on_failure = on_failure
        self._ranks = ranks
        self._signals = Signals(self.clock)
        self._control = Control(settings.control)
        self._pace = Pace(_rule(settings), self.clock.elapsed())
        self._agreement = Agreement()
        self._keeper = self._open_keeper()
        self._saved_step = -1
        self._asked_step = -1
        self._total: int | None = None
        self._counted = -1
        self._quiet_step = -1
        self._listens_by_hand = False
        self._last_step_at = 0.0
        self._has_told_no_place = False
        self._has_limits = settings.probe_steps is not None or (
            settings.deadline is not None and not settings.control
        )

    # -- resuming

    def resume(self, load: Callable[[Path], Any] | None = None) -> Checkpoint | None:
        """The newest checkpoint that is whole, or None; `load` gets its only file, or its folder."""
        if self._keeper is None:
            self.tell("resumed", step=-1, path="")
            return None
        ranks = self.ranks
        with self.phase("load"):
            together = ranks.world > 1 and ranks.can_agree
            found = newest_together(self._keeper, ranks) if together else self._keeper.newest()
            if found is None:
                self.tell("resumed", step=-1, path="")
                return None
            if load is not None:
                found = replace(found, state=found.load(load))
        self.next_step = found.step + 1
        self.tell("resumed", step=found.step, path=found.path)
        self.say(f"resumed from step {found.step} ({found.path})")
        self._pace = Pace(_rule(self.settings), self.clock.elapsed())
        return found

    # -- the loop

    def steps(
        self, total: int | None = None, *, start: int | None = None, save: Any = None, sharded: bool = False
    ) -> Iterator[int]:
        """Step numbers from where the run stands to `total`; with `save`, checkpoints are made on the way.

        `save` is what `save_if_due` takes. After each step progress is told; when the script has been asked to
        stop, it saves if there is time, and ends with SystemExit.
        """
        step = self.next_step if start is None else start
        self._total = total
        self._signals.listen()
        try:
            while total is None or step < total:
                if save is None:
                    self._agree(step, self.num_done + 1)  # on what happens after the step that begins now
                began = self.clock.elapsed()
                yield step
                self.tell_step(step, total, self.clock.elapsed() - began)
                if save is not None:
                    self._agree(step, self.num_done)
                    self.save_if_due(step, save, sharded=sharded)
                self.end_if_asked(step)
                step += 1
        finally:
            self._signals.leave()

    def count(self) -> int:
        """The number of the step that begins, for loops whose steps have none: 0, 1, 2, ..."""
        self._counted += 1
        return self._counted

    def step(self, step: int, total: int | None = None, loss: float | None = None) -> None:
        """Tell one step, in a loop that is not `steps`; from the first on, SIGTERM is heard."""
        if self.num_done == 0 and not self._signals.is_listening:
            self._signals.listen()
            self._listens_by_hand = True
        now = self.clock.elapsed()
        seconds = now - self._last_step_at if self.num_done else None
        self._last_step_at = now
        if loss is not None:
            self.note(loss=loss)
        self._total = total if total is not None else self._total
        self.tell_step(step, self._total, seconds)

    def finish(self) -> None:
        """The loop is over, where it is not `steps`: SIGTERM ends the script at once again."""
        if self._listens_by_hand:
            self._listens_by_hand = False
            self._signals.leave()

    def end_if_asked(self, step: int) -> None:
        """End the script if somebody asked for it; for loops that are not `steps`, called between two steps."""
        verdict = self._verdict(step)
        if not verdict.stop:
            if step + 1 == self._total:
                self.finish()
            return
        if self._agreement.is_for(step):
            self.ranks.gather(
                None
            )  # none ends before the slowest has saved: a launcher would kill the others
        elif 0 <= self._asked_step < step and not verdict.is_late:
            return  # the script saves at moments of its own: it is given the time that is left
        saved = (
            f"step {step} is saved" if self._saved_step == step else f"last saved: step {self._saved_step}"
        )
        why = {"probe": PROBE_OVER, "terminated": "SIGTERM"}.get(verdict.stop, verdict.stop)
        self.say(f"ending: {why}; {saved if self._saved_step >= 0 else 'nothing was saved'}")
        raise SystemExit(exit_code(verdict.stop))

    # -- saving

    def save_if_due(
        self,
        step: int,
        state: Any,
        *,
        dump: Dump = None,
        meta: Mapping[str, Any] | None = None,
        sharded: bool = False,
    ) -> Checkpoint | None:
        """Save if it is time, if somebody asked for it, or if this is the last step; else None."""
        self._asked_step = step
        if not self._verdict(step, sharded=sharded).save or self._saved_step == step:
            return None
        return self.save(step, state, dump=dump, meta=meta, sharded=sharded)

    def save(
        self,
        step: int,
        state: Any,
        *,
        dump: Dump = None,
        meta: Mapping[str, Any] | None = None,
        sharded: bool = False,
        began: float | None = None,
    ) -> Checkpoint | None:
        """Save now; None on ranks that had nothing to do, and where it failed and training goes on.

        `began` is when the work for it began, on the run's clock, where that was before this call.
        """
        self._asked_step = step
        if self._keeper is None:
            self._tell_no_place()
            return None
        ranks = self.ranks
        if not sharded and ranks.rank != 0:
            self._saved_step = step
            return None
        try:
            with self.phase("checkpoint"):
                if sharded and ranks.world > 1:
                    made = save_together(self._keeper, ranks, step, state, dump=dump, meta=meta)
                else:
                    made = self._keeper.save(step, state, dump=dump, meta=meta)
        except SaveFailed as error:
            self._save_failed(error)
            return None
        self._kept(made, made.seconds if began is None else self.clock.elapsed() - began)
        return made

    # -- what others ask of it

    @property
    def ranks(self) -> Ranks:
        """The processes of this training: torch's group once the script has made one."""
        if self._ranks is None or not self._ranks.can_agree:
            self._ranks = find_ranks(self.settings.rank, self.settings.world)
        return self._ranks

    @property
    def keeper(self) -> Keeper | None:
        """None where no place for checkpoints was named."""
        return self._keeper

    def asks(self, step: int, total: int | None = None, *, everywhere: bool = False) -> Verdict:
        """What to do after this step: for callbacks of frameworks that save by themselves.

        `everywhere`: every rank calls this after every step, so the ranks may agree.
        """
        if total is not None:
            self._total = total
        self._asked_step = step
        return self._verdict(step, sharded=everywhere)

    def listening(self, *, is_on: bool, alone: bool = False) -> None:
        """Take SIGTERM over, or give it back: for callbacks, at the begin and end of training.

        `alone`: whoever listened before hears nothing of it, such as a framework that would end without a save.
        """
        if is_on:
            self._signals.listen(alone=alone)
        else:
            self._signals.leave()

    # -- inside

    def _kept(self, made: Checkpoint, took: float) -> None:
        self._pace.saved(self.clock.elapsed(), took)
        self._control.saved()
        self._saved_step = made.step
        if self.ranks.rank == 0:
            self.tell(
                "checkpoint", step=made.step, path=made.path, seconds=round(took, 3), bytes=made.manifest.size
            )

    def _verdict(self, step: int, *, sharded: bool = False) -> Verdict:
        """Decided alone, or taken from the last agreement of all ranks."""
        ranks = self.ranks
        if ranks.world == 1 or not ranks.can_agree:
            return _NOTHING if self._is_quiet(step) else decide(self._moment(step))
        if self._agreement.is_for(step):
            return self._agreement.verdict
        if sharded:
            return self._agreement.reach(ranks, step, self._moment(step))
        return Verdict() if self._agreement.is_used else decide(self._moment(step))

    def _is_quiet(self, step: int) -> bool:
        """Whether nothing at all is asked after this step: true of almost every one, so it must cost nothing."""
        if self._signals.received_at is not None or self._has_limits or step + 1 == self._total:
            return False
        if self._quiet_step == step:  # looked a moment ago, for the same step
            return True
        control, now = self._control, self.clock.elapsed()
        control.look(now)
        is_due = self._keeper is not None and self._pace.is_due(now)
        if control.stop or control.wants_save or is_due:
            return False
        self._quiet_step = step
        return True

    def _agree(self, step: int, num_done: int) -> None:
        """Let all ranks agree on this step; every rank passes here, for every step."""
        ranks = self.ranks
        if ranks.world > 1 and ranks.can_agree:
            self._agreement.reach(ranks, step, replace(self._moment(step), num_done=num_done))

    def _moment(self, step: int) -> Moment:
        now = self.clock.elapsed()
        self._control.look(now)
        grace = self.settings.grace_seconds
        signalled = self._signals.received_at
        is_alone = self.settings.deadline is not None and not self.settings.control
        return Moment(
            step=step,
            total=self._total,
            num_done=self.num_done,
            due_in=None if self._keeper is None else self._pace.due_in(now),
            wants_save=self._control.wants_save,
            save_seconds=self._pace.save_seconds,
            step_seconds=self.step_seconds,
            asked=self._control.stop,
            seconds_left=None if signalled is None else signalled + grace - reserve_of(grace) - now,
            deadline_in=(self.settings.deadline or 0.0) - self.clock.now() if is_alone else None,
            probe_steps=self.settings.probe_steps,
        )

    def _open_keeper(self) -> Keeper | None:
        settings = self.settings
        if not settings.checkpoints:
            return None
        return Keeper(
            open_place(settings.checkpoints),
            attempt=settings.attempt,
            keep=settings.keep,
            verify=settings.verify,
            run=settings.run,
            skipped=self.passed_over,
            clock=self.clock,
        )

    def _save_failed(self, error: KeeperError) -> None:
        self._pace.failed(self.clock.elapsed())
        if self._on_failure == "raise":
            raise error
        self.say(f"{error}; training goes on, the next try is in {self._pace.interval:.3g} s")

    def _tell_no_place(self) -> None:
        if not self._has_told_no_place:
            self._has_told_no_place = True
            self.say(
                "nothing is saved: no place for checkpoints; set TONNAGE_CHECKPOINTS or attach(checkpoints=...)"
            )


def _rule(settings: Settings) -> Rule:
    mean = settings.failure_seconds or assumed_mean(settings.num_nodes)
    return Rule(every=settings.every, mean=mean)
