"""The picture that `tonnage forecast --plot` writes."""

from __future__ import annotations

from pathlib import Path

from tonnage.errors import EnvironmentProblem, Problem, UsageError
from tonnage.reporting.forecast import ForecastView

PICTURES = (".png", ".svg")


def check_plot(path: Path) -> None:
    """Refuse names we cannot write before anything is read."""
    if path.suffix.lower() not in PICTURES:
        raise UsageError(
            Problem(
                code="FCT-008",
                what="--plot draws PNG or SVG",
                found=str(path),
                expected="FILE.png or FILE.svg",
            )
        )
    if not path.absolute().parent.is_dir():
        raise UsageError(
            Problem(code="FCT-009", what="there is no such folder", where=str(path.absolute().parent))
        )


def write_plot(path: Path, view: ForecastView) -> None:
    """Draw memory over time."""
    from tonnage.reporting.plot import draw_png, draw_svg
    from tonnage.reporting.plot.series import series_scene

    scene = series_scene(view)
    data = draw_png(scene) if path.suffix.lower() == ".png" else draw_svg(scene).encode()
    try:
        path.write_bytes(data)
    except OSError as error:
        raise EnvironmentProblem(
            Problem(code="FCT-009", what=f"cannot be written: {error.strerror or error}", where=str(path))
        ) from error
