"""The measured set: every step function of `accuracy/steps`, and which half each belongs to.

Rules are calibrated on one half and reported on the other. The half follows from the name alone, so that
nobody can move a configuration that came out badly.
"""

from __future__ import annotations

import ast
import hashlib
from dataclasses import dataclass
from pathlib import Path

STEPS = Path(__file__).parent / "steps"
FILES = (
    "language",
    "huggingface",
    "vision",
    "unseen",
    "fresh_language",
    "fresh_habits",
    "fresh_vision",
    "fresh_compiling",
    "later_language",
    "later_huggingface",
    "later_vision",
)

HALVES = ("calibration", "report", "unseen", "fresh", "held", "later", "sealed")


@dataclass(frozen=True)
class Configuration:
    """One step function of the measured set."""

    file: str
    name: str

    @property
    def half(self) -> str:
        """`calibration` or `report`, by the name's hash; the others were predicted before they were measured.

        Of `fresh` and `later` ones two thirds may be learned from afterwards; `held` and `sealed` are the thirds that
        nobody mends anything for.
        """
        if self.file == "unseen":
            return "unseen"
        chance = hashlib.sha256(self.name.encode()).digest()[0]
        if self.file.startswith("fresh"):
            return "held" if chance % 3 == 0 else "fresh"
        if self.file.startswith("later"):
            return "sealed" if chance % 3 == 0 else "later"
        return "calibration" if chance % 2 == 0 else "report"

    @property
    def path(self) -> Path:
        return STEPS / f"{self.file}.py"

    @property
    def is_one_of_many(self) -> bool:
        """Whether it is one rank of many, measured alone: its collectives take part in nothing and need no memory."""
        return "_ranks_" in self.name

    @property
    def is_compiled(self) -> bool:
        return "compiled" in self.name


def configurations() -> list[Configuration]:
    """All of them, in the order of the files."""
    return [Configuration(file, name) for file in FILES for name in _step_functions(STEPS / f"{file}.py")]


def _step_functions(path: Path) -> list[str]:
    """Functions that return a Step and need no argument: the file is read, not imported, so torch is not needed."""
    tree = ast.parse(path.read_text())
    return [
        node.name
        for node in tree.body
        if isinstance(node, ast.FunctionDef)
        and isinstance(node.returns, ast.Name)
        and node.returns.id == "Step"
        and len(node.args.defaults) == len(node.args.args)
    ]
