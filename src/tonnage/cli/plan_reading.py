"""Read what is to be planned: Run documents, or the manifests people already have."""

from __future__ import annotations

from msgspec.structs import replace

from tonnage.cli.check import read_document
from tonnage.errors import DocumentError
from tonnage.planning.workload import Workload
from tonnage.planning.workload.reading import workloads_in
from tonnage.spec.mistakes import Mistake

NO_NAMESPACE = "default"


def read_workloads(name: str, namespace: str) -> list[Workload]:
    """The workloads of a file; raise DocumentError with every mistake in it."""
    content = read_document(name)
    if isinstance(content, Mistake):
        raise DocumentError(content.as_problem())
    found = workloads_in(content, "standard input" if name == "-" else name)
    return [_in_namespace(workload, namespace) for workload in found]


def _in_namespace(workload: Workload, namespace: str) -> Workload:
    """What names no namespace goes to the one that was given."""
    if not namespace or workload.namespace != NO_NAMESPACE:
        return workload
    return replace(workload, namespace=namespace)
