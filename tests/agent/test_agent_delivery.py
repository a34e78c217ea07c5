"""The agent as it is delivered: one small file, the same bytes for the same sources, on every Python since 3.9."""

from __future__ import annotations

import ast
import builtins
import hashlib
import io
import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

import tonnage_agent
from tonnage_agent.packing import LIMIT_BYTES, packed

SOURCES = Path(tonnage_agent.__file__).parent
FILES = sorted(SOURCES.rglob("*.py"))
FLOOR = (3, 9)


def interpreters() -> list[str]:
    """Pythons of other versions that this machine happens to have."""
    places = [
        Path(folder) for folder in os.environ.get("PATH", "").split(os.pathsep) if "shims" not in folder
    ]
    places += sorted(Path.home().glob(".pyenv/versions/*/bin"))
    found = {}
    for minor in range(FLOOR[1], 16):
        for place in places:
            if (place / f"python3.{minor}").is_file():
                found[minor] = str(place / f"python3.{minor}")
    return list(found.values()) or [sys.executable]


def unions(source: str) -> list[int]:
    """Lines on which `X | Y` joins types at run time, which Python 3.9 cannot."""
    found = []

    def visit(node: ast.AST) -> None:
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr):
            sides = (node.left, node.right)
            names = [side.value if isinstance(side, ast.Subscript) else side for side in sides]
            if any(isinstance(side, ast.Constant) and side.value is None for side in sides) or any(
                isinstance(name, ast.Name) and isinstance(getattr(builtins, name.id, None), type)
                for name in names
            ):
                found.append(node.lineno)
        for field, value in ast.iter_fields(node):
            if field not in ("annotation", "returns"):
                for child in value if isinstance(value, list) else [value]:
                    if isinstance(child, ast.AST):
                        visit(child)

    visit(ast.parse(source))
    return found


@pytest.fixture(scope="module")
def archive(tmp_path_factory):
    path = tmp_path_factory.mktemp("archive") / "tonnage-agent.pyz"
    path.write_bytes(packed())
    return path


class TestPacking:
    def test_it_fits_a_config_map(self):
        assert len(packed()) < LIMIT_BYTES

    def test_the_same_sources_give_the_same_bytes_whenever_and_wherever(self, tmp_path):
        copy = tmp_path / "elsewhere" / "agent"
        shutil.copytree(SOURCES, copy, ignore=shutil.ignore_patterns("__pycache__"))
        for path in copy.rglob("*"):
            os.utime(path, (1, 10**9))
            path.chmod(0o700)
        (copy / "__pycache__").mkdir()
        (copy / "__pycache__" / "x.pyc").write_bytes(b"x")

        assert hashlib.sha256(packed(copy)).digest() == hashlib.sha256(packed()).digest()

    def test_other_sources_give_other_bytes(self, tmp_path):
        shutil.copytree(SOURCES, tmp_path / "agent")
        (tmp_path / "agent" / "contract.py").write_text("RUN = 1\n")

        assert packed(tmp_path / "agent") != packed()

    def test_only_sources_are_in_it(self):
        names = zipfile.ZipFile(io.BytesIO(packed())).namelist()

        assert all(name.endswith(".py") for name in names)
        assert names[0] == "__main__.py"
        assert len(names) == len(FILES) + 1


class TestEveryPython:
    @pytest.mark.parametrize("python", interpreters())
    def test_it_wraps_a_command_and_gives_it_the_sdk(self, python, archive, tmp_path):
        script = (
            "import os, tonnage_agent.sdk, tonnage_agent.contract as contract\n"
            "print(contract.__file__); os.stat(os.environ[contract.SOCKET])"
        )
        environment = {"PATH": "/usr/bin:/bin", "TONNAGE_RECORD": str(tmp_path), "TONNAGE_METRICS_PORT": "0"}
        finished = subprocess.run(
            [python, "-W", "error", str(archive), "run", "--", python, "-c", script], capture_output=True, text=True,
            env=environment, check=False,
        )  # fmt: skip

        assert (finished.returncode, finished.stderr) == (0, "")
        assert finished.stdout == f"{archive}/tonnage_agent/contract.py\n"
        assert '"exitCode":0' in (tmp_path / "attempt-1/node-0/record.json").read_text()

    @pytest.mark.parametrize("python", interpreters())
    def test_every_module_can_be_imported(self, python, archive):
        names = [
            ".".join(path.relative_to(SOURCES.parent).with_suffix("").parts).removesuffix(".__init__") for path in FILES
            if not path.stem.startswith("for_") and path.stem != "__main__" and "obstore" not in path.stem
        ]  # fmt: skip
        program = "import sys; sys.path.insert(0, sys.argv[1])\nfor n in sys.argv[2:]: __import__(n)"
        finished = subprocess.run(
            [python, "-W", "error", "-c", program, str(archive), *names],
            capture_output=True,
            text=True,
            check=False,
        )

        assert (finished.returncode, finished.stderr) == (0, "")


class TestLanguageFloor:
    @pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(SOURCES)))
    def test_the_grammar_is_that_of_python_3_9(self, path):
        ast.parse(path.read_text(encoding="utf-8"), feature_version=FLOOR)

    def vermin(self, *paths: Path) -> subprocess.CompletedProcess[str]:
        program = "import sys; from vermin import main; sys.exit(main())"
        options = ["-t=3.9-", "--no-tips", "--violations", "--lint"]
        return subprocess.run(
            [sys.executable, "-c", program, *options, *map(str, paths)],
            capture_output=True,
            text=True,
            check=False,
        )

    def test_no_name_is_newer_than_python_3_9(self):
        checked = self.vermin(SOURCES)

        assert checked.returncode == 0, checked.stdout

    @pytest.mark.parametrize(
        "newer",
        ["list(zip([1], [2], strict=True))", "match 1:\n    case 1: pass", "import tomllib", "int.bit_count(3)",
         "from dataclasses import dataclass\n@dataclass(slots=True)\nclass A: pass"],
    )  # fmt: skip
    def test_the_check_can_fail(self, newer, tmp_path):
        (tmp_path / "newer.py").write_text(newer + "\n")

        checked = self.vermin(tmp_path / "newer.py")
        assert (checked.returncode, checked.stderr) == (1, "")
        assert "3.1" in checked.stdout

    def test_types_are_joined_in_annotations_only(self):
        assert unions("def f(x: int | None) -> int | None: y: int | str = 3") == []
        assert unions("isinstance(1, int | str)") == unions("A = None | list[int]") == [1]
        assert [path for path in FILES if unions(path.read_text(encoding="utf-8"))] == []

    def test_annotations_are_never_evaluated(self):
        annotated = [
            path for path in FILES
            if any(isinstance(node, (ast.AnnAssign, ast.arg)) for node in ast.walk(ast.parse(path.read_text())))
        ]  # fmt: skip

        assert [
            path for path in annotated if "from __future__ import annotations" not in path.read_text()
        ] == []
