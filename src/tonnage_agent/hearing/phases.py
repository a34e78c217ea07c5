"""Phases as trainers and their libraries announce them, for scripts without the SDK.

Lines seldom say that something is over: a phase lasts until a line begins another, and a step is a phase of its own.
A name in brackets at a line's start (`[phase] NAME`, as scripts without the SDK may print) is taken as it is.
"""

from __future__ import annotations

import re

_ANNOUNCED = re.compile(r"^\[phase\]\s+(?P<name>[\w.-]{1,64})\s*$")
_PATTERNS: tuple[tuple[str, re.Pattern[str]], ...] = tuple(
    (name, re.compile(pattern, re.IGNORECASE))
    for name, pattern in (
        # A save is told before a load: "saving checkpoint" and "loading from checkpoint" share a word.
        (
            "checkpoint",
            r"\bsaving (?:the )?(?:model|checkpoint|state|weights|optimizer|processor|tokenizer|deepspeed|trainer)"
            r"|\bsaving .{0,40}checkpoint|\bwriting checkpoint|\bcheckpoint(?:ing)? (?:started|begin)"
            r"|^\s*save checkpoint\b",
        ),
        (
            "eval",
            r"\*{5} Running (?:evaluation|prediction)|^\s*(?:validation|validating|evaluating|testing)\b"
            r"|\bvalidation dataloader \d+:|\bevaluating\b.{0,20}\d+%\||\bsanity check(?:ing)?\b",
        ),
        (
            "load",
            r"\bloading (?:checkpoint|weights|model|pipeline|state|base model|pretrained|from checkpoint|shards)"
            r"|\bloading checkpoint shards|\bdownloading (?:model|shards|weights)|\binstantiating model",
        ),
        (
            "preprocess",
            r"\brunning tokenizer on|\btokenizing\b|\bpreprocessing\b|^\s*map(?: \(num_proc=\d+\))?:\s"
            r"|\bgenerating (?:train|validation|test) split|\bpacking (?:train )?(?:dataset|sequences)"
            r"|^\s*filter(?: \(num_proc=\d+\))?:\s|\bbuilding (?:train|dataset|index)",
        ),
        ("shuffle", r"\bfilling up shuffle buffer|\bshuffle buffer filled|\bshuffling\b"),
        ("cache", r"\bcaching (?:images|features|latents|dataset|activations)|\bbuilding cache"),
    )
)
_QUICK = re.compile(
    r"sav|check|valid|evaluat|test|predict|sanity|load|instantiat|token|process|map|generat|pack|filter|build|shuffl|cach"
    r"|phase|writ",
    re.IGNORECASE,
)


def phase_of(line: str) -> str:
    """The phase a line begins; empty where it begins none."""
    if not _QUICK.search(line):
        return ""
    announced = _ANNOUNCED.match(line)
    if announced:
        return announced["name"]
    return next((name for name, pattern in _PATTERNS if pattern.search(line)), "")
