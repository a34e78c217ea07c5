"""The pods of a workload as they would be sent: what was left to us filled in.

A Run may leave memory, cores and disk to us (`auto`); scheduling, quotas and QoS need numbers. The largest
container, which is the one that trains, carries them. Nothing a person wrote is changed.
"""

from __future__ import annotations

from collections.abc import Mapping

from msgspec.structs import replace

from tonnage.cluster.gpu_labels import PRODUCT
from tonnage.cluster.objects import Container, Pod, Volume
from tonnage.planning.placing import Wanted
from tonnage.planning.workload import Role, Workload

PRODUCT_LABEL = PRODUCT
UNNAMED_IMAGE = "not-named-yet"


def wanted(role: Role) -> Wanted:
    """A role as placing and admission ask for it."""
    return Wanted(role.name, role.pod, role.count)


def with_amounts(role: Role, amounts: Mapping[str, str]) -> Role:
    """The role with requests and limits filled in where its training container names none."""
    containers = tuple(
        _filled(container, amounts) if container.name == _trainer(role) else container
        for container in role.pod.spec.containers
    )
    return _with_pod(role, replace(role.pod, spec=replace(role.pod.spec, containers=containers)))


def with_image(role: Role) -> Role:
    """The role with a stand-in for images not named yet: a plan may come before the image is built."""
    containers = tuple(
        container if container.image else replace(container, image=UNNAMED_IMAGE)
        for container in role.pod.spec.containers
    )
    return _with_pod(role, replace(role.pod, spec=replace(role.pod.spec, containers=containers)))


def without_claims(workload: Workload, names: frozenset[str]) -> Workload:
    """The workload without volumes from these claims: they could not be seen, and must not decide placement."""
    if not names:
        return workload

    def stays(volume: Volume) -> bool:
        claim = volume.persistent_volume_claim
        return claim is None or claim.claim_name not in names

    roles = [
        _with_pod(
            role,
            replace(
                role.pod,
                spec=replace(role.pod.spec, volumes=tuple(filter(stays, role.pod.spec.volumes))),
            ),
        )
        for role in workload.roles
    ]
    return workload.with_roles(*roles)


def claims_of(workload: Workload) -> frozenset[str]:
    """Names of the claims its pods mount."""
    return frozenset(
        volume.persistent_volume_claim.claim_name
        for role in workload.roles
        for volume in role.pod.spec.volumes
        if volume.persistent_volume_claim is not None
    )


def _trainer(role: Role) -> str:
    names = [container.name for container in role.pod.spec.containers]
    return role.container if role.container in names else (names[0] if names else "")


def _filled(container: Container, amounts: Mapping[str, str]) -> Container:
    requests, limits = dict(container.resources.requests), dict(container.resources.limits)
    for name, text in amounts.items():
        if name not in requests and name not in limits:
            requests[name] = limits[name] = text
    return replace(container, resources=replace(container.resources, requests=requests, limits=limits))


def _with_pod(role: Role, pod: Pod) -> Role:
    return replace(role, pod=pod)
