"""Rendered objects as one YAML text, as `tonnage run --dry-run -o yaml` prints it: exactly what would be applied."""

from __future__ import annotations

from tonnage.manifests.request import Rendered
from tonnage.spec.dumping import write_yaml


def write_rendered(rendered: Rendered) -> str:
    """The notes as comments, then every object in the order of application."""
    notes = "".join(f"# {note}\n" for note in rendered.notes)
    return notes + "---\n".join(write_yaml(item) for item in rendered.objects)
