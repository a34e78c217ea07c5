"""Traces of the step files in `steps/`: each file is recorded once, in one process, and shared by its tests."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tonnage.memory.trace import Trace

HERE = Path(__file__).parent
SOURCE = HERE.parents[2] / "src"


class Recorded:
    """What became of the build functions of one file."""

    def __init__(self, answers: dict[str, Any]) -> None:
        self._answers = answers

    def names(self) -> list[str]:
        return list(self._answers)

    def trace(self, name: str) -> Trace:
        answer = self._answers[name]
        assert "trace" in answer, f"{name}: {answer['failure']}"
        return msgspec.convert(answer["trace"], Trace)

    def failure(self, name: str) -> dict[str, str]:
        answer = self._answers[name]
        assert "failure" in answer, f"{name} was recorded"
        found: dict[str, str] = answer["failure"]
        return found


@pytest.fixture(scope="session")
def record_file(torch_python: str, tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Recorded]:
    """Records the build functions of a file in `steps/`."""

    def record(file: str) -> Recorded:
        output = tmp_path_factory.mktemp("recorded") / "traces.json"
        command = [
            torch_python,
            str(HERE / "recorded.py"),
            str(SOURCE),
            str(HERE / "steps" / file),
            str(output),
        ]
        ran = subprocess.run(
            command, capture_output=True, text=True, check=False, env={**os.environ, "OMP_NUM_THREADS": "1"}
        )
        assert ran.returncode == 0, ran.stderr[-3000:]
        return Recorded(json.loads(output.read_text()))

    return record
