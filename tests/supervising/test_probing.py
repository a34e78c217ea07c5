"""What a probe proposes: the highest peak of any phase on any node, and a margin."""

from __future__ import annotations

from tonnage.reporting.run.probing import MARGIN, view_probe

MIB = 2**20


def record(peak: int, step: int = 49, **phases: int) -> dict[str, object]:
    memory = {"neededPeak": peak * MIB, "phases": {name: held * MIB for name, held in phases.items()}}
    return {"step": step, "stepSeconds": 0.5, "memory": memory, "checkpoint": {"seconds": 2.0, "bytes": 10}}


def test_a_checkpoint_s_peak_is_told_as_such() -> None:
    view = view_probe([record(100, checkpoint=100, load=40)])
    assert [(phase.name, phase.bytes // MIB) for phase in view.phases] == [("checkpoint", 100), ("load", 40)]
    assert "in checkpoint" in view.reason
    assert view.propose == round(100 * (1 + MARGIN)) * MIB


def test_a_peak_outside_every_phase_is_the_step_s() -> None:
    view = view_probe([record(120, checkpoint=90)])
    assert (view.phases[0].name, view.phases[0].bytes) == ("step", 120 * MIB)


def test_the_node_that_held_most_decides() -> None:
    view = view_probe([record(100, checkpoint=90), record(300, checkpoint=20)])
    assert view.peak == 300 * MIB
    assert view.steps == 50


def test_nothing_measured_is_said_and_not_made_up() -> None:
    view = view_probe([{}])
    assert (view.peak, view.propose, view.phases) == (None, None, ())
