"""What a Job says when it ends: condition reasons with their texts, and the failure policy's sentence.

Every ending appears twice, first as an interim condition (`FailureTarget`, `SuccessCriteriaMet`) and, once
all pods have gone, as the terminal one (`Failed`, `Complete`), with the same reason and text.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from enum import StrEnum

import msgspec


class Ending(StrEnum):
    """Reasons a Job's conditions give."""

    BACKOFF_LIMIT = "BackoffLimitExceeded"
    DEADLINE = "DeadlineExceeded"
    FAILURE_POLICY = "PodFailurePolicy"
    FAILED_INDEXES = "FailedIndexes"
    TOO_MANY_FAILED_INDEXES = "MaxFailedIndexesExceeded"
    SUCCESS_POLICY = "SuccessPolicy"
    COMPLETIONS = "CompletionsReached"


TEXT_OF: Mapping[Ending, str] = {
    Ending.BACKOFF_LIMIT: "Job has reached the specified backoff limit",
    Ending.DEADLINE: "Job was active longer than specified deadline",
    Ending.FAILED_INDEXES: "Job has failed indexes",
    Ending.TOO_MANY_FAILED_INDEXES: "Job has exceeded the specified maximal number of failed indexes",
    Ending.COMPLETIONS: "Reached expected number of succeeded pods",
}
"""The fixed texts; failure and success policies say which rule matched."""


class ExitCodeMatched(msgspec.Struct, frozen=True):
    """A container's exit code met a rule."""

    container: str
    pod: str
    """namespace/name"""
    exit_code: int
    action: str
    rule: int


class ConditionMatched(msgspec.Struct, frozen=True):
    """A pod condition met a rule."""

    pod: str
    condition: str
    action: str
    rule: int


PolicyMatch = ExitCodeMatched | ConditionMatched

_EXIT_CODE = re.compile(
    r"Container (?P<container>\S+) for pod (?P<pod>\S+) failed with exit code (?P<code>-?\d+) "
    r"matching (?P<action>\w+) rule at index (?P<rule>\d+)"
)
_CONDITION = re.compile(
    r"Pod (?P<pod>\S+) has condition (?P<condition>\S+) matching (?P<action>\w+) rule at index (?P<rule>\d+)"
)
_SUCCESS = re.compile(r"Matched rules at index (?P<rule>\d+)")


def format_policy_match(match: PolicyMatch) -> str:
    """The condition's text for a matched rule."""
    if isinstance(match, ExitCodeMatched):
        return (
            f"Container {match.container} for pod {match.pod} failed with exit code {match.exit_code} "
            f"matching {match.action} rule at index {match.rule}"
        )
    return (
        f"Pod {match.pod} has condition {match.condition} matching {match.action} rule at index {match.rule}"
    )


def parse_policy_match(text: str) -> PolicyMatch | None:
    """Read the text back; None for any other."""
    if found := _EXIT_CODE.fullmatch(text):
        return ExitCodeMatched(
            found["container"], found["pod"], int(found["code"]), found["action"], int(found["rule"])
        )
    if found := _CONDITION.fullmatch(text):
        return ConditionMatched(found["pod"], found["condition"], found["action"], int(found["rule"]))
    return None


def format_success_rule(rule: int) -> str:
    """The text of a met success policy."""
    return f"Matched rules at index {rule}"


def parse_success_rule(text: str) -> int | None:
    """Which success rule was met."""
    found = _SUCCESS.fullmatch(text)
    return int(found["rule"]) if found else None
