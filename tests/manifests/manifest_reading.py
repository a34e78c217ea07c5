"""Find the pods inside rendered objects, whatever holds them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tonnage.cluster.objects import Pod
from tonnage.manifests import Rendered
from tonnage.planning.workload.decoding import pod_of

Template = dict[str, Any]


def templates(rendered: Rendered) -> list[tuple[Template, int]]:
    """Every pod template with how many pods are made of it."""
    return [found for item in rendered.objects for found in _in(item)]


def pods(rendered: Rendered) -> list[Pod]:
    """Slim pods, one per template."""
    return [pod_of(template, "pod", "default") for template, _ in templates(rendered)]


def containers(template: Template) -> list[dict[str, Any]]:
    return [*template["spec"].get("initContainers", []), *template["spec"]["containers"]]


def trainer(rendered: Rendered) -> dict[str, Any]:
    """The container that trains, in the pods of which there are most."""
    template, _ = max(templates(rendered), key=lambda found: found[1])
    main = template["metadata"]["annotations"]["kubectl.kubernetes.io/default-container"]
    return next(each for each in template["spec"]["containers"] if each["name"] == main)


def variables(container: dict[str, Any]) -> dict[str, str]:
    return {entry["name"]: entry["value"] for entry in container["env"] if "value" in entry}


def _in(item: dict[str, Any]) -> Iterator[tuple[Template, int]]:
    spec = item.get("spec", {})
    match item["kind"]:
        case "Job":
            yield spec["template"], spec["parallelism"]
        case "JobSet":
            yield from _jobs(spec)
        case "TrainingRuntime":
            yield from _jobs(spec["template"]["spec"])
        case "PyTorchJob" | "TFJob" | "MPIJob":
            field = {"PyTorchJob": "pytorch", "TFJob": "tf", "MPIJob": "mpi"}[item["kind"]]
            for replica in spec[f"{field}ReplicaSpecs"].values():
                yield replica["template"], replica["replicas"]


def _jobs(spec: dict[str, Any]) -> Iterator[tuple[Template, int]]:
    for job in spec["replicatedJobs"]:
        inner = job["template"]["spec"]
        yield inner["template"], inner["parallelism"]
