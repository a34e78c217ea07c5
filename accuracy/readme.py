"""The README's accuracy table, worked out from the newest report, so that the two cannot differ.

    python -m accuracy.readme

A report holds one line per configuration; the README groups them. A test works the table out again and fails where
the README says something else.
"""

from __future__ import annotations

import re
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

PROJECT = Path(__file__).parents[1]
README, REPORTS = PROJECT / "README.md", PROJECT / "docs" / "reports"
HEAD = (
    "| | configurations | error of the smallest cap, median / p90 / worst | required above the truth "
    "| step time, median / p90 |"
)
GROUPS = {
    "language models, Hugging Face, torchvision, LoRA, experts, compiled": ("cal", "rep"),
    "predicted before they were measured": ("uns",),
    "chosen to break it: other families, own optimizers, streams, Fourier, graphs; learned from afterwards": (
        "fre",
    ),
    "the same, hardly anything learned from": ("hel",),
    "everyday steps, predicted before they were measured; learned from afterwards": ("lat",),
    "the same, learned from in three cases only": ("sea",),
    "from the shape alone": ("shape",),
}
_FIGURE = re.compile(r"(cap|expected|required|time) +([+-][\d.]+)%")
_TRACKER = re.compile(
    r"^\| PyTorch MemTracker \| (\d+) of (\d+) \| ([\d.]+)% \| ([\d.]+)% \| ([+-][\d.]+)% / ([+-][\d.]+)% \|",
    re.M,
)


@dataclass(frozen=True)
class Line:
    """One configuration's line of a report."""

    name: str
    group: str
    error: float | None
    margin: float | None
    pace: float | None


def newest_report() -> Path:
    """By the day in its name."""
    return max(REPORTS.glob("accuracy-*.md"))


def lines_of(report: str) -> list[Line]:
    """Every configuration's line; percentages as they stand there."""
    found = []
    for text in report.splitlines():
        words = text.split()
        if len(words) > 2 and words[2] in ("allocated", "expected"):
            figures = {name: float(value) for name, value in _FIGURE.findall(text)}
            error = figures.get("cap", figures.get("expected"))
            found.append(Line(words[0], words[1], error, figures.get("required"), figures.get("time")))
    return found


def table(report: str) -> str:
    """The README's table."""
    lines = lines_of(report)
    rows = [HEAD, "|---|--:|--:|--:|--:|"]
    for title, groups in GROUPS.items():
        chosen = [line for line in lines if line.group in groups]
        if chosen:
            rows.append(_row(title, chosen))
    tracker = _TRACKER.search(report)
    if tracker:
        handled, asked, middle, p90, least, most = tracker.groups()
        title = f"PyTorch's MemTracker, where it can follow ({handled} of the first {asked})"
        worst = max(abs(float(least)), abs(float(most)))
        low = ", all too low" if float(most) < 0 else ""
        rows.append(
            f"| {title} | {handled} | {_few(float(middle))} / {_few(float(p90))} / {_few(worst)} %{low} | - | - |"
        )
    return "\n".join(rows)


def rewritten(readme: str, report: str) -> str:
    """The README with the table in its place."""
    begin = readme.index(HEAD.partition("|")[0] + HEAD[:20])
    end = readme.index("\n\n", begin)
    return readme[:begin] + table(report) + readme[end:]


def _row(title: str, lines: list[Line]) -> str:
    errors = [line.error for line in lines if line.error is not None]
    margins = [line.margin for line in lines if line.margin is not None]
    paces = [line.pace for line in lines if line.pace is not None]
    middle, p90, worst = _spread(errors)
    within = f"{_few(min(margins))} to {_few(max(margins))} %" if margins else "-"
    time = f"{_few(_spread(paces)[0])} / {_few(_spread(paces)[1])} %" if paces else "-"
    return f"| {title} | {len(errors)} | {_few(middle)} / {_few(p90)} / {_few(worst)} % | {within} | {time} |"


def _spread(errors: Sequence[float]) -> tuple[float, float, float]:
    sizes = sorted(abs(error) for error in errors)
    return statistics.median(sizes), sizes[min(len(sizes) - 1, int(0.9 * len(sizes)))], sizes[-1]


def _few(value: float) -> str:
    """Two digits that count, none beyond hundredths."""
    size = abs(value)
    return f"{value:.2f}" if size < 0.95 else f"{value:.1f}" if size < 9.95 else f"{value:.0f}"


def main() -> None:
    README.write_text(rewritten(README.read_text(), newest_report().read_text()))
    print(table(newest_report().read_text()))


if __name__ == "__main__":
    main()
