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


def _never_started(read: Reading) -> Sign | None:
    """A mount that failed at first and came is told by an event; the pod that then ran did not end of it."""
    if read.statement.kind != "event":
        return read.sign
    pod = next((pod for pod in read.view.evidence.pods if pod.index == read.statement.node), None)
    ran = pod is not None and any(end.started is not None for end in pod.containers if not end.is_init)
    return None if ran else read.sign


def _not_a_write(read: Reading) -> Sign | None:
    """A save that could not be written is told by the rules of full disks."""
    return None if "write(): fd" in read.statement.text else read.sign


def _failed_write(read: Reading) -> Sign | None:
    """Cannot write a checkpoint: most often full, unless the text says that the path is the mistake."""
    said = read.after(2)
    return (
        None if re.search(r"Parent directory|No such file|Permission denied|Read-only", said) else read.sign
    )


FAMILY = Family(
    rules=(
        rule(
            "STO-01",
            Tier.CONTROL_PLANE,
            0.97,
            r"Usage of EmptyDir volume \"?([^\"\s]+)\"? exceeds the limit",
            weigh=_volume,
        ),
        rule(
            "STO-01",
            Tier.CONTROL_PLANE,
            0.97,
            r"Pod ephemeral local storage usage exceeds the total limit",
            r"exceeded its local ephemeral storage limit",
            r"The node was low on resource: \[?(?:ephemeral-storage|nodefs|imagefs|inodes)",
            r"low on resource: \[?DiskPressure",
            r"The node had condition: \[[^\]]*DiskPressure",
            r"ephemeral[- ](?:local )?storage.*exceed",
        ),
        rule(
            "STO-03",
            Tier.CONTROL_PLANE,
            0.93,
            r"Multi-Attach error",
            r"FailedAttachVolume",
            r"AttachVolume\.Attach failed",
            r"Unable to attach or mount volumes",
            r"FailedMount.*timed out waiting",
            r"VolumeMount.*failed.*device",
            r"MountVolume\.(?:MountDevice|WaitForAttach) failed",
            r"mount\.nfs: ",
            r"FailedMapVolume",
            r"MountVolume\.SetUp failed for volume .*(?:rpc error|mount failed|timed out|exit status|nfs|csi)",
            weigh=_never_started,
        ),
        rule(
            "STO-02",
            Tier.ROOT,
            0.93,
            r"\[Errno 122\]",
            r"Disk quota exceeded",
            r"StorageFull",
            r"PytorchStreamWriter failed writing",
            r"ENOSPC(?!.*watch)",
            r"disk is full",
            r"ofstream.*No space",
            weigh=_full,
        ),
        rule(
            "STO-02",
            Tier.ROOT,
            0.88,
            r"\[Errno 28\]",
            r"[Nn]o space left on device",
            weigh=_full,
        ),
        rule(
            "STO-02",
            Tier.ROOT,
            0.75,
            r"unexpected pos \d+ vs \d+",
            r"write\(\): fd \d+ failed with",
            weigh=_full,
        ),
        rule(
            "STO-02",
            Tier.ROOT,
            0.6,
            r"RuntimeError: File \S+ cannot be opened",
            r"unable to open file .*for writing",
            r"HDF5.*(?:unable to (?:extend|flush|write)|write failed)",
            weigh=_failed_write,
        ),
        rule(
            "STO-04",
            Tier.ROOT,
            0.85,
            r"nfs: server \S+ (?:not responding|timed out)",
            r"\[Errno 5\]",
            r"[Ss]tale (?:NFS )?file handle",
            r"\[Errno 116\]",
            r"Transport endpoint is not connected",
            r"\[Errno 107\]",
            r"Remote I/O error",
            r"(?:blk_update_request|Buffer|critical medium).*I/O error",
            r"EXT4-fs error",
            r"XFS .*(?:shutdown|error)",
            r"nvme\S* .*(?:timeout, (?:aborting|reset)|I/O \d+ QID)",
            r"blocked for more than \d+ seconds",
            r"Input/output error",
            r"Read-only file system",
            r"\[Errno 30\]",
            r"SlowDown",
            r"503 Slow Down",
            r"(?:botocore|s3|S3|gcsfs|fsspec).*ReadTimeout",
            r"(?:botocore|s3|S3|gcsfs|fsspec).*ConnectTimeout",
            r"(?:botocore|s3|S3|gcsfs|fsspec).*EndpointConnection",
            r"(?:botocore|s3|S3|gcsfs|fsspec).*ServiceUnavailable",
            r"reduce your request rate",
            weigh=_not_a_write,
        ),
    )
)
