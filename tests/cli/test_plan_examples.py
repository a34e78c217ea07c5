"""Every example of a plan says what its `expected.txt` promises; `dev/plan_examples.py` writes them anew."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from tonnage.cli.check import check
from tonnage.cli.plan import plan

EXAMPLES = Path(__file__).parents[2] / "examples"
CLUSTERS = sorted((EXAMPLES / "clusters").glob("*.yaml"))
FOLDERS = sorted(
    path.parent
    for path in EXAMPLES.glob("*/README.md")
    if "    tonnage plan " in path.read_text(encoding="utf-8")
)


def commands(folder: Path) -> list[list[str]]:
    """The `tonnage plan` commands of an example's README, as words."""
    lines = (folder / "README.md").read_text(encoding="utf-8").splitlines()
    return [line.split()[2:] for line in lines if line.startswith("    tonnage plan ")]


def test_there_is_an_example_of_each_situation() -> None:
    assert {folder.name for folder in FOLDERS} >= {
        "llama-8b", "resnet-50", "llama-70b", "half-a-gpu", "pytorchjob",
    }  # fmt: skip


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda path: path.name)
def test_an_example_shows_what_it_promises(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    shown = []
    for words in commands(folder):
        result = CliRunner().invoke(plan, words, env={"COLUMNS": "80"}, standalone_mode=False)
        assert result.exception is None, result.exception
        shown.append(result.stdout)

    assert "".join(shown) == (folder / "expected.txt").read_text(encoding="utf-8")


@pytest.mark.parametrize("path", CLUSTERS, ids=lambda path: path.name)
def test_a_cluster_of_the_examples_has_no_mistake(path: Path) -> None:
    result = CliRunner().invoke(check, [str(path)], standalone_mode=False)

    assert result.return_value == 0


def test_the_list_of_examples_names_every_one() -> None:
    text = (EXAMPLES / "README.md").read_text(encoding="utf-8")

    assert [folder.name for folder in FOLDERS if f"]({folder.name})" not in text] == []
