"""Files that `tonnage estimate` writes: pictures and timelines."""

from __future__ import annotations

import json
from pathlib import Path

from tonnage.cli.estimate_answering import Answer
from tonnage.errors import EnvironmentProblem, Problem, UsageError
from tonnage.reporting.plot import draw_png, draw_svg, scene_of
from tonnage.reporting.timeline import timeline_of
from tonnage.timing.kernels import operation_seconds
from tonnage.timing.work import Arithmetic

PICTURES = (".png", ".svg")


def check_files(plot: Path | None, timeline: Path | None) -> None:
    """Refuse names we cannot write before a step is traced for half a minute."""
    if plot is not None and plot.suffix.lower() not in PICTURES:
        raise UsageError(
            Problem(
                code="EST-007",
                what="--plot draws PNG or SVG",
                found=str(plot),
                expected="FILE.png or FILE.svg",
            )
        )
    for path in (plot, timeline):
        if path is not None and not path.absolute().parent.is_dir():
            raise UsageError(
                Problem(code="EST-008", what="there is no such folder", where=str(path.absolute().parent))
            )


def write_files(answer: Answer, plot: Path | None, timeline: Path | None) -> None:
    """Write what was asked for."""
    if plot is not None:
        _write_plot(plot, answer)
    if timeline is not None:
        _write_timeline(timeline, answer)


def _write_plot(path: Path, answer: Answer) -> None:
    """Draw memory over the step."""
    scene = scene_of(answer.view)
    data = draw_png(scene) if path.suffix.lower() == ".png" else draw_svg(scene).encode()
    _write(path, data)


def _write_timeline(path: Path, answer: Answer) -> None:
    """Write the step as trace events, in predicted time."""
    trace = answer.trace
    assert trace is not None
    arithmetic = Arithmetic.of(trace.settings)
    seconds = [
        operation_seconds(operation, answer.gpu, arithmetic, ranks=trace.world_size)
        for operation in trace.operations
    ]
    _write(path, json.dumps(timeline_of(trace, answer.view.estimate, seconds)).encode())


def _write(path: Path, data: bytes) -> None:
    try:
        path.write_bytes(data)
    except OSError as error:
        raise EnvironmentProblem(
            Problem(code="EST-013", what=f"cannot be written: {error.strerror or error}", where=str(path))
        ) from error
