"""The keeper: saves whole checkpoints, finds the newest one that is whole, and keeps the place tidy.

    save     draft -> files written and sealed -> read back -> the name is committed -> old ones go
    newest   names, newest lineage first -> manifest -> every hash -> the first that is right

Nothing that exists is ever changed, so whatever fails, and whenever it is killed, what was whole stays whole.
Several ranks save and resume together in `together.py`, by the same three steps.
"""

from __future__ import annotations

import os
import socket
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Callable

from tonnage_agent.keeper.checkpoint import Checkpoint
from tonnage_agent.keeper.clock import Clock, SystemClock
from tonnage_agent.keeper.failing import KeeperError, SaveFailed, TornCheckpoint, why_it_failed
from tonnage_agent.keeper.manifest import MANIFEST, FileEntry, Manifest
from tonnage_agent.keeper.naming import Name, draft_label
from tonnage_agent.keeper.port import Draft, Place
from tonnage_agent.keeper.pruning import prunable
from tonnage_agent.keeper.writing import Dump, UnwritableState, write_state

_LOOKS = 8
"""How often to look again where another writer removed the checkpoint that was being read."""
_NAMES = 1000


class Keeper:
    """The checkpoints of one run in one place, as one attempt of it sees them."""

    def __init__(
        self,
        place: Place,
        *,
        attempt: int | None = None,
        keep: int = 3,
        verify: bool = True,
        run: str = "",
        skipped: Callable[[str, str], None] | None = None,
        clock: Clock | None = None,
    ) -> None:
        self.place = place
        self.clock: Clock = clock or SystemClock()
        self._attempt = attempt
        self._keep = keep
        self._verify = verify
        self._run = run
        self._skipped = skipped or (lambda *_: None)
        self._proven: set[Name] = set()
        self._torn: set[Name] = set()

    @property
    def attempt(self) -> int:
        """This attempt's number; where the launcher gave none, one more than any that has saved here."""
        if self._attempt is None:
            self._attempt = max((name.attempt for name in self.place.names()), default=0) + 1
        return self._attempt

    def save(
        self, step: int, state: Any, *, dump: Dump = None, meta: Mapping[str, Any] | None = None
    ) -> Checkpoint:
        """Save, alone; SaveFailed says what went wrong, and then nothing of it is left."""
        check_step(step)
        began = self.clock.elapsed()
        draft: Draft | None = None
        try:
            draft = self.place.draft(self.label(step))
            write_state(state, draft.folder, dump)
            made = self.commit(draft, step, draft.seal(), meta)
        except BaseException as error:
            if draft is not None:
                draft.discard()
            if isinstance(error, Exception) and not isinstance(error, UnwritableState):
                raise self.failed(step, why_it_failed(error)) from error
            raise
        self.prune(made.name)
        return replace(made, seconds=self.clock.elapsed() - began)

    def newest(self) -> Checkpoint | None:
        """The newest checkpoint that is whole, its files on this machine; torn ones are told of and passed over."""
        self.place.sweep(self.attempt)
        for _ in range(_LOOKS):
            has_changed = False
            for name in sorted(self.place.names(), reverse=True):
                if name in self._torn:
                    continue
                try:
                    return self._read(name)
                except TornCheckpoint as error:
                    if name not in self.place.names():
                        has_changed = True  # removed by whoever made newer ones: look at those
                        break
                    self._torn.add(name)
                    self._skipped(self.place.path(name), str(error))
            if not has_changed:
                return None
        raise KeeperError(
            f"checkpoints in {self.place.url} are removed faster than they can be read; is another attempt running?"
        )

    def label(self, step: int, token: str = "") -> str:
        """What a checkpoint of this attempt is called while it is written."""
        return draft_label(Name(self.attempt, step), token or uuid.uuid4().hex[:8])

    def commit(
        self,
        draft: Draft,
        step: int,
        files: Sequence[FileEntry],
        meta: Mapping[str, Any] | None,
        world: int = 1,
    ) -> Checkpoint:
        """Read back what was sealed, and give it the first free name."""
        _check_files_written(files)
        if self._verify:
            draft.prove(files)
        manifest = Manifest(
            step=step,
            attempt=self.attempt,
            when=self.clock.now(),
            files=tuple(files),
            run=self._run,
            is_proven=self._verify,
            writer={"host": socket.gethostname(), "pid": os.getpid(), "world": world},
            meta=dict(meta or {}),
            data=draft.data,
        )
        for again in range(_NAMES):
            name = Name(self.attempt, step, again)
            if draft.commit(name, manifest):
                if self._verify:
                    self._proven.add(name)
                return Checkpoint(name, manifest, self.place.path(name), self.place.local(name))
        raise SaveFailed(f"step {step} was saved {_NAMES} times by this attempt; is it in a loop?")

    def prune(self, mine: Name) -> None:
        """Remove what is no longer needed now that `mine` is in place; trouble here never harms training."""
        try:
            names = self.place.names()
            old = prunable(names, keep=self._keep, mine=mine, is_proven=self._is_proven, torn=self._torn)
            for name in old:
                self.place.remove(name)
        except (OSError, KeeperError):
            return  # the next save tries again

    def failed(self, step: int, why: str) -> SaveFailed:
        """The error of a save, with what is still safe."""
        try:
            safe = max(self.place.names(), default=None)
        except (OSError, KeeperError):
            safe = None
        still = f"the checkpoint of step {safe.step} is untouched" if safe else "there is no older checkpoint"
        return SaveFailed(f"step {step} was not saved to {self.place.url}: {why}; {still}")

    def opened(self, name: Name, *, check: bool = True) -> Checkpoint:
        """A checkpoint by its name, its files on this machine; TornCheckpoint where it is not whole."""
        manifest = self.place.manifest(name)
        if (manifest.step, manifest.attempt) != (name.step, name.attempt):
            raise TornCheckpoint(f"its manifest speaks of step {manifest.step}, attempt {manifest.attempt}")
        folder = self.place.fetch(name, manifest, check=check)
        return Checkpoint(name, manifest, self.place.path(name), folder)

    def _read(self, name: Name) -> Checkpoint:
        found = self.opened(name)
        self._proven.add(name)
        return found

    def _is_proven(self, name: Name) -> bool:
        if name in self._proven:
            return True
        try:
            return self.place.manifest(name).is_proven
        except (OSError, KeeperError):
            return False


def check_step(step: int) -> None:
    """Refuse what is no step."""
    if not isinstance(step, int) or step < 0:
        raise TypeError(f"a checkpoint is made after a step, a whole number from 0; found {step!r}")


def _check_files_written(files: Sequence[FileEntry]) -> None:
    if not files:
        raise SaveFailed("nothing was written: the folder was left empty")
    paths = [file.path for file in files]
    twice = sorted({path for path in paths if paths.count(path) > 1}) if len(set(paths)) < len(paths) else []
    if twice:
        raise SaveFailed(f"two ranks wrote the same file {twice[0]}; give each rank's file a name of its own")
    if MANIFEST in paths:
        raise SaveFailed(f"{MANIFEST} is the keeper's own file; give yours another name")
