"""Every example says what its `expected.txt` promises, and fits its schema."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import jsonschema
import pytest
from click.testing import CliRunner

from tonnage.cli.check import check
from tonnage.spec.reading import read
from tonnage.spec.schema import schema_of

EXAMPLES = Path(__file__).parents[2] / "examples"
FOLDERS = sorted(path for path in EXAMPLES.iterdir() if path.is_dir() and path.name[:2].isdigit())
DOCUMENTS = [path for folder in FOLDERS for path in sorted(folder.glob("*.yaml"))]


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda path: path.name)
def test_an_example_says_what_its_readme_promises(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    files = sorted(path.name for path in folder.glob("*.yaml"))
    result = CliRunner().invoke(check, files, env={"COLUMNS": "80"}, standalone_mode=False)

    assert result.output == (folder / "expected.txt").read_text()
    assert result.return_value == (1 if folder.name.endswith("mistakes") else 0)
    assert f"tonnage check {' '.join(files)}" in (folder / "README.md").read_text()


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.parent.name)
def test_an_editor_with_the_schema_agrees_with_check(path: Path) -> None:
    value: Any = read(path.read_bytes(), path.name).documents[0].value
    validator = jsonschema.Draft202012Validator(schema_of(value["kind"]))

    assert validator.is_valid(value) is ("mistakes" not in path.parent.name)


def test_the_list_of_examples_names_every_one() -> None:
    text = (EXAMPLES / "README.md").read_text()

    assert [folder.name for folder in FOLDERS if f"]({folder.name})" not in text] == []
