"""What each target's API has no words for, and what Tonnage does instead: the table in docs/targets.md, as data.

Checked against Kubernetes 1.36, JobSet 0.12, Kubeflow Trainer 2.3 and Training Operator 1.9.
"""

from __future__ import annotations

from dataclasses import dataclass

from tonnage.manifests.request import TargetKind


@dataclass(frozen=True, slots=True)
class Lack:
    """One thing a target cannot say."""

    what: str
    """`podFailurePolicy`, `TTL`, `queue`, `suspend`, `deadline`, `resize`, `gang restart`."""
    why: str
    instead: str

    @property
    def text(self) -> str:
        return f"{self.what}: {self.why}; {self.instead}"


_NEW_ATTEMPT = (
    "running pods are resized in place where Kubernetes can; otherwise a raised size is a new attempt"
)
_NO_POLICY = Lack(
    "podFailurePolicy",
    "its pods are plain pods without one",
    "restartPolicy Never ends the attempt at the first failure and the supervisor decides by cause; "
    "without a supervisor nothing is retried",
)
LACKS: dict[TargetKind, tuple[Lack, ...]] = {
    "Job": (
        Lack("resize", "its template changes only while suspended, from Kubernetes 1.36", _NEW_ATTEMPT),
    ),
    "IndexedJob": (
        Lack(
            "gang restart",
            "it replaces single pods, and a gang cannot go on with one new rank",
            "a disruption ends the Job and the supervisor starts the whole gang again",
        ),
        Lack("resize", "its template changes only while suspended, from Kubernetes 1.36", _NEW_ATTEMPT),
    ),
    "JobSet": (
        Lack("deadline", "it has none of its own", "its Job has one, and the agent keeps the run's"),
        Lack("resize", "its pod template is immutable", _NEW_ATTEMPT),
    ),
    "TrainJob": (
        Lack("podFailurePolicy", "not part of a TrainJob", "it stands in a TrainingRuntime made for the attempt"),
        Lack(
            "TTL",
            "deleting its finished JobSet can start a failed run again",
            "none is set; the supervisor removes the TrainJob after `keep`",
        ),
        Lack("resize", "its trainer is immutable and patches hold no resources", _NEW_ATTEMPT),
    ),
    "PyTorchJob": (
        _NO_POLICY,
        Lack(
            "Master",
            "its controller gives workers beside a Master an init container with limits above its requests",
            "all ranks are Workers, which keeps them Guaranteed; Tonnage wires the first as master",
        ),
        Lack("resize", "its controller makes plain pods once", _NEW_ATTEMPT),
    ),
    "TFJob": (
        _NO_POLICY,
        Lack("resize", "its controller makes plain pods once", _NEW_ATTEMPT),
    ),
    "MPIJob": (
        _NO_POLICY,
        Lack("queue", "Kueue admits only version v2beta1", "with v1 (Training Operator) a run with a queue is refused"),
        Lack(
            "peers",
            "ranks are started from the launcher and pods have no names of their own",
            "the agent watches memory in each worker; reachability is mpirun's to find out",
        ),
        Lack("resize", "its controller makes plain pods once", _NEW_ATTEMPT),
    ),
}  # fmt: skip
