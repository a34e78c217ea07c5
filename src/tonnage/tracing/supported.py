"""Torch versions exact mode answers for.

A minor version is listed once its self-test has passed with the build that its package index serves by default;
`python -m tonnage.tracing.proving` runs that proof and writes the report in docs/reports. Builds of a listed
minor for the other CUDA major are not refused, because the same self-test runs in every tracing process before
anything is answered, but the result says that the pair is not one we have a report for.
"""

from __future__ import annotations

from collections.abc import Mapping

TORCH: Mapping[str, int] = {
    "2.9": 12,
    "2.10": 12,
    "2.11": 13,
    "2.12": 13,
    "2.13": 13,
    "2.14": 13,
    "2.15": 13,
}
"""Minor version -> the CUDA major of the proven build."""

CUDA_MAJORS = (12, 13)
"""Those there is a virtual runtime for."""

OLDEST_PYTHON = (3, 10)


def minor_of(version: str) -> str:
    """`2.11.0+cu130` is of minor `2.11`.

    >>> minor_of("2.11.0+cu130")
    '2.11'
    """
    return ".".join(version.partition("+")[0].split(".")[:2])


def is_proven(torch: str, cuda: str) -> bool:
    """Whether this pair of versions is in our reports."""
    return TORCH.get(minor_of(torch)) == int(cuda.partition(".")[0])
