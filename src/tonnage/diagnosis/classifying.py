"""From all evidence of an end to one finding.
"""

from __future__ import annotations

from tonnage.diagnosis.evidence import Evidence
from tonnage.diagnosis.finding import Finding


def classify(evidence: Evidence) -> Finding:
    """What happened, with the lines it rests on; what else was seen is in `contributing`."""
    raise NotImplementedError
