"""`tonnage forecast`: what a series of memory does, and when it reaches its limit."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from tonnage.reporting.forecast import ForecastView


@click.command()
@click.argument("series", metavar="SERIES.csv")
@click.option("--limit", metavar="QUANTITY", required=True, help="The memory limit, like 64Gi.")
@click.option("--plot", type=click.Path(path_type=Path), metavar="FILE", help="Draw it: .png or .svg.")
@click.option("-o", "--output", type=click.Choice(["text", "json"]), default="text", help="How to answer.")
def forecast(series: str, limit: str, plot: Path | None, output: str) -> int:
    """Say whether memory leaks, and when it reaches its limit.

    \b
    tonnage forecast memory.csv --limit 64Gi
    tonnage forecast - --limit 512Mi -o json < memory.csv.gz

    The file has the columns time and bytes (seconds, bytes), and phase where the phases of training are known;
    gzip is fine, - reads standard input. A verdict is an answer: the exit code is 0 whatever it is.
    """
    from tonnage.cli.collecting import collect_rarely

    collect_rarely()
    from tonnage.cli.forecast_reading import read_limit, read_series
    from tonnage.memory.series.forecasting import forecast as forecast_of
    from tonnage.reporting.forecast import forecast_view

    size = read_limit(limit)
    if plot is not None:
        from tonnage.cli.forecast_files import check_plot, write_plot

        check_plot(plot)
    read = read_series(series)
    found = forecast_of(read.points, size, read.phases)
    view = forecast_view(read.name, size, found, read.points, read.notes)
    if plot is not None:
        write_plot(plot, view)
    _show(view, output)
    return 0


def _show(view: ForecastView, output: str) -> None:
    if output == "json":
        import json

        from tonnage.reporting.forecast import as_json

        click.echo(json.dumps(as_json(view), indent=2))
        return
    from tonnage.cli.forecast_text import draw

    click.echo("\n".join(draw(view)))
