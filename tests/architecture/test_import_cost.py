"""Starting must stay cheap: `--help` loads click and nothing of weight; the agent loads only the standard library."""

from __future__ import annotations

import subprocess
import sys

import pytest

HEAVY = {"pydantic", "lightkube", "numpy", "rich", "httpx2", "msgspec", "yaml", "cryptography"}


def loaded_modules(program: str) -> set[str]:
    """Top-level names of all modules a fresh interpreter holds after running the program."""
    finished = subprocess.run(
        [
            sys.executable,
            "-c",
            f"import sys\n{program}\nprint(*{{name.split('.')[0] for name in sys.modules}})",
        ],
        capture_output=True,
        text=True,
        check=True,
    )
    return set(finished.stdout.splitlines()[-1].split())


def test_help_loads_nothing_of_weight() -> None:
    program = """
from click.testing import CliRunner
from tonnage.cli.main import cli
assert CliRunner().invoke(cli, ["--help"]).exit_code == 0
"""

    assert loaded_modules(program) & HEAVY == set()


def test_the_agent_loads_only_the_standard_library() -> None:
    foreign = loaded_modules("import tonnage_agent") - loaded_modules("pass") - set(sys.stdlib_module_names)

    assert foreign == {"tonnage_agent"}


def test_no_table_is_read_before_it_is_asked_for() -> None:
    program = """
opened = []
sys.addaudithook(lambda event, given: event == "open" and opened.append(str(given[0])))
import tonnage.memory.shapes.networks, tonnage.timing.calibration, tonnage.timing.step
assert not [name for name in opened if name.endswith(".json")], opened
tonnage.timing.calibration.calibration()
tonnage.timing.calibration.calibration()
assert len([name for name in opened if name.endswith(".json")]) == 1
"""

    loaded_modules(program)


@pytest.mark.parametrize("columns", [80, 160])
def test_help_fits_the_terminal(columns: int) -> None:
    finished = subprocess.run(
        [sys.executable, "-m", "tonnage", "--help"],
        capture_output=True,
        text=True,
        check=True,
        env={"COLUMNS": str(columns), "PATH": "/usr/bin:/bin", "PYTHONPATH": ":".join(sys.path)},
    )

    assert max(len(line) for line in finished.stdout.splitlines()) <= columns
