"""A document that contradicts the model it names: no GPU helps, so it is an obstacle and not a gap in what is known.

The formulas refuse two kinds of steps. Some they do not cover (a head, an activation, quantized weights): that is our
ignorance, and the rest is planned. Others nobody can run (more tokens than the model has positions, experts where
there are none) or are not told at all (no sequence): those the reader must mend, in the words of the document.
"""

from __future__ import annotations

from tonnage.errors import Problem, TonnageError
from tonnage.planning.estimating import CannotEstimate
from tonnage.planning.recipes import Contradiction

NO_FORMULAS = frozenset(
    f"SHAPE-{number}" for number in ("011", "012", "014", "015", "016", "028", "031", "032", "037")
)
"""Steps that may well run, and that we cannot work out."""
NOT_OFFERED = "not offered"
_WORDS = (
    ("give --seq, or train.sequence in the document", "say train.sequence, the tokens of one sample"),
    ("give --image instead of --seq", "drop train.sequence (train.imageSize is the size of images)"),
    ("at most --seq", "train.sequence: at most"),
    ("at least --image", "train.imageSize: at least"),
    ("at most pipeline:", "train.parallel.pipeline: at most "),
    ("expert from --parallel", "train.parallel.expert"),
    ("--attention sdpa", "train.attention: sdpa"),
    ("--lora-rank", "train.loraRank"),
    ("--image", "train.imageSize"),
    ("--seq", "train.sequence"),
)
"""Hints are written for flags; here their reader has a document before him."""


def contradiction_in(reason: CannotEstimate) -> Contradiction | None:
    """What the document and its model cannot both say; None where it is only our formulas that end."""
    cause = reason.__cause__
    if not isinstance(cause, TonnageError):
        return None
    found = [problem for problem in cause.problems if is_contradiction(problem)]
    if not found:
        return None
    texts = [f"{problem.what}: {problem.found}" if problem.found else problem.what for problem in found]
    mends = [in_document_words(problem.hint) for problem in found if problem.hint]
    return Contradiction("; ".join(texts), mend="; ".join(mends))


def is_contradiction(problem: Problem) -> bool:
    """Whether a step or a model is impossible as it is written, rather than unknown to us."""
    is_of_shape = problem.code.startswith("SHAPE-") and problem.code not in NO_FORMULAS
    return is_of_shape and NOT_OFFERED not in problem.what


def in_document_words(hint: str) -> str:
    """A hint with the document's fields in place of the command's flags."""
    for flag, field in _WORDS:
        hint = hint.replace(flag, field)
    return hint
