"""`tonnage estimate` from a shape, and what it says to calls that have no meaning; steps are in tests/tracing."""

from __future__ import annotations

import json
import os
import struct
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest
from click.testing import CliRunner, Result

from tonnage.cli.estimate_asking import parse_parallel
from tonnage.cli.failing import exit_with
from tonnage.cli.main import cli
from tonnage.memory.recipe import Parallel

KEYS = {
    "mode",
    "peak_allocated",
    "peak_reserved",
    "smallest_cap",
    "outside_allocator",
    "expected",
    "required",
    "guard",
    "parts",
    "phases",
    "largest",
    "step_seconds",
}
GPT2 = ("--shape", "gpt2", "--batch", "2", "--seq", "256")


def call(*words: str) -> Result:
    return CliRunner(env={"COLUMNS": "80", "NO_COLOR": "1"}).invoke(
        cli, ["estimate", *words], prog_name="tonnage"
    )


def run(*words: str) -> subprocess.CompletedProcess[str]:
    """The program itself, for its exit code."""
    return subprocess.run(
        [sys.executable, "-m", "tonnage", "estimate", *words],
        capture_output=True,
        text=True,
        env={**os.environ, "COLUMNS": "80"},
        check=False,
        timeout=120,
    )


def answered(*words: str) -> dict:
    shown = call(*words, "-o", "json")
    assert shown.exception is None, shown.output
    return json.loads(shown.stdout)


def refused(*words: str) -> tuple[int, str]:
    """The exit code and the code of the problem."""
    shown = call(*words)
    assert shown.exception is not None
    problems = getattr(shown.exception, "problems", ())
    return exit_with(shown.exception), problems[0].code if problems else ""


def test_json_has_the_promised_keys_in_bytes():
    found = answered(*GPT2, "--gpu", "h200")
    assert set(found) >= KEYS
    assert found["mode"] == "shape"
    assert found["expected"] == found["smallest_cap"] + found["outside_allocator"]
    assert found["required"] == found["expected"] + found["guard"]["bytes"]
    assert found["guard"]["reason"]
    assert sum(part["bytes"] for part in found["parts"]) == found["peak_allocated"]
    assert all(isinstance(found[key], int) for key in ("peak_allocated", "peak_reserved", "smallest_cap"))
    assert 0 < found["step_seconds"]["p10"] <= found["step_seconds"]["p50"] <= found["step_seconds"]["p90"]


def test_every_line_of_a_shape_says_its_formula_in_every_phase():
    found = answered(*GPT2, "--gpu", "h200")
    lines = [
        *found["parts"],
        *found["outside"],
        *(part for phase in found["phases"] for part in phase["parts"]),
    ]
    assert all(line["formula"] for line in lines)
    for phase in found["phases"]:
        assert sum(part["bytes"] for part in phase["parts"]) == phase["peak_allocated"]
    page = (Path(__file__).parents[2] / "docs" / "estimate.md").read_text()
    assert [line["name"] for line in lines if line["name"] not in page] == []


def test_what_fits_exits_0_and_what_does_not_exits_1():
    large = ("--shape", "gpt2-xl", "--batch", "1", "--seq", "512")
    for gpu, word, code in (("h200", "h200   fits", 0), ("t4", "t4   does not fit", 1)):
        shown = run(*large, "--gpu", gpu)
        assert word in shown.stdout
        assert shown.returncode == code


def test_several_gpus_are_answered_side_by_side():
    found = answered(*GPT2, "--gpu", "t4,h200", "--gpu", "b200")
    assert [each["gpu"] for each in found["gpus"]] == ["t4", "h200", "b200"]
    assert all(each["usable"] > 0 for each in found["gpus"])
    text = call(*GPT2, "--gpu", "t4,h200").stdout
    assert "left over" in text


def test_without_a_gpu_nothing_is_judged():
    found = answered(*GPT2)
    assert (found["fits"], found["gpus"], found["gpu"]) == (None, [], "h100")
    assert "--gpu asks about one" in call(*GPT2).stdout


def test_the_text_fits_80_columns_and_says_what_it_is():
    shown = call(*GPT2, "--gpu", "h200").stdout
    assert max(map(len, shown.splitlines())) <= 80
    assert "an estimate" in shown
    assert "plan with" in shown


def test_a_config_file_is_read(tmp_path: Path):
    config = tmp_path / "config.json"
    config.write_text(json.dumps({"model_type": "gpt2", "n_layer": 2, "n_embd": 64, "n_head": 2}))
    found = answered("--config", str(config), "--batch", "1", "--seq", "64")
    assert 0 < found["peak_allocated"] < answered(*GPT2)["peak_allocated"]


@pytest.mark.parametrize("text", ["{", "[1, 2]", ""])
def test_a_config_that_is_none_is_refused_with_its_name(tmp_path: Path, text: str):
    config = tmp_path / "config.json"
    config.write_text(text)
    assert refused("--config", str(config), "--batch", "1", "--seq", "64") == (1, "EST-012")
    assert refused("--config", str(tmp_path / "none.json"), "--batch", "1") == (1, "EST-012")


