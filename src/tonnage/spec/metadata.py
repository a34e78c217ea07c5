"""The head that every document shares with every Kubernetes object."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from tonnage.spec.fields import LabelKey, LabelValue, Name, Text
from tonnage.spec.parts import Part

API_VERSION: Literal["tonnage.dev/v1alpha1"] = "tonnage.dev/v1alpha1"


class Metadata(Part):
    """Who this is."""

    name: Name
    """The name; pods and Services are called after it."""

    namespace: Name | None = None
    """Namespace to live in; without it, the team's, else the one of the current context."""

    labels: dict[LabelKey, LabelValue] = Field(default_factory=dict)
    """Labels of this document itself; what it creates gets `spec.labels`."""

    annotations: dict[LabelKey, Text] = Field(default_factory=dict)
    """Free notes that tools keep with the document."""
