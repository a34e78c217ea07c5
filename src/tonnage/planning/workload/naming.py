"""Kinds of documents in a sentence."""

from __future__ import annotations

_SPOKEN_WITH_A_VOWEL = ("MPI", "XGBoost")


def a(kind: str) -> str:
    """A kind with its article, as it is spoken.

    >>> a("Job"), a("MPIJob")
    ('a Job', 'an MPIJob')
    """
    return f"{'an' if kind.startswith(_SPOKEN_WITH_A_VOWEL) else 'a'} {kind}"
