"""The SDK of training scripts, under the name people look for: `from tonnage import sdk`.

All of it lives in `tonnage_agent.sdk`, which inside a pod is there without an installation; here it is re-exported.
`advising` is for the other side: it reads a script and says which lines would make it survive.
"""

from tonnage_agent.sdk import (
    Batches,
    Checkpoint,
    KeeperError,
    PlaceError,
    Run,
    SaveFailed,
    SettingError,
    TorchState,
    TornCheckpoint,
    attach,
    hugging_face,
    lightning,
)

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
