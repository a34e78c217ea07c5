"""What contradicts itself in a document although every single value is fine, and what is legal but worth a
look.

One file per kind, and per subject where a kind has many; each rule is a function from the document to remarks
about fields. Rules know the document alone: what a cluster would say to it is another room's work.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from tonnage.spec.mistakes import Mistake, Path
from tonnage.spec.reading import RawDocument
from tonnage.spec.rules.about_cluster import CLUSTER_RULES
from tonnage.spec.rules.about_run import RUN_RULES
from tonnage.spec.rules.about_team import TEAM_RULES
from tonnage.spec.rules.remarks import Remark

RULES: dict[str, tuple[Callable[[Any], Iterable[Remark]], ...]] = {
    "Run": RUN_RULES,
    "Team": TEAM_RULES,
    "Cluster": CLUSTER_RULES,
}


def remarks_on(
    document: Any, raw: RawDocument, original: Callable[[Path], Path], wrong: Iterable[Path]
) -> list[Mistake]:
    """Every contradiction and every remark, placed in the file.

    `wrong` are the fields that were taken out of the document because their values are mistakes already.
    """
    found = [remark for rule in RULES[document.kind] for remark in rule(document)]
    out = set(wrong)
    return [
        _placed(remark, original(remark.path), raw)
        for remark in found
        if not any(_is_within(path, original(absent)) for absent in remark.absent for path in out)
    ]


def _is_within(path: Path, part: Path) -> bool:
    return path[: len(part)] == part


def _placed(remark: Remark, place: Path, raw: RawDocument) -> Mistake:
    path = raw.written(place)
    line, column = raw.locate(path)
    return Mistake(
        code=remark.code,
        what=remark.what,
        path=path,
        file=raw.file,
        line=line,
        column=column,
        found=remark.found,
        expected=remark.expected,
        hint=remark.hint,
        is_remark=remark.is_mild,
    )
