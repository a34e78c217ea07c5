"""Interpreters of the torch environments that `dev/obtain_torch.py` installs.

A test that needs one is marked `torch` and asks for it by fixture. Without the environments it fails and says how
to get them: a skipped proof would look like a passed one.
"""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2]))

from dev.obtain_torch import interpreter_of


def _installed(minor: str) -> str:
    python = interpreter_of(minor)
    if not python.exists():
        pytest.fail(f"torch {minor} is not installed at {python}: run `python dev/obtain_torch.py`")
    return str(python)


@pytest.fixture(scope="session")
def torch_python() -> str:
    """torch 2.11 for CUDA 13, with torchvision and transformers."""
    return _installed("2.11")


@pytest.fixture(scope="session")
def torch_python_cuda12() -> str:
    """torch 2.10 for CUDA 12."""
    return _installed("2.10")


@pytest.fixture(params=["2.11", "2.10"], ids=["cuda13", "cuda12"], scope="session")
def any_torch_python(request: pytest.FixtureRequest) -> str:
    """Both, one after the other."""
    return _installed(str(request.param))
