"""The cases caused on real nodes cover what is demanded of them, and nothing unnamed."""

from __future__ import annotations

from conformance.nodes import CATALOGUE
from conformance.nodes.demanded import DEMANDED


def test_every_demanded_rule_has_a_case_and_every_case_names_demanded_rules() -> None:
    covered = {rule for case in CATALOGUE.cases for rule in case.covers}

    assert covered == set(DEMANDED)


def test_there_are_more_than_twenty_caused_cases_with_names_of_their_own() -> None:
    names = [case.name for case in CATALOGUE.cases]

    assert len(names) > 20
    assert len(set(names)) == len(names)
