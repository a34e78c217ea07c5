"""What was probably meant by a field that does not exist.

In this order: the same letters in another case (`micro_batch`), what the same idea is called in Kubernetes
or in other tools (`replicas`, `timeout`), a near spelling at the same level, a name that holds the word (`oom`
for `hostOOM`), the same name at another level (`gpus` beside `spec`).
"""

from __future__ import annotations

from difflib import get_close_matches
from functools import cache

from tonnage.spec.describing import all_fields, fields_of, holds, inner_part, part_at
from tonnage.spec.mistakes import Path, field_text
from tonnage.spec.parts import Part

# What people who come from Kubernetes, SkyPilot, dstack or Slurm write -> where a Run says it.
_ELSEWHERE: dict[str, str] = {
    "accelerators": "spec.gpus",
    "gpucount": "spec.gpus",
    "gputype": "spec.gpus (8 x h100)",
    "numnodes": "spec.nodes",
    "replicas": "spec.nodes",
    "workers": "spec.nodes",
    "parallelism": "spec.nodes",
    "completions": "spec.nodes",
    "instances": "spec.nodes",
    "resources": "spec.gpus, spec.cpu, spec.memory and spec.disk",
    "requests": "spec.memory: request..limit",
    "limits": "spec.memory: request..limit",
    "cpus": "spec.cpu",
    "ram": "spec.memory",
    "mem": "spec.memory",
    "ephemeralstorage": "spec.disk",
    "sharedmemory": "spec.shm",
    "shmsize": "spec.shm",
    "workdir": "spec.code",
    "workingdir": "spec.code",
    "run": "spec.command",
    "script": "spec.command",
    "args": "spec.command",
    "entrypoint": "spec.command",
    "commands": "spec.command",
    "containers": "spec.image and spec.command",
    "container": "spec.image and spec.command",
    "template": "spec.podTemplate",
    "envs": "spec.env",
    "environment": "spec.env",
    "envfrom": "spec.secrets, or spec.podTemplate",
    "nproc": "spec.processesPerNode",
    "nprocpernode": "spec.processesPerNode",
    "numprocpernode": "spec.processesPerNode",
    "timeout": "spec.deadline",
    "maxduration": "spec.deadline",
    "activedeadlineseconds": "spec.deadline",
    "walltime": "spec.deadline",
    "ttl": "spec.keep",
    "ttlsecondsafterfinished": "spec.keep",
    "backofflimit": "spec.retries",
    "retry": "spec.retries",
    "restarts": "spec.retries",
    "maxrestarts": "spec.retries",
    "restartpolicy": "spec.retries",
    "serviceaccountname": "spec.serviceAccount",
    "priorityclassname": "spec.priority",
    "priorityclass": "spec.priority",
    "queuename": "spec.queue",
    "localqueue": "spec.queue",
    "runtimeref": "spec.target and spec.framework",
    "volumemounts": "spec.volumes (each with its mount)",
    "filemounts": "spec.data or spec.volumes",
    "usespot": "spec.spot",
    "spotpolicy": "spec.spot",
    "preemptible": "spec.spot",
    "nodeselector": "spec.podTemplate.spec.nodeSelector",
    "tolerations": "spec.podTemplate.spec.tolerations",
    "affinity": "spec.podTemplate.spec.affinity",
    "securitycontext": "spec.podTemplate.spec.securityContext",
    "topologyspreadconstraints": "spec.podTemplate.spec.topologySpreadConstraints",
    "initcontainers": "spec.podTemplate.spec.initContainers",
    "hostnetwork": "spec.network.hostNetwork",
    "batchsize": "spec.train.microBatch",
    "gradientaccumulation": "spec.train.accumulation",
    "gradientcheckpointing": "spec.train.checkpointing",
    "checkpoint": "spec.checkpoints",
    "dataset": "spec.data",
    "datasets": "spec.data",
    "outputs": "spec.output",
}


def suggestion(root: type[Part], path: Path) -> str | None:
    """The field that was probably meant, as a question; None where nothing is near."""
    near = nearest(root, path)
    return f"did you mean {near}?" if near else None


def nearest(root: type[Part], path: Path) -> str | None:
    """The path of the field that was probably meant."""
    parent, wrong = path[:-1], str(path[-1])[:64]
    part = part_at(root, parent)
    siblings = list(fields_of(part)) if part is not None else []
    plain = _plain(wrong)
    for name in siblings:
        if _plain(name) == plain:
            return field_text((*parent, name))
    if plain in _elsewhere(root) and len(parent) <= 1:
        return _elsewhere(root)[plain]
    close = get_close_matches(plain, {_plain(name): name for name in siblings}, n=1, cutoff=0.7)
    if close:
        return field_text((*parent, next(name for name in siblings if _plain(name) == close[0])))
    inside = [name for name in siblings if len(plain) >= 3 and plain in _plain(name)]
    if inside:
        return " or ".join(field_text((*parent, name)) for name in inside[:3])
    return _at_another_level(root, plain)


@cache
def _elsewhere(root: type[Part]) -> dict[str, str]:
    return _ELSEWHERE if root.__name__ == "Run" else {}


@cache
def _by_plain_name(root: type[Part]) -> dict[str, str]:
    """Fields by name alone; the outermost wins where several share a name."""
    named: dict[str, str] = {}
    for path, _, _ in all_fields(root):
        named.setdefault(_plain(str(path[-1])), _spoken(root, path))
    return named


def _spoken(root: type[Part], path: Path) -> str:
    """A path with `[]` after lists, as in `spec.volumes[].mount`."""
    text, part = "", root
    for step in path:
        info = fields_of(part)[str(step)]
        text += f".{step}" if text else str(step)
        if step is not path[-1] and holds(info.annotation) == "list":
            text += "[]"
        part = inner_part(info.annotation) or part
    return text


def _at_another_level(root: type[Part], plain: str) -> str | None:
    named = _by_plain_name(root)
    close = get_close_matches(plain, named, n=1, cutoff=0.85)
    return named[close[0]] if close else None


def _plain(name: str) -> str:
    return name.replace("_", "").replace("-", "").lower()
