"""The smaller steps a run may fall back to, worked out before it starts: later nobody has its plan at hand."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tonnage.cli.run_advising import MOST_BYTES, script_of

if TYPE_CHECKING:
    from tonnage.cli.run_planning import Planned
    from tonnage.running.observing import Refit


def refits_for(planned: Planned) -> tuple[Refit, ...]:
    """From the solver where the step is described, by division where only its micro-batch is known."""
    from tonnage.planning.refitting import smaller_steps
    from tonnage.running.launching import refits_of

    run, script = planned.run, script_of(planned.run, planned.folder)
    text = script.read_text(errors="replace")[:MOST_BYTES] if script is not None else ""
    if planned.situation is None or run.spec.on_oom.gpu == "fail":
        return refits_of(run, (), text)
    found = smaller_steps(planned.situation, larger_gpus=run.spec.on_oom.gpu == "largerGpu")
    chosen = planned.situation.chosen
    return refits_of(run, found, text, gpu=chosen.gpu.name if chosen is not None else "")
