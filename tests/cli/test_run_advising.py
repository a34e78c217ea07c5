"""What `run` shows to whoever would lose work: lines missing in the script, and the place missing in the document."""

from __future__ import annotations

from pathlib import Path

from tonnage.cli.run_advising import lines_to_add
from tonnage.spec.loading import load_one
from tonnage.spec.run import Run

PLACE = "                + checkpoints: {to: pvc/short}   # or s3://bucket/folder"
SAVING = "import torch\nfor s in range(9):\n    loss.backward()\n    torch.save(m, 'x')\n"


def advice_for(folder: Path, script: str, *, checkpoints: str = "") -> list[str]:
    (folder / "train.py").write_text(script)
    spec = f"{{command: python3 train.py, code: .{checkpoints}}}"
    document = f"apiVersion: tonnage.dev/v1alpha1\nkind: Run\nmetadata: {{name: short}}\nspec: {spec}\n"
    return lines_to_add(load_one(document, "run.yaml", Run), folder, "some/run.yaml")


def test_a_script_that_saves_nothing_is_shown_every_line_it_needs_also_in_the_document(
    tmp_path: Path,
) -> None:
    lines = advice_for(tmp_path, "for step in range(9):\n    work()\n")
    assert lines[0] == "  note      train.py saves no checkpoint; these lines would make it survive:"
    assert "                + for step in run.steps(9, save=write):" in lines
    assert lines[-2:] == ["              in run.yaml, below spec:", PLACE]
    assert max(map(len, lines)) < 80


def test_a_script_that_saves_without_a_place_to_keep_it_is_told_so(tmp_path: Path) -> None:
    lines = advice_for(tmp_path, SAVING)
    assert lines[0] == "  note      nothing is kept for a next attempt: run.yaml names no place for it"
    assert lines[-1] == PLACE


def test_a_script_that_saves_to_a_place_is_left_alone(tmp_path: Path) -> None:
    assert advice_for(tmp_path, SAVING, checkpoints=", checkpoints: pvc/ckpt") == []
