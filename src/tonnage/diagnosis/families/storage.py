"""Disks and volumes: evicted for local disk, full, not mounted, or stalled.

"No space left on device" is said of many things: a volume, the node's root while an image is unpacked, /dev/shm, the
kernel's watch limit. Each has its own class; only what is none of the others is a full disk.
"""

from __future__ import annotations

import re

from tonnage.diagnosis.rules import Family, Reading, Sign, Tier, rule, with_code

_NOT_A_DISK = re.compile(
    r"/dev/shm|nccl|posix_fallocate|shared memory|SemLock|multiprocessing/(?:synchronize|heap)|inotify|"
    r"pull image|extract layer|register layer|ErrImagePull|torch_\d+_",
    re.IGNORECASE,
)
_MEMORY_VOLUME = re.compile(r"shm|mem|tmpfs|ram", re.IGNORECASE)


def _full(read: Reading) -> Sign | None:
    around = read.before(8)
    return None if _NOT_A_DISK.search(around) else read.sign


def _volume(read: Reading) -> Sign | None:
    """A memory volume over its limit is memory; the name is all that tells."""
    return with_code(read.sign, "MEM-07", 0.93) if _MEMORY_VOLUME.search(read.found[1]) else read.sign


def _not_a_write(read: Reading) -> Sign | None:
    """A save that could not be written is told by the rules of full disks."""
    return None if "write(): fd" in read.statement.text else read.sign


def _failed_write(read: Reading) -> Sign | None:
    """Cannot write a checkpoint: most often full, unless the text says that the path is the mistake."""
    said = read.after(2)
    return (
        None if re.search(r"Parent directory|No such file|Permission denied|Read-only", said) else read.sign
    )


FAMILY = Family(rules=(
    rule("STO-01", r"Usage of EmptyDir volume \"?([^\"\s]+)\"? exceeds the limit", Tier.CONTROL_PLANE, 0.97,
         weigh=_volume),
    rule("STO-01", r"Pod ephemeral local storage usage exceeds the total limit|"
         r"exceeded its local ephemeral storage limit|The node was low on resource: \[?(?:ephemeral-storage|"
         r"nodefs|imagefs|inodes)|low on resource: \[?DiskPressure|The node had condition: \[[^\]]*DiskPressure|"
         r"ephemeral[- ](?:local )?storage.*exceed", Tier.CONTROL_PLANE, 0.97),
    rule("STO-03", r"Multi-Attach error|FailedAttachVolume|AttachVolume\.Attach failed|"
         r"Unable to attach or mount volumes|FailedMount.*timed out waiting|VolumeMount.*failed.*device|"
         r"MountVolume\.(?:MountDevice|WaitForAttach) failed|mount\.nfs: |FailedMapVolume|"
         r"MountVolume\.SetUp failed for volume .*(?:rpc error|mount failed|timed out|exit status|nfs|csi)",
         Tier.CONTROL_PLANE, 0.93),
    rule("STO-02", r"\[Errno 122\]|Disk quota exceeded|StorageFull|PytorchStreamWriter failed writing|"
         r"ENOSPC(?!.*watch)|disk is full|ofstream.*No space", Tier.ROOT, 0.93, weigh=_full),
    rule("STO-02", r"\[Errno 28\]|[Nn]o space left on device", Tier.ROOT, 0.88, weigh=_full),
    rule("STO-02", r"unexpected pos \d+ vs \d+|write\(\): fd \d+ failed with", Tier.ROOT, 0.75, weigh=_full),
    rule("STO-02", r"RuntimeError: File \S+ cannot be opened|unable to open file .*for writing|"
         r"HDF5.*(?:unable to (?:extend|flush|write)|write failed)", Tier.ROOT, 0.6, weigh=_failed_write),
    rule("STO-04", r"nfs: server \S+ (?:not responding|timed out)|\[Errno 5\]|[Ss]tale (?:NFS )?file handle|"
         r"\[Errno 116\]|Transport endpoint is not connected|\[Errno 107\]|Remote I/O error|"
         r"(?:blk_update_request|Buffer|critical medium).*I/O error|EXT4-fs error|XFS .*(?:shutdown|error)|"
         r"nvme\S* .*(?:timeout, (?:aborting|reset)|I/O \d+ QID)|blocked for more than \d+ seconds|"
         r"Input/output error|Read-only file system|\[Errno 30\]|SlowDown|503 Slow Down|"
         r"(?:botocore|s3|gcsfs|fsspec|S3)\S*.*(?:ReadTimeout|ConnectTimeout|EndpointConnection|ServiceUnavailable|"
         r"InternalError|reduce your request rate)", Tier.ROOT, 0.85,
         weigh=_not_a_write),
))  # fmt: skip
