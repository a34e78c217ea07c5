"""Needles never hide a match: whatever an expression finds contains its needle."""

from __future__ import annotations

from tests.diagnosis.test_texts import TEXTS

from tonnage.diagnosis.families import FAMILIES
from tonnage.diagnosis.needles import alternatives, needle_of

LINES = {line for _, text in TEXTS for line in text.splitlines()}
RULE_TEXTS = [text for family in FAMILIES for rule in family.rules for text in rule.texts]


def test_every_match_contains_its_needle() -> None:
    matched = 0
    for text in RULE_TEXTS:
        for line in LINES:
            if text.pattern.search(line):
                matched += 1
                assert text.needle is None or text.needle in line, (text.pattern.pattern, line)
    assert matched > 200


def test_nearly_every_rule_has_one() -> None:
    without = [text.pattern.pattern for text in RULE_TEXTS if text.needle is None]
    assert len(without) < len(RULE_TEXTS) / 10, without


def test_what_may_be_absent_is_no_needle() -> None:
    assert needle_of(r"abcd?e") == "abc"
    assert needle_of(r"(?:abcdef)?xyz") == "xyz"
    assert needle_of(r"ab{2,3}cdef") == "cdef"
    assert needle_of(r"[abcdef]+xyz") == "xyz"
    assert needle_of(r"\[Errno 28\]") == "[Errno 28]"
    assert alternatives(r"a(?:b|c)d|e") == ["a(?:b|c)d", "e"]
