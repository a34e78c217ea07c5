"""What can go wrong with a checkpoint, by what the training script should do about it.

    KeeperError
    ├── SaveFailed      nothing was committed, older checkpoints are whole: go on training, or stop
    ├── TornCheckpoint  one checkpoint cannot be trusted: take the one before it
    └── PlaceError      the place itself cannot be used: wrong address, no permission, no credentials

Texts are whole sentences with what was found and what to try: they end in a training log, read by somebody who has
never heard of this file.
"""

from __future__ import annotations

import errno


class KeeperError(Exception):
    """Root of what the keeper raises on purpose."""


class SaveFailed(KeeperError):  # noqa: N818 - reads as what happened
    """A checkpoint could not be written; nothing of it is left, and older ones are untouched."""


class TornCheckpoint(KeeperError):  # noqa: N818
    """A checkpoint is not what its manifest says."""


class PlaceError(KeeperError):
    """The place cannot be read or written at all."""


def unreadable(path: object, error: OSError) -> KeeperError:
    """What a file that cannot be read means: damage, which older checkpoints make good, or a place we may not enter.

    Taking the second for the first would begin the training anew because of a wrong user id.
    """
    if error.errno in (errno.EACCES, errno.EPERM, errno.ESTALE, errno.ETIMEDOUT, errno.ENOTCONN):
        return PlaceError(
            f"{path} cannot be read ({error}); nothing was begun anew, correct the place and try again"
        )
    return TornCheckpoint(f"{path} cannot be read: {error}")


def why_it_failed(error: BaseException) -> str:
    """The cause in words; a full disk is the one people meet, so it is named."""
    number = getattr(error, "errno", None)
    if number in (errno.ENOSPC, errno.EDQUOT):
        return f"the disk is full ({error})"
    if number in (errno.EACCES, errno.EPERM, errno.EROFS):
        return f"writing is not permitted ({error})"
    text = str(error)
    if isinstance(error, KeeperError):
        return text
    return f"{type(error).__name__}: {text}" if text else type(error).__name__
