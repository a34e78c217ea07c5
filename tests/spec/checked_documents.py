"""Documents by their lines of `spec`, checked, and what was told about them."""

from __future__ import annotations

from tonnage.spec.checked import Checked
from tonnage.spec.checking import check

HEAD = "apiVersion: tonnage.dev/v1alpha1\nkind: {kind}\nmetadata:\n  name: a\nspec:\n"


def check_spec(*lines: str, kind: str = "Run") -> Checked:
    says_what = kind != "Run" or any(line.startswith("command") for line in lines)
    last = () if says_what else ("command: python train.py",)
    return check(HEAD.format(kind=kind) + "".join(f"  {line}\n" for line in (*lines, *last)), "f.yaml")


def told(checked: Checked) -> list[tuple[int | None, str, str]]:
    return [(mistake.line, mistake.field, mistake.code) for mistake in checked.mistakes]


def hints(checked: Checked) -> dict[str, str | None]:
    return {mistake.field: mistake.hint for mistake in checked.mistakes}
