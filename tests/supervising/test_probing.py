"""What a probe proposes: the highest peak of any phase on any node, and a margin."""

from __future__ import annotations

from tonnage.cli.run_probing import probe_lines
from tonnage.memory.series import Point
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


def growing(mib_per_step: float, *, steps: int = 50, seconds_per_step: float = 0.1) -> list[Point]:
    """What a node needs that loads 20 MiB within a second and then keeps something of every step."""
    load = [Point(tenth / 10, 2 * tenth * MIB) for tenth in range(10)]
    return load + [
        Point(1 + step * seconds_per_step, (20 + mib_per_step * step) * MIB) for step in range(steps)
    ]


def a_probe(**more: object) -> dict[str, object]:
    return {**record(70, load=20), "stepAt": 6.0, "stepSeconds": 0.1, "node": 0, **more}


def test_what_grows_with_every_step_is_asked_for_as_it_will_be_at_the_end() -> None:
    view = view_probe([a_probe(total=300)], {0: growing(1.0)})
    assert view.growth_per_step is not None
    assert abs(view.growth_per_step - MIB) < MIB // 20
    assert view.at_the_end is not None
    assert abs(view.at_the_end - 320 * MIB) < 15 * MIB
    assert view.propose is not None
    assert view.propose >= (1 + MARGIN) * view.at_the_end
    text = "\n".join(probe_lines(view))
    assert "after all 300, if that goes on" in text
    assert f"memory: {view.propose // MIB}Mi   request and limit: that + 20 %" in text


def test_growth_without_a_known_end_is_warned_of_and_not_reckoned_on() -> None:
    view = view_probe([a_probe()], {0: growing(1.0)})
    assert view.propose == round(70 * (1 + MARGIN)) * MIB
    assert "if that goes on, no limit is enough" in "\n".join(probe_lines(view))


def test_what_is_loaded_before_the_first_step_is_no_growth() -> None:
    view = view_probe([a_probe(total=300)], {0: growing(0.0)})
    assert (view.growth_per_step, view.at_the_end) == (None, None)
    assert "in step" in view.reason


def test_the_screen_says_what_was_made_what_was_held_and_what_to_ask_for() -> None:
    lines = probe_lines(view_probe([record(100, checkpoint=100, load=40)]))
    assert lines == [
        "  probe     50 steps of 500 ms, a checkpoint of 10 B, saved in 2.0 s",
        "  RAM       checkpoint    100 MiB   the most held in each phase",
        "            load           40 MiB",
        "  ask for   memory: 120Mi   request and limit: peak (in checkpoint) + 20 %",
    ]
