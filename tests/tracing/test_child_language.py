"""The tracing process's code must be read by every Python that supported torch versions run on."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import tonnage_tracer

FILES = sorted(Path(tonnage_tracer.__file__).parent.rglob("*.py"))


@pytest.mark.parametrize("file", FILES, ids=lambda path: path.name)
def test_python_3_10_can_read_it(file: Path) -> None:
    ast.parse(file.read_text(), filename=str(file), feature_version=(3, 10))


@pytest.mark.parametrize("file", FILES, ids=lambda path: path.name)
def test_python_3_10_has_what_it_imports(file: Path) -> None:
    """Names of the standard library that came later than 3.10."""
    later = {("typing", "Self"), ("typing", "assert_never"), ("typing", "override"), ("enum", "StrEnum"),
             ("datetime", "UTC"), ("itertools", "batched"), ("typing", "NotRequired"), ("typing", "Never"),
             ("typing", "LiteralString"), ("asyncio", "TaskGroup"), ("contextlib", "chdir")}  # fmt: skip
    imported = {
        (node.module, name.name)
        for node in ast.walk(ast.parse(file.read_text()))
        if isinstance(node, ast.ImportFrom)
        for name in node.names
    }
    modules = {
        name.name
        for node in ast.walk(ast.parse(file.read_text()))
        if isinstance(node, ast.Import)
        for name in node.names
    }

    assert imported & later == set()
    assert "tomllib" not in modules
