"""The back-test's tables as text."""

from __future__ import annotations

from collections.abc import Iterator

from tonnage.cli.columns import heading, table, width, wrapped
from tonnage.figures import plural
from tonnage.reporting.sizing import NAMES, BacktestView, Table

LEGEND = "OOM: first attempts that died at their limit. GiB-h: memory held and not used; a dead attempt's counts whole."


def draw_backtest(view: BacktestView) -> Iterator[str]:
    """What was replayed, a table for each time to failure, what they mean."""
    runs, signatures = plural(view.num_tasks, "run"), plural(view.num_signatures, "signature")
    yield f"{runs} of {signatures}, replayed; nothing is known before it happened"
    for each in view.tables:
        yield ""
        yield heading(f"a death comes after {each.time_to_failure:g} of the runtime")
        yield from table(list(_rows(each)), right=range(1, 1 + 2 * len(each.histories)))
    yield ""
    for sentence in (LEGEND, *view.meaning):
        yield from wrapped(f"  {sentence}", width(), indent="  ")


def _rows(each: Table) -> Iterator[list[str]]:
    yield ["earlier runs", *(cell for least in each.histories for cell in ("", f">={least}"))]
    yield ["instances", *(cell for count in each.instances for cell in ("", f"{count:,}"))]
    yield ["", *(cell for _ in each.histories for cell in ("OOM", "GiB-h"))]
    for line in each.lines:
        cells = [
            cell
            for score in line.scores
            for cell in (_percent(score.oom_rate), _amount(score.waste_gib_hours))
        ]
        yield [NAMES[line.policy], *cells]


def _percent(share: float) -> str:
    return f"{100 * share:.2f} %"


def _amount(gib_hours: float) -> str:
    return (
        f"{gib_hours:,.0f}"
        if gib_hours >= 100
        else f"{gib_hours:,.1f}"
        if gib_hours >= 1
        else f"{gib_hours:.2g}"
    )
