"""A pod template of a manifest as slim values, and what of its training container the slim values leave out.

Manifests are written by people: nulls, bare numbers for quantities and missing names are all legal or nearly
so, and are read as the API server would.
"""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec.structs import replace

from tonnage.cluster.announcing import is_gpu
from tonnage.cluster.gpu_labels import GKE as GKE_LABEL
from tonnage.cluster.gpu_labels import GKE_NAMES
from tonnage.cluster.gpu_labels import PRODUCT as PRODUCT_LABEL
from tonnage.cluster.gpus import GPU_TYPES, gpu_from_product
from tonnage.cluster.objects import Pod
from tonnage.cluster.resources import pod_limits, pod_requests
from tonnage.planning.workload.durability import durability_of_volume
from tonnage.planning.workload.quantities import wrong_quantity
from tonnage.planning.workload.value import UNBOUNDED, GpuKind, GpuWish, Mount
from tonnage.units import QuantityError, try_quantity

DEFAULT_CONTAINER = "kubectl.kubernetes.io/default-container"
SHM = "/dev/shm"
_TEXT_MAPS = (
    "requests", "limits", "overhead", "labels", "annotations", "matchLabels", "nodeSelector", "hard", "used",
    "capacity", "max", "min", "default", "defaultRequest", "maxLimitRequestRatio", "parameters",
)  # fmt: skip


class Unreadable(Exception):  # noqa: N818 - it is an answer about a manifest
    """A pod template that does not fit Kubernetes' shape; the text says where."""


class Trainer(msgspec.Struct, frozen=True):
    """The container that trains, in the parts slim pods do not keep."""

    name: str
    command: tuple[str, ...]
    env: dict[str, str]
    mounts: tuple[Mount, ...]
    shm_bytes: int | None


def pod_of(template: dict[str, Any], name: str, namespace: str) -> Pod:
    """The pod a template makes; raise Unreadable where it cannot be one."""
    plain = plain_object(template)
    if wrong := wrong_quantity(plain):
        raise Unreadable(wrong)
    try:
        pod = msgspec.convert(plain, Pod, strict=False)
    except msgspec.ValidationError as error:
        raise Unreadable(str(error)) from None
    meta = msgspec.structs.replace(pod.metadata, name=pod.metadata.name or name, namespace=namespace)
    return msgspec.structs.replace(pod, metadata=meta)


def plain_object(value: Any) -> Any:
    """A manifest's values as the API server reads them: nulls left out, quantities and labels as texts."""
    return _texts(_without_nulls(value))


def trainer_of(template: dict[str, Any], pod: Pod) -> Trainer:
    """The training container: the one kubectl would take, else the one with GPUs, else the first."""
    spec = template.get("spec")
    spec = spec if isinstance(spec, dict) else {}
    containers = _list(spec.get("containers"))
    if not containers:
        return Trainer("", (), {}, (), None)
    named = pod.metadata.annotations.get(DEFAULT_CONTAINER)
    chosen = [c for c in containers if c.get("name") == named]
    chosen += [c for c in containers if any(is_gpu(str(key)) for key in _resources(c))]
    main = (chosen or containers)[0]
    volumes = {str(volume.get("name")): volume for volume in _list(spec.get("volumes"))}
    mounts = tuple(
        _mount(mount, volumes) for mount in _list(main.get("volumeMounts")) if mount.get("mountPath")
    )
    return Trainer(
        name=str(main.get("name", "")),
        command=(*_words(main.get("command")), *_words(main.get("args"))),
        env=_environment(main),
        mounts=tuple(mount for mount in mounts if mount.path != SHM),
        shm_bytes=_shm(main, volumes, pod, is_host=bool(spec.get("hostIPC"))),
    )


