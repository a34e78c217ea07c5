"""Which Kubernetes object holds the pods: the one that is named, else the plainest that can do it.

one pod               Job
several               JobSet where installed, else an Indexed Job with a headless Service
TensorFlow, several   TFJob where installed, else as above with a TF_CONFIG of our own
Horovod, MPI, several MPIJob; without it there is nobody to start the ranks, so it is refused
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import cast

from tonnage.manifests.codes import NO_TARGET, TOO_MANY_PODS, UNFIT_FRAMEWORK, refuse
from tonnage.manifests.pods.wiring import framework_of
from tonnage.manifests.request import TargetKind
from tonnage.spec.run import Run

CORE: tuple[TargetKind, ...] = ("Job", "IndexedJob")
_MPI = ("horovod", "mpi")
_FROM = {
    "JobSet": "JobSet",
    "TrainJob": "Kubeflow Trainer",
    "PyTorchJob": "the Kubeflow Training Operator",
    "TFJob": "the Kubeflow Training Operator",
    "MPIJob": "the Kubeflow Training Operator or MPI Operator",
}


@dataclass(frozen=True, slots=True)
class Choice:
    """A target and why it was taken."""

    target: TargetKind
    why: str


def choose_target(run: Run, nodes: int, served: Mapping[str, str]) -> Choice:
    """The target of a run; raise RefusedError where what it needs is not installed."""
    spec = run.spec
    if spec.target not in ("auto", "local"):
        return _named(cast(TargetKind, spec.target), run, nodes, served)
    if nodes == 1:
        return Choice("Job", "one pod")
    framework = framework_of(run)
    if framework in _MPI:
        if "MPIJob" not in served:
            raise refuse(
                NO_TARGET,
                f"{framework} on {nodes} nodes needs an MPIJob, and {_FROM['MPIJob']} is not installed",
                where="spec.framework",
                hint="install it, use one node, or start the ranks with torchrun (framework: torch)",
            )
        return Choice("MPIJob", f"{framework} on {nodes} nodes")
    if framework == "tensorflow" and "TFJob" in served:
        return Choice("TFJob", f"TensorFlow on {nodes} nodes")
    if "JobSet" in served:
        return Choice("JobSet", f"{nodes} pods, and JobSet is installed")
    return Choice("IndexedJob", f"{nodes} pods, and JobSet is not installed")


def _named(target: TargetKind, run: Run, nodes: int, served: Mapping[str, str]) -> Choice:
    if target not in CORE and target not in served:
        raise refuse(
            NO_TARGET,
            f"a {target} is asked for, and {_FROM[target]} is not installed",
            where="spec.target",
            hint=f"install it, or leave target out: {'a Job' if nodes == 1 else 'a JobSet or Indexed Job'} would do",
        )
    if target == "Job" and nodes > 1:
        raise refuse(TOO_MANY_PODS, f"a Job runs one pod, and nodes is {nodes}", where="spec.target")
    framework = framework_of(run)
    if nodes > 1 and framework in _MPI and target != "MPIJob":
        raise refuse(
            UNFIT_FRAMEWORK,
            f"a {target} does not start {framework} ranks on {nodes} nodes",
            where="spec.target",
            hint="target: MPIJob, or start the ranks with torchrun (framework: torch)",
        )
    return Choice(target, "named in the document")
