"""Three lines for a training script: progress, phases, and checkpoints that can be trusted.

    from tonnage_agent import sdk

    run = sdk.attach()                          # reads what the launcher said; harmless without it
    saved = run.resume()                        # the newest checkpoint that is whole, or None
    for step in run.steps(1000, save=write):    # continues where it was; `write(folder)` makes a checkpoint
        ...

Inside a pod the agent's archive is on PYTHONPATH, so nothing need be installed in the image; where Tonnage is
installed, `from tonnage import sdk` is the same thing. Standard library only, Python 3.9 and newer.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Callable

from tonnage_agent.keeper.checkpoint import Checkpoint
from tonnage_agent.keeper.clock import Clock
from tonnage_agent.keeper.failing import KeeperError, PlaceError, SaveFailed, TornCheckpoint
from tonnage_agent.keeper.ranks import Ranks
from tonnage_agent.sdk.for_hugging_face import hugging_face
from tonnage_agent.sdk.for_lightning import lightning
from tonnage_agent.sdk.for_torch import Batches, TorchState
from tonnage_agent.sdk.run import Run
from tonnage_agent.sdk.settings import SettingError, read_settings

__all__ = [
    "Batches",
    "Checkpoint",
    "KeeperError",
    "PlaceError",
    "Run",
    "SaveFailed",
    "SettingError",
    "TorchState",
    "TornCheckpoint",
    "attach",
    "hugging_face",
    "lightning",
]


def attach(  # noqa: PLR0913 - each is one wish of the script
    *,
    checkpoints: str | Path = "",
    every: float | str = "auto",
    keep: int = 3,
    verify: bool = True,
    on_failure: str = "warn",
    ranks: Ranks | None = None,
    environment: Mapping[str, str] | None = None,
    clock: Clock | None = None,
    say: Callable[[str], None] | None = None,
) -> Run:
    """Join the run this process belongs to.

    What the launcher says in the environment wins over the arguments:

        checkpoints   folder or s3://bucket/prefix            TONNAGE_CHECKPOINTS
        every         seconds, or auto                        TONNAGE_CHECKPOINT_EVERY
        keep          how many to keep                        TONNAGE_CHECKPOINT_KEEP
        verify        read back before older ones go          TONNAGE_CHECKPOINT_VERIFY
        on_failure    warn: training goes on; raise: it ends
        ranks         how processes agree, where it is not torch.distributed
    """
    settings = read_settings(
        os.environ if environment is None else environment,
        checkpoints=os.fspath(checkpoints),
        every=every,
        keep=keep,
        verify=verify,
    )
    return Run(settings, ranks=ranks, on_failure=on_failure, clock=clock, say=say)
