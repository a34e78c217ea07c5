"""Rules about podTemplate, the patch that is laid over the finished pod.

The patch is Kubernetes' own shape, so it is not ours to forbid; but a misspelt field is dropped or refused
far from here, and a field written one level too high always is. The names are those of v1.36; one we do not
know may be newer than we are, so it is remarked on, not refused, and only where a known name is near.
"""

from __future__ import annotations

from collections.abc import Iterator
from difflib import get_close_matches
from typing import Any

from tonnage.spec.mistakes import Path
from tonnage.spec.rules.remarks import Remark
from tonnage.spec.run import Run

_DIRECTIVES = ("$patch", "$retainKeys")
_POD_PARTS = ("metadata", "spec", *_DIRECTIVES)
_POD_SPEC = tuple(
    """activeDeadlineSeconds affinity automountServiceAccountToken containers dnsConfig dnsPolicy
    enableServiceLinks ephemeralContainers hostAliases hostIPC hostNetwork hostPID hostUsers hostname
    hostnameOverride imagePullSecrets initContainers nodeName nodeSelector os overhead preemptionPolicy
    priority priorityClassName readinessGates resourceClaims resources restartPolicy runtimeClassName
    schedulerName schedulingGates schedulingGroup securityContext serviceAccount serviceAccountName
    setHostnameAsFQDN shareProcessNamespace subdomain terminationGracePeriodSeconds tolerations
    topologySpreadConstraints volumes workloadRef""".split()
)
_CONTAINER = tuple(
    """args command env envFrom image imagePullPolicy lifecycle livenessProbe name ports readinessProbe
    resizePolicy resources restartPolicy restartPolicyRules securityContext startupProbe stdin stdinOnce
    terminationMessagePath terminationMessagePolicy tty volumeDevices volumeMounts workingDir""".split()
)


def patch_is_a_pod(run: Run) -> Iterator[Remark]:
    """A field of the pod's spec written one level too high would be dropped by Kubernetes without a word."""
    for name in run.spec.pod_template:
        if name not in _POD_PARTS:
            hint = "did you mean spec.podTemplate.spec"
            yield Remark(
                code="DOC-004",
                path=("spec", "podTemplate", name),
                what="unknown field",
                expected="metadata or spec of the pod",
                hint=f"{hint}?" if name == "template" else f"{hint}.{name}?",
            )


def patch_is_well_spelt(run: Run) -> Iterator[Remark]:
    """A misspelt field of the pod or of a container is refused or ignored only when the run starts."""
    spec, path = run.spec.pod_template.get("spec"), ("spec", "podTemplate", "spec")
    yield from _misspelt(spec, path, _POD_SPEC)
    for field in ("containers", "initContainers"):
        containers = spec.get(field) if isinstance(spec, dict) else None
        for index, container in enumerate(containers if isinstance(containers, list) else ()):
            yield from _misspelt(container, (*path, field, index), _CONTAINER)


def _misspelt(patch: Any, path: Path, known: tuple[str, ...]) -> Iterator[Remark]:
    for name in patch if isinstance(patch, dict) else ():
        near = get_close_matches(str(name), known, n=1, cutoff=0.75)
        if name not in known and name not in _DIRECTIVES and near:
            yield Remark(
                code="DOC-004",
                path=(*path, name),
                what="no field of Kubernetes that we know",
                hint=f"did you mean {near[0]}?",
                is_mild=True,
            )
