"""For the Hugging Face Trainer: it saves when the run needs it, and what it saved is kept whole.

    keeping = sdk.hugging_face(run)
    trainer = Trainer(model, args, callbacks=[keeping], ...)
    trainer.train(resume_from_checkpoint=keeping.checkpoint)

The Trainer writes `checkpoint-N` in its output folder as it always does (weights, optimizer, schedule, random
generators, its own state); the keeper takes that folder over: by links where it is the same disk, else by copying.
With `save_strategy="no"` saves happen only when they are due, and the Trainer's own copy is removed.
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Any

from tonnage_agent.sdk.run import Run


def hugging_face(run: Run) -> Any:
    """A `transformers.TrainerCallback` for this run."""
    from transformers import TrainerCallback

    class KeepingCallback(TrainerCallback):  # type: ignore[misc, unused-ignore]
        """Asks for saves when they are due, keeps them, and ends training when the run is asked to."""

        def __init__(self) -> None:
            self._began: float | None = None
            self._resumed: tuple[str | None] | None = None

        @property
        def checkpoint(self) -> str | None:
            """Folder of the newest whole checkpoint, for `resume_from_checkpoint`; None to begin anew."""
            if self._resumed is None:
                saved = run.resume()
                self._resumed = (None if saved is None else os.fspath(saved / ""),)
            return self._resumed[0]

        def on_train_begin(self, args: Any, state: Any, control: Any, **_: Any) -> None:  # noqa: ARG002
            run.listening(is_on=True)

        def on_log(self, args: Any, state: Any, control: Any, logs: Any = None, **_: Any) -> None:  # noqa: ARG002
            if logs and "loss" in logs:
                run.note(loss=float(logs["loss"]))

        def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> Any:  # noqa: ARG002
            step, total = state.global_step - 1, state.max_steps
            run.step(step, total)
            verdict = run.asks(step, total, everywhere=True)
            if verdict.save and run.keeper is not None:
                self._began = run.clock.elapsed()
                control.should_save = True
            if verdict.stop:
                control.should_training_stop = True
            return control

        def on_save(self, args: Any, state: Any, control: Any, **_: Any) -> None:  # noqa: ARG002
            began, self._began = self._began, None
            written = Path(args.output_dir) / f"checkpoint-{state.global_step}"
            if run.ranks.world > 1 and run.ranks.can_agree:
                run.ranks.gather(None)  # every rank has written its part
            made = run.save(state.global_step - 1, lambda folder: _take_over(written, folder), began=began)
            is_ours_alone = began is not None and str(getattr(args.save_strategy, "value", "")) == "no"
            if made is not None and is_ours_alone:
                shutil.rmtree(written, ignore_errors=True)

        def on_train_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:  # noqa: ARG002
            run.listening(is_on=False)
            run.end_if_asked(state.global_step - 1)

    return KeepingCallback()


def _take_over(written: Path, folder: Path) -> None:
    """All files of a folder in another: linked where possible, which costs nothing."""
    if not written.is_dir():
        raise FileNotFoundError(f"the Trainer left no {written}")
    shutil.copytree(written, folder, copy_function=_link_or_copy, dirs_exist_ok=True)


def _link_or_copy(source: str, target: str) -> None:
    try:
        os.link(source, target)
    except OSError:
        shutil.copy2(source, target)
