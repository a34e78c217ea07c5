"""The SDK of training scripts, under the name people look for: `from tonnage import sdk`.

All of it lives in `tonnage_agent.sdk`, which inside a pod is there without an installation; here it is re-exported.
`advising` is for the other side: it reads a script and says which lines would make it survive.
"""

from tonnage_agent.sdk import (
    Checkpoint,
    KeeperError,
    PlaceError,
    Run,
    SaveFailed,
    SettingError,
    TornCheckpoint,
    attach,
)

__all__ = [
    "Checkpoint",
    "KeeperError",
    "PlaceError",
    "Run",
    "SaveFailed",
    "SettingError",
    "TornCheckpoint",
    "attach",
]
