"""The controllers a sandbox can run beside its control plane, and how a wish becomes a list of them."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

from tonnage.errors import Problem, UsageError
from tonnage.sandbox.controllers.controller import Controller
from tonnage.sandbox.controllers.jobset import JOBSET
from tonnage.sandbox.controllers.kueue import KUEUE
from tonnage.sandbox.controllers.trainer import TRAINER
from tonnage.sandbox.controllers.training_operator import TRAINING_OPERATOR

CONTROLLERS: tuple[Controller, ...] = (JOBSET, TRAINER, TRAINING_OPERATOR, KUEUE)


def choose(names: Iterable[str]) -> tuple[Controller, ...]:
    """The rows for these names and whatever they need, in starting order; every unknown name is reported."""
    wanted = [name.strip() for name in names if name.strip()]
    known = {row.name: row for row in CONTROLLERS}
    unknown = [name for name in dict.fromkeys(wanted) if name not in known]
    if unknown:
        raise UsageError(*(_unknown(name, list(known)) for name in unknown))
    chosen = set(wanted)
    chosen.update(need for name in wanted for need in known[name].needs)
    return tuple(row for row in CONTROLLERS if row.name in chosen)


def implied(names: Iterable[str]) -> list[str]:
    """Sentences about what was added to the wish and why, to be said aloud."""
    wanted = {name.strip() for name in names if name.strip()}
    return [
        f"{row.name} needs {need}: added"
        for row in choose(wanted)
        if row.name in wanted
        for need in row.needs
        if need not in wanted
    ]


def _unknown(name: str, known: list[str]) -> Problem:
    near = difflib.get_close_matches(name, known, n=1)
    return Problem(
        code="BOX-005",
        what="there is no such controller",
        where="--with",
        found=name,
        expected=", ".join(sorted(known)),
        hint=f"did you mean {near[0]}?" if near else "give a comma-separated list of these names",
    )
