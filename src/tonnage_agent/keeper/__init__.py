"""Checkpoints that can be trusted: whole or not there, proven before older ones go, safe from other writers.

    naming, manifest, pruning, intervals, pacing    pure
    port                                            what a place is
    folder, bucket (s3)                             places
    keeper, together                                save and resume, by one process or by many ranks

Nothing here knows torch, or who trains. `tonnage_agent.sdk` is what a training script uses.
"""

from tonnage_agent.keeper.checkpoint import Checkpoint
from tonnage_agent.keeper.failing import KeeperError, PlaceError, SaveFailed, TornCheckpoint
from tonnage_agent.keeper.keeper import Keeper

__all__ = ["Checkpoint", "Keeper", "KeeperError", "PlaceError", "SaveFailed", "TornCheckpoint"]