@pytest.mark.parametrize(
    ("words", "code"),
    [
        ((), "EST-001"),
        (("--shape", "gpt2", "--config", "x.json", "--batch", "1"), "EST-002"),
        (("--shape", "gpt2", "--seq", "64"), "EST-003"),
        ((*GPT2, "--gpu", "h2000"), "EST-004"),
        (("--step", "x.py:build", "--optimizer", "sgd", "--lora-rank", "8"), "EST-005"),
        ((*GPT2, "--rank", "1"), "EST-005"),
        ((*GPT2, "--parallel", "ddp:0"), "EST-006"),
        ((*GPT2, "--parallel", "magic:8"), "EST-006"),
        ((*GPT2, "--parallel", "ddp:100000000"), "EST-006"),
        ((*GPT2, "--parallel", "ddp:8,zero3:8"), "EST-006"),
        ((*GPT2, "--plot", "x.jpg"), "EST-007"),
        ((*GPT2, "--timeline", "/nowhere/at/all/x.json"), "EST-008"),
    ],
)
def test_calls_without_meaning_are_usage_errors(words: tuple[str, ...], code: str):
    assert refused(*words) == (2, code)


def test_a_folder_with_a_config_is_as_good_as_the_config(tmp_path: Path):
    (tmp_path / "config.json").write_text('{"model_type": "gpt2", "n_layer": 2}')

    words = ("--batch", "1", "--seq", "64", "-o", "json")

    assert answered("--config", str(tmp_path), *words) == answered(
        "--config", str(tmp_path / "config.json"), *words
    )


def test_a_config_nested_beyond_reason_is_refused(tmp_path: Path):
    deep = tmp_path / "config.json"
    deep.write_text("[" * 100_000)

    assert refused("--config", str(deep), "--batch", "1", "--seq", "8") == (1, "EST-012")


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (("--lora-rank", "9" * 20), "EST-014"),
        (("--attention", "eager", "--seq", "4000000000"), "SHAPE-027"),
        (("--seq", "4000000000"), "SHAPE-027"),
    ],
)
def test_digits_too_many_are_told_as_such(words: tuple[str, ...], code: str):
    asked = ("--shape", "llama-3-8b", "--batch", "1", "--seq", "8", "--gpu", "h200", *words)

    assert refused(*asked) == (1, code)


def test_words_of_a_choice_may_be_written_large():
    words = ("--shape", "gpt2", "--batch", "1", "--seq", "64", "-o", "json")

    assert answered(*words, "--precision", "BF16", "--optimizer", "AdamW") == answered(
        *words, "--precision", "bf16", "--optimizer", "adamw"
    )


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("tesnor:2", "did you mean tensor?"),
        ("zero-3:8", "did you mean zero3?"),
        ("ddp:1024,fsdp:1024", "65,536"),
    ],
)
def test_a_parallel_that_cannot_be_says_what_was_meant(text: str, hint: str):
    words = ("--shape", "gpt2", "--batch", "1", "--seq", "8", "--parallel", text)

    assert refused(*words) == (2, "EST-006")
    assert hint in str(call(*words).exception)


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        (("--shape", "gpt2", "--seq", "4096"), "at most --seq 1024"),
        (("--shape", "roberta-base", "--seq", "513"), "at most --seq 512"),
        (("--shape", "inception_v3", "--image", "64"), "at least --image 299"),
        (("--shape", "resnet50", "--parallel", "pipeline:2"), "fsdp"),
        (("--shape", "gpt2", "--seq", "8", "--parallel", "tensor:5"), "largest that does is 4"),
    ],
)
def test_what_a_model_cannot_do_is_refused_with_what_it_can(words: tuple[str, ...], hint: str):
    assert hint in str(call("--batch", "2", *words).exception)


def test_allocator_settings_torch_would_not_take_are_refused_before_a_step_is_traced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    step = tmp_path / "train.py"
    step.write_text("def build(): ...")
    monkeypatch.setenv("PYTORCH_CUDA_ALLOC_CONF", "expandable_segments:maybe")
    assert refused("--step", f"{step}:build") == (1, "EST-011")


def test_an_unknown_gpu_is_answered_with_near_ones():
    shown = call(*GPT2, "--gpu", "h2000")
    assert "h200" in str(getattr(shown.exception, "problems", [""])[0])


def test_parallel_is_read_in_all_its_kinds():
    assert parse_parallel("") == Parallel()
    assert parse_parallel("ddp:8") == Parallel(ddp=8)
    assert parse_parallel("fsdp:16, tensor:2") == Parallel(fsdp=16, tensor=2)
    assert parse_parallel("zero3:8,pipeline:4,expert:2") == Parallel(ddp=8, zero=3, pipeline=4, expert=2)


def test_pictures_and_timelines_are_written(tmp_path: Path):
    png, svg, events = tmp_path / "m.png", tmp_path / "m.svg", tmp_path / "m.json"
    assert call(*GPT2, "--plot", str(png), "--timeline", str(events)).exception is None
    assert call(*GPT2, "--plot", str(svg)).exception is None
    data = png.read_bytes()
    assert data.startswith(b"\x89PNG\r\n\x1a\n")
    assert struct.unpack(">II", data[16:24]) == (1600, 800)
    assert ElementTree.fromstring(svg.read_text()).tag.endswith("svg")
    written = json.loads(events.read_text())["traceEvents"]
    assert {event["ph"] for event in written} == {"M", "C", "X"}
