"""Pictures and timelines of a step: what they show is what was estimated."""

from __future__ import annotations

import struct
import sys
import zlib
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "memory"))

from traces import a_trained_mlp

from tonnage.cluster.gpus import find_gpu
from tonnage.memory.exact import exact_estimate
from tonnage.reporting.estimate import EstimateView, as_json, fit_on
from tonnage.reporting.plot import draw_png, draw_svg, draw_text, scene_of
from tonnage.reporting.plot.font import fonts
from tonnage.reporting.plot.scene import BOTTOM, COLOURS, HEIGHT, TOP, WIDTH
from tonnage.reporting.plot.text import SIGNS
from tonnage.reporting.timeline import MODULES, OPERATIONS, PHASES, timeline_of

H200 = find_gpu("h200")


@pytest.fixture(scope="module")
def trace():
    return a_trained_mlp(layers=6)


@pytest.fixture(scope="module")
def view(trace):
    estimate = exact_estimate(trace, H200)
    return EstimateView("mlp.py:build", estimate, (fit_on(estimate, H200),))


def test_every_category_has_a_colour_and_a_sign_of_its_own():
    assert len(set(COLOURS.values())) == len(COLOURS)
    assert len(set(SIGNS.values())) == len(SIGNS) == len(COLOURS)


def test_layers_lie_on_each_other_inside_the_frame(view):
    scene = scene_of(view)
    for below, above in zip(scene.areas, scene.areas[1:], strict=False):
        assert above.bottoms == below.tops
    for area in scene.areas:
        assert all(
            TOP <= top <= bottom <= BOTTOM for top, bottom in zip(area.tops, area.bottoms, strict=True)
        )
    highest = scene.areas[-1].tops
    assert min(scene.curve) <= min(highest)


def test_texts_stay_inside_the_picture(view):
    body, title = fonts()
    for text in scene_of(view).texts:
        long = (title if text.is_title else body).width(text.text)
        start = text.x - {"start": 0, "middle": long / 2, "end": long}[text.anchor]
        assert start >= 0
        assert start + long <= WIDTH, text.text
        assert 0 < text.y < HEIGHT - 10


def test_the_png_is_whole_and_shows_every_layer(view):
    data = draw_png(scene_of(view))
    chunks, place = {}, 8
    while place < len(data):
        (length,) = struct.unpack(">I", data[place : place + 4])
        kind, body = data[place + 4 : place + 8], data[place + 8 : place + 8 + length]
        (check,) = struct.unpack(">I", data[place + 8 + length : place + 12 + length])
        assert check == zlib.crc32(kind + body)
        chunks[kind] = body
        place += 12 + length
    rows = zlib.decompress(chunks[b"IDAT"])
    assert len(rows) == HEIGHT * (WIDTH + 1)
    palette = chunks[b"PLTE"]
    used = set(rows)
    for name in ("parameters", "optimizer", "activations"):
        colour = bytes.fromhex(COLOURS[name][1:])
        places = [index for index in range(len(palette) // 3) if palette[index * 3 : index * 3 + 3] == colour]
        assert used & set(places), name


def test_the_svg_names_its_layers(view):
    drawn = draw_svg(scene_of(view))
    assert "<title>activations</title>" in drawn
    assert "mlp.py:build on h200" in drawn


def test_hostile_names_are_escaped_in_svg(view):
    hostile = EstimateView("<script>&", view.estimate, ())
    assert "<script>" not in draw_svg(scene_of(hostile))


def test_the_terminal_s_picture_is_as_wide_as_asked_and_as_high_as_the_peak(view):
    lines = draw_text(view.estimate, 70, 8)
    assert max(map(len, lines)) <= 70
    assert "forward" in lines[-1]
    assert any(SIGNS["activations"] in line for line in lines)


def test_an_estimate_without_samples_has_an_empty_frame_and_no_terminal_picture(view):
    from msgspec.structs import replace

    bare = replace(view.estimate, samples=())
    assert draw_text(bare) == []
    assert any("no timeline" in text.text for text in scene_of(EstimateView("x", bare)).texts)


def test_the_timeline_has_counters_phases_nested_modules_and_operations(trace, view):
    told = timeline_of(trace, view.estimate, [1e-3] * len(trace.operations))
    events = told["traceEvents"]
    slices = [event for event in events if event["ph"] == "X"]
    assert {event["tid"] for event in slices} == {PHASES, MODULES, OPERATIONS}
    phases = [event["name"] for event in slices if event["tid"] == PHASES]
    assert phases == ["forward", "backward", "optimizer"]
    assert {"layers", "0", "5"} <= {event["name"] for event in slices if event["tid"] == MODULES}
    counters = [event for event in events if event["ph"] == "C" and event["name"].startswith("allocated")]
    highest = max(sum(event["args"].values()) for event in counters)
    assert highest == pytest.approx(view.estimate.peak_allocated / 2**20, abs=0.01)
    assert all(event["ts"] >= 0 for event in events if "ts" in event)
    assert told["otherData"]["time"] == "predicted"


def test_slices_of_a_track_do_not_cross(trace, view):
    slices = [
        (event["ts"], event["ts"] + event["dur"])
        for event in timeline_of(trace, view.estimate)["traceEvents"]
        if event["ph"] == "X" and event["tid"] == MODULES
    ]
    for start, end in slices:
        for other_start, other_end in slices:
            crosses = start < other_start < end < other_end
            assert not crosses


def test_json_says_where_the_peak_is(view):
    told = as_json(view)
    assert told["peak"]["phase"] == "backward"
    assert told["fits"] is True
    assert len(told["largest"]) == 10
