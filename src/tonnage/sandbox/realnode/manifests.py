"""The few objects real nodes need in the cluster: DNS may read, claims have a class, local images stay local.

Kubernetes pulls an image without a tag at every start, and there is no registry behind `local/...`. People
will write `image: local/python`, so an admission policy of this sandbox turns that pull into "if not
present".
"""

from __future__ import annotations

from typing import Any

from tonnage.sandbox.realnode.storage import storage_class

DNS_USER = "tonnage:coredns"
_POLICY = "tonnage-local-images"

Object = dict[str, Any]


def cluster_objects() -> list[Object]:
    """Everything to apply before the first real node starts."""
    return [*_dns_rights(), storage_class(), *_local_images_are_not_pulled()]


def _dns_rights() -> list[Object]:
    reading = ["list", "watch"]
    rules = [
        {"apiGroups": [""], "resources": ["services", "pods", "namespaces"], "verbs": reading},
        {"apiGroups": ["discovery.k8s.io"], "resources": ["endpointslices"], "verbs": reading},
    ]
    role = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": DNS_USER}
    user = {"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": DNS_USER}
    head = {"apiVersion": "rbac.authorization.k8s.io/v1", "metadata": {"name": DNS_USER}}
    return [
        {**head, "kind": "ClusterRole", "rules": rules},
        {**head, "kind": "ClusterRoleBinding", "roleRef": role, "subjects": [user]},
    ]


def _local_images_are_not_pulled() -> list[Object]:
    head = {"apiVersion": "admissionregistration.k8s.io/v1", "metadata": {"name": _POLICY}}
    pods = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["pods"]}
    spec = {
        "failurePolicy": "Ignore",
        "reinvocationPolicy": "IfNeeded",
        "matchConstraints": {"resourceRules": [pods]},
        "mutations": [_policy_for("containers"), _policy_for("initContainers")],
    }
    return [
        {**head, "kind": "MutatingAdmissionPolicy", "spec": spec},
        {**head, "kind": "MutatingAdmissionPolicyBinding", "spec": {"policyName": _POLICY}},
    ]


def _policy_for(field: str) -> Object:
    """Change `Always` to `IfNotPresent` for each container of this list whose image is local."""
    expression = (
        f"Object{{spec: Object.spec{{{field}: object.spec.?{field}.orValue([])"
        '.filter(c, c.image.startsWith("local/") && c.imagePullPolicy == "Always")'
        f'.map(c, Object.spec.{field}{{name: c.name, imagePullPolicy: "IfNotPresent"}})}}}}'
    )
    return {"patchType": "ApplyConfiguration", "applyConfiguration": {"expression": expression}}