def gpus_of(pod: Pod) -> GpuWish:
    """The GPUs a pod asks for, and the types its selectors allow."""
    try:
        asked = {**pod_requests(pod), **pod_limits(pod)}
    except QuantityError:
        return GpuWish()
    found = {name: amount for name, amount in asked.items() if is_gpu(name) and amount.is_positive()}
    if not found:
        return GpuWish()
    resource = max(found, key=lambda name: found[name].nano)
    kind: GpuKind = "mig" if "/mig-" in resource else "shared" if resource.endswith(".shared") else "whole"
    profile = resource.partition("/mig-")[2]
    return GpuWish(found[resource].milli(), kind, resource, _types(pod), profile)


def _types(pod: Pod) -> tuple[str, ...]:
    """GPU types that a node selector or a required node affinity pins."""
    selector = pod.spec.node_selector
    products = [selector[PRODUCT_LABEL]] if PRODUCT_LABEL in selector else []
    accelerators = [selector[GKE_LABEL]] if GKE_LABEL in selector else []
    affinity = pod.spec.affinity.node_affinity if pod.spec.affinity else None
    required = affinity.required_during_scheduling_ignored_during_execution if affinity else None
    for term in required.node_selector_terms if required else ():
        for line in term.match_expressions:
            if line.operator == "In" and line.key == PRODUCT_LABEL:
                products += line.values
            if line.operator == "In" and line.key == GKE_LABEL:
                accelerators += line.values
    known = [gpu.name for product in products if (gpu := gpu_from_product(product)) is not None]
    known += [GKE_NAMES[name] for name in accelerators if name in GKE_NAMES]
    order = [gpu.name for gpu in GPU_TYPES]
    return tuple(sorted(dict.fromkeys(known), key=order.index))


def _mount(mount: dict[str, Any], volumes: dict[str, dict[str, Any]]) -> Mount:
    name = str(mount.get("name", ""))
    durability = durability_of_volume(volumes.get(name, {"name": name}))
    if name not in volumes:
        durability = replace(durability, reason="the pod has no volume of that name", place=name)
    return Mount(str(mount["mountPath"]), name, durability, mount.get("readOnly") is True)


def _shm(main: dict[str, Any], volumes: dict[str, dict[str, Any]], pod: Pod, *, is_host: bool) -> int | None:
    """Bytes of /dev/shm: a memory volume's limit, else the pod's memory limit, else as much as the node has."""
    if is_host:
        return UNBOUNDED
    for mount in _list(main.get("volumeMounts")):
        source = volumes.get(str(mount.get("name")), {}).get("emptyDir")
        if mount.get("mountPath") != SHM:
            continue
        if not isinstance(source, dict):
            return UNBOUNDED
        said = try_quantity(_text(source.get("sizeLimit"))) if source.get("sizeLimit") is not None else None
        limit = pod_limits(pod).get("memory")
        sizes = [amount.value() for amount in (said, limit) if amount is not None]
        return min(sizes, default=UNBOUNDED)
    return None


def _environment(container: dict[str, Any]) -> dict[str, str]:
    return {
        str(entry["name"]): _text(entry["value"])
        for entry in _list(container.get("env"))
        if "name" in entry and entry.get("value") is not None
    }


def _resources(container: dict[str, Any]) -> list[str]:
    resources = container.get("resources")
    parts = [resources.get(name) for name in ("requests", "limits")] if isinstance(resources, dict) else []
    return [str(name) for part in parts if isinstance(part, dict) for name in part]


def _words(value: Any) -> list[str]:
    return [_text(word) for word in value] if isinstance(value, list) else []


def _list(value: Any) -> list[dict[str, Any]]:
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def _without_nulls(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _without_nulls(item) for name, item in value.items() if item is not None}
    return [_without_nulls(item) for item in value if item is not None] if isinstance(value, list) else value


def _texts(value: Any) -> Any:
    """Quantities and labels written as bare numbers are texts to Kubernetes."""
    if isinstance(value, dict):
        return {
            name: {key: _text(one) for key, one in part.items()}
            if name in _TEXT_MAPS and isinstance(part, dict)
            else _texts(part)
            for name, part in value.items()
        }
    return [_texts(part) for part in value] if isinstance(value, list) else value


def _text(value: Any) -> str:
    """A scalar with the characters it was written with."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(getattr(value, "text", value))
