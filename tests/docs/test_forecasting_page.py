"""The forecasting page shows what the command answers, and the figures of the newest report."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

PROJECT = Path(__file__).parents[2]
PAGE = (PROJECT / "docs/forecasting.md").read_text(encoding="utf-8")
EXAMPLE = ("forecast", "examples/forecast/memory.csv", "--limit", "64Gi")


def run(*words: str) -> str:
    finished = subprocess.run(
        [sys.executable, "-m", "tonnage", *words],
        capture_output=True,
        text=True,
        check=True,
        cwd=PROJECT,
        env={**os.environ, "COLUMNS": "80"},
    )
    return finished.stdout


def test_the_console_block_is_what_the_command_prints() -> None:
    (block,) = re.findall(r"```console\n(.*?)```", PAGE, flags=re.DOTALL)
    command, _, output = block.partition("\n")

    assert command == f"$ tonnage {' '.join(EXAMPLE)}"
    assert run(*EXAMPLE).rstrip() == output.rstrip()


def test_the_json_block_is_the_begin_of_the_answer() -> None:
    (block,) = re.findall(r"```json\n(.*?)```", PAGE, flags=re.DOTALL)
    shown, said = json.loads(block), json.loads(run(*EXAMPLE, "-o", "json"))

    assert list(said)[:3] == list(shown)
    assert said["verdict"] == shown["verdict"]
    assert said["evidence"][0] == shown["evidence"][0]
    assert said["limit_in_seconds"] == shown["limit_in_seconds"]


def test_tables_on_the_pages_are_those_of_the_newest_report() -> None:
    newest = max((PROJECT / "docs/reports").glob("foresight-*.md")).read_text(encoding="utf-8")
    readme = (PROJECT / "README.md").read_text(encoding="utf-8")
    rows = [line for line in PAGE.splitlines() if re.match(r"\| (tonnage|predict|least|Mann)", line)]

    assert len(rows) == 4
    assert [row for row in rows if row not in newest] == []
    assert [row for row in rows if row not in readme] == []
