"""Where a run's bytes come from and go to: data, volumes, checkpoints, output."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from pydantic import Field

from tonnage.spec.fields import AbsolutePath, DnsName, DurationOrAuto, Flag, Place, Size, Text, Whole
from tonnage.spec.literals import DurationOrAuto as DurationOrAutoValue
from tonnage.spec.parts import Part, ShortPart


class Code(ShortPart):
    """The working folder laid into the image at start. Short form: `code: .`"""

    short: ClassVar[str] = "path"

    path: Text
    """Folder to ship, relative to this file."""

    mount: AbsolutePath = "/workspace"
    """Where it appears in the container; the command runs there."""

    ignore: tuple[Text, ...] = ()
    """Patterns to leave out, beside those of `.gitignore` and `.tonnageignore`."""


class Data(ShortPart):
    """A dataset that is read. Short form: a place, mounted at /data."""

    short: ClassVar[str] = "source"

    source: Annotated[Place, Field(alias="from")]
    """Where it is: `s3://bucket/prefix`, `pvc/NAME/path`, `nfs://server/path`, `hf://owner/name`."""

    mount: AbsolutePath = "/data"
    """Where it appears in the container."""

    stage: Literal["auto", "nvme", "memory", "none"] = "auto"
    """Copy it close to the GPUs first: to the node's disk, to memory, or not at all."""

    size: Size | None = None
    """How large it is; measured when not given."""


class Volume(Part):
    """Something to mount: exactly one of `pvc`, `nfs`, `emptyDir`, `secret`, `configMap` and `hostPath`."""

    mount: AbsolutePath
    """Where it appears in the container."""

    pvc: DnsName | None = None
    """Name of a PersistentVolumeClaim."""

    nfs: Text | None = None
    """NFS export as `server:/path`."""

    empty_dir: Size | None = None
    """Scratch space of this size that dies with the pod."""

    secret: DnsName | None = None
    """Name of a Secret whose keys become files."""

    config_map: DnsName | None = None
    """Name of a ConfigMap whose keys become files."""

    host_path: AbsolutePath | None = None
    """Folder of the node: ties the run to that node, and many clusters forbid it."""

    sub_path: Text | None = None
    """Folder inside the volume."""

    read_only: Flag = False
    """Mount without permission to write."""


class Checkpoints(ShortPart):
    """Where progress is kept. Short form: a place, such as `checkpoints: pvc/ckpt`."""

    short: ClassVar[str] = "to"

    to: Place
    """Storage that outlives the pod: `pvc/NAME`, `s3://bucket/prefix`, `nfs://server/path`."""

    mount: AbsolutePath = "/checkpoints"
    """Where a volume appears in the container; also given as TONNAGE_CHECKPOINTS."""

    every: DurationOrAuto = DurationOrAutoValue()
    """How often to save; `auto` weighs the time a save takes against the work a death would lose."""

    keep: Annotated[Whole, Field(ge=1)] = 3
    """How many to keep; the last proven one is never deleted."""

    grace: DurationOrAuto = DurationOrAutoValue()
    """Time to save after a stop signal; `auto` is the measured save time and a reserve."""

    verify: Flag = True
    """Prove each checkpoint by its hashes before an older one is deleted."""


class Output(ShortPart):
    """Where results go. Short form: a place."""

    short: ClassVar[str] = "to"

    to: Place
    """Storage for the results, such as `s3://models/llama` or `pvc/NAME`."""

    mount: AbsolutePath = "/output"
    """Where it appears in the container; also given as TONNAGE_OUTPUT."""

    model: Text | None = None
    """Name to register the trained model under."""
