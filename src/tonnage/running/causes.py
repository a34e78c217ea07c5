"""Which retry budget an ending uses."""

from __future__ import annotations

from tonnage.diagnosis.evidence import Evidence
from tonnage.diagnosis.finding import Finding
from tonnage.running.attempts import Cause


def cause_of(finding: Finding, evidence: Evidence) -> Cause:
    """The cause whose budget this finding uses."""
    raise NotImplementedError
