"""The classes of failure: what each is called, and whether trying again can help.

`same`: as it was; `elsewhere`: on another node; `after-fix`: with something changed, by us or by its owner; `never`:
the program would fail the same way. A rule may know better than its class (a port that is taken, a name that is not
yet known: `same`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from tonnage.diagnosis.finding import Retry

UNKNOWN = "UNKNOWN"


@dataclass(frozen=True, slots=True)
class FailureClass:
    """One id with its name and its verdict on trying again."""

    title: str
    retry: Retry


CLASSES: Mapping[str, FailureClass] = {
    "MEM-01": FailureClass("container memory limit", "after-fix"),
    "MEM-02": FailureClass("node out of memory", "elsewhere"),
    "MEM-03": FailureClass("evicted: node short of memory", "elsewhere"),
    "MEM-04": FailureClass("host allocation refused", "after-fix"),
    "MEM-05": FailureClass("/dev/shm too small", "after-fix"),
    "MEM-06": FailureClass("/dev/shm too small for NCCL", "after-fix"),
    "MEM-07": FailureClass("memory volume over its size limit", "after-fix"),
    "MEM-08": FailureClass("data loader worker killed", "after-fix"),
    "MEM-09": FailureClass("too many open files or processes", "after-fix"),
    "MEM-10": FailureClass("killed by Ray's memory monitor", "after-fix"),
    "MEM-11": FailureClass("host memory grows without bound", "after-fix"),
    "MEM-12": FailureClass("host memory spike in load, save or evaluation", "after-fix"),
    "GPU-01a": FailureClass("GPU out of memory: fragmented", "after-fix"),
    "GPU-01b": FailureClass("GPU out of memory: shared with others", "after-fix"),
    "GPU-01c": FailureClass("GPU out of memory: larger than the GPU", "after-fix"),
    "GPU-01d": FailureClass("GPU out of memory: grows over steps", "after-fix"),
    "GPU-01e": FailureClass("GPU out of memory: step too large", "after-fix"),
    "GPU-01f": FailureClass("GPU out of memory in save or evaluation", "after-fix"),
    "GPU-02": FailureClass("device out of memory (XLA, TensorFlow)", "after-fix"),
    "GPU-03": FailureClass("GPU out of memory behind another error", "after-fix"),
    "GPU-04": FailureClass("illegal access on the GPU", "after-fix"),
    "GPU-05": FailureClass("GPU memory leak", "after-fix"),
    "GPU-06": FailureClass("GPU memory hardware", "elsewhere"),
    "GPU-07": FailureClass("GPU lost", "elsewhere"),
    "GPU-08": FailureClass("container lost its GPU", "same"),
    "GPU-09": FailureClass("driver, runtime or architecture mismatch", "after-fix"),
    "NET-01": FailureClass("collective timed out", "after-fix"),
    "NET-02": FailureClass("NCCL watchdog stuck", "after-fix"),
    "NET-03": FailureClass("peer or fabric error", "elsewhere"),
    "NET-04": FailureClass("ranks could not meet", "same"),
    "NET-05": FailureClass("NCCL segment missing", "after-fix"),
    "STO-01": FailureClass("evicted: local disk", "after-fix"),
    "STO-02": FailureClass("disk or quota full", "after-fix"),
    "STO-03": FailureClass("volume not attached or mounted", "elsewhere"),
    "STO-04": FailureClass("storage stalled or failed", "elsewhere"),
    "SCH-01": FailureClass("unschedulable", "after-fix"),
    "SCH-02": FailureClass("refused by quota or admission", "after-fix"),
    "SCH-03": FailureClass("not admitted by Kueue", "after-fix"),
    "SCH-04": FailureClass("gang not ready", "after-fix"),
    "SCH-05": FailureClass("rejected by the node", "elsewhere"),
    "SCH-06": FailureClass("image not pulled", "after-fix"),
    "SCH-07": FailureClass("container configuration", "after-fix"),
    "PRE-01": FailureClass("preempted by the scheduler", "same"),
    "PRE-02": FailureClass("preempted by a critical pod", "elsewhere"),
    "PRE-03": FailureClass("drained", "elsewhere"),
    "PRE-04": FailureClass("node lost or tainted", "elsewhere"),
    "PRE-05": FailureClass("spot reclaim or node shutdown", "same"),
    "PRE-06": FailureClass("preempted by Kueue", "same"),
    "PRE-07": FailureClass("job deadline or back-off limit", "after-fix"),
    "PRB-01": FailureClass("killed by its liveness probe", "after-fix"),
    "APP-01": FailureClass("the program's own error", "never"),
    "APP-02": FailureClass("loss is not a number", "after-fix"),
    "APP-03": FailureClass("segmentation fault", "after-fix"),
    "APP-04": FailureClass("unreadable checkpoint", "after-fix"),
    "APP-05": FailureClass("hang without an error", "same"),
    "EXT-01": FailureClass("signal from outside", "same"),
    UNKNOWN: FailureClass("no evidence decides", "same"),
}
