"""What a rule is: a text that some program prints, the class it speaks for, and how far it can be believed.

Rules are data. `tier` is the decision order: who may be believed before whom. A rule that needs its surroundings (how
full /dev/shm was, which function was running) has `weigh`, which may change the class, or withdraw it.
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from enum import IntEnum

from tonnage.diagnosis.finding import Line, Retry
from tonnage.diagnosis.needles import alternatives, needle_of
from tonnage.diagnosis.statements import Statement, View


class Tier(IntEnum):
    """Who is believed first."""

    OURS = 0
    """What Tonnage or its agent did itself."""
    CONTROL_PLANE = 1
    """Texts fixed in Kubernetes' source: they cannot lie."""
    RUNTIME = 2
    """OOMKilled, or the cgroup's own count of kills."""
    KERNEL = 3
    """The kernel's and the GPU driver's log."""
    ROOT = 4
    """A framework's exception that names its cause."""
    PROGRAM = 5
    """Any other exception of the program."""
    KILL = 6
    """A signal from outside, seen with everything that would explain it otherwise excluded."""
    SYMPTOM = 7
    """What other ranks cry when one is gone."""
    EXIT = 8
    """Exit codes and signals alone."""
    WRAPPER = 9
    """Somebody says that something failed, not what."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sign:
    """One reading of one piece of evidence."""

    code: str
    tier: Tier
    confidence: float
    lines: tuple[Line, ...]
    node: int | None = None
    order: int = 0
    when: dt.datetime | None = None
    retry: Retry | None = None
    """Only where the rule knows better than its class."""
    is_root: bool | None = True


@dataclass(frozen=True, slots=True)
class Reading:
    """A sign in its surroundings, for rules that need them."""

    sign: Sign
    found: re.Match[str]
    statement: Statement
    view: View

    def before(self, count: int) -> str:
        """The lines that lead to it and its own."""
        return "\n".join((*self.view.before(self.statement, count), self.statement.text))

    def after(self, count: int) -> str:
        """Its own line and those that follow."""
        return "\n".join((self.statement.text, *self.view.after(self.statement, count)))


Weigh = Callable[[Reading], Sign | None]


@dataclass(frozen=True, slots=True)
class Text:
    """One text a rule looks for: an expression, and a word that every match contains (None where there is none)."""

    pattern: re.Pattern[str]
    needle: str | None

    def find_in(self, line: str) -> re.Match[str] | None:
        return self.pattern.search(line) if self.needle is None or self.needle in line else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """See the module; each text is searched in each statement."""

    code: str
    texts: tuple[Text, ...]
    tier: Tier
    confidence: float = 0.9
    retry: Retry | None = None
    is_root: bool | None = True
    weigh: Weigh | None = None


def no_signs(view: View) -> Iterable[Sign]:  # noqa: ARG001 - the shape every family's `signs` has
    """For families whose evidence is all text."""
    return ()


@dataclass(frozen=True, slots=True)
class Family:
    """What one file knows: texts, and what it reads from numbers and objects."""

    rules: tuple[Rule, ...] = ()
    signs: Callable[[View], Iterable[Sign]] = no_signs


def rule(
    code: str,
    tier: Tier,
    confidence: float,
    *texts: str,
    weigh: Weigh | None = None,
    retry: Retry | None = None,
    is_root: bool | None = True,
) -> Rule:
    """A rule from the texts that speak for it, each a regular expression."""
    return Rule(
        code=code,
        tier=tier,
        confidence=confidence,
        texts=tuple(Text(re.compile(part), needle_of(part)) for text in texts for part in alternatives(text)),
        weigh=weigh,
        retry=retry,
        is_root=is_root,
    )


def apply(rules: Iterable[Rule], view: View) -> Iterator[Sign]:
    """Every sign the rules find."""
    for each in rules:
        for text in each.texts:
            if text.needle is not None and text.needle not in view.text:
                continue
            for statement in view.statements:
                found = text.find_in(statement.text)
                if found is not None and (sign := _read(each, found, statement, view)) is not None:
                    yield sign


_NOISE = re.compile(
    r"Exception ignored in|\b(?:User|Future|Deprecation|Runtime|Resource)Warning\b|resource_tracker|__del__"
    r"|destroy_process_group\(\) was not called"
)
"""Teardown noise and warnings: true, and never the cause."""


def _read(each: Rule, found: re.Match[str], statement: Statement, view: View) -> Sign | None:
    if statement.kind == "log" and _NOISE.search(statement.text):
        return None
    sign = Sign(
        code=each.code,
        tier=each.tier,
        confidence=each.confidence,
        lines=(line_of(statement),),
        node=statement.node,
        order=statement.order,
        when=statement.when,
        retry=each.retry,
        is_root=each.is_root,
    )
    return sign if each.weigh is None else each.weigh(Reading(sign, found, statement, view))


def line_of(statement: Statement) -> Line:
    """The statement as evidence to show."""
    text = statement.text.strip()
    return Line(statement.source, text if len(text) <= 400 else f"{text[:399]}…")


def with_code(sign: Sign, code: str, confidence: float | None = None) -> Sign:
    """The same sign read as another class."""
    return replace(sign, code=code, confidence=sign.confidence if confidence is None else confidence)
