"""For Lightning: checkpoints when they are due, by the Trainer's own `save_checkpoint`, kept whole.

    keeping = sdk.lightning(run)
    trainer = Trainer(callbacks=[keeping], enable_checkpointing=False, ...)
    trainer.fit(module, loader, ckpt_path=keeping.checkpoint)

Lightning stores weights, optimizers, schedules and loops; random generators are added here. The place inside an
epoch comes back where the loader can say it (`sdk.Batches` can, torchdata's StatefulDataLoader too); with others a
resumed epoch begins with the batches it began with.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from tonnage_agent.sdk.randomness import random_state, set_random_state
from tonnage_agent.sdk.run import Run

_FILE = "state.ckpt"


def lightning(run: Run) -> Any:
    """A Lightning `Callback` for this run."""
    try:
        from lightning.pytorch import Callback
    except ImportError:
        from pytorch_lightning import Callback  # the same under its older name

    class KeepingCallback(Callback):  # type: ignore[misc, unused-ignore]
        """Saves when it is due, and ends training when the run is asked to."""

        def __init__(self) -> None:
            self._last = -1
            self._resumed: tuple[str | None] | None = None
            self._random: dict[str, Any] = {}
            self._own_random: dict[str, Any] = {}

        @property
        def checkpoint(self) -> str | None:
            """File of the newest whole checkpoint, for `ckpt_path`; None to begin anew."""
            if self._resumed is None:
                saved = run.resume()
                self._resumed = (None if saved is None else os.fspath(saved / _FILE),)
                self._own_random = {} if saved is None else _generators_in(saved / _own_file(run))
            return self._resumed[0]

        def state_dict(self) -> dict[str, Any]:
            return {"random": random_state()}

        def load_state_dict(self, state_dict: dict[str, Any]) -> None:
            self._random = self._own_random or state_dict.get("random", {})

        def on_train_start(self, trainer: Any, pl_module: Any) -> None:  # noqa: ARG002
            run.listening(is_on=True, alone=True)  # Lightning itself would end without a save

        def on_train_batch_start(self, trainer: Any, *_: Any) -> None:  # noqa: ARG002
            if self._random:  # after the loaders were made, which draw from the generators themselves
                set_random_state(self._random)
                self._random = {}

        def on_train_batch_end(self, trainer: Any, pl_module: Any, outputs: Any, *_: Any) -> None:  # noqa: ARG002
            step = trainer.global_step - 1
            if step == self._last:  # gradients are still being gathered
                return
            self._last = step
            total = int(trainer.estimated_stepping_batches) if trainer.max_steps == -1 else trainer.max_steps
            run.step(step, total)
            verdict = run.asks(step, total, everywhere=True)
            if verdict.save and run.keeper is not None:
                run.save(step, lambda folder: _save(trainer, folder, run), sharded=True)
            if verdict.stop:
                trainer.should_stop = True

        def on_train_end(self, trainer: Any, pl_module: Any) -> None:  # noqa: ARG002
            run.listening(is_on=False)
            run.end_if_asked(self._last)

    return KeepingCallback()


def _save(trainer: Any, folder: Path, run: Run) -> None:
    trainer.save_checkpoint(os.fspath(folder / _FILE))
    if run.ranks.rank:  # what Lightning writes holds the first rank's generators; the others draw differently
        import torch

        torch.save(random_state(), folder / _own_file(run))


def _own_file(run: Run) -> str:
    return f"random-{run.ranks.rank}.pt"


def _generators_in(path: Path) -> dict[str, Any]:
    """What this rank kept beside the checkpoint; nothing for the first rank, or with another number of ranks."""
    if not path.is_file():
        return {}
    import torch

    found: dict[str, Any] = torch.load(path, weights_only=False)
    return found
