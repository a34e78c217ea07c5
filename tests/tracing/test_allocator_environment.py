"""Allocator settings count as torch would have heard them: from the environment at the moment it is imported."""

from __future__ import annotations

import contextlib
import os

import pytest

from tonnage_tracer import allocator_environment

NAME = "PYTORCH_CUDA_ALLOC_CONF"


def asks_for_torch() -> None:
    with contextlib.suppress(ImportError):
        __import__("torch.nn")


def test_a_setting_made_before_torch_is_imported_is_heard(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(NAME, raising=False)
    with allocator_environment.listening():
        monkeypatch.setenv(NAME, "expandable_segments:True")
        asks_for_torch()
    assert allocator_environment.heard()[NAME] == "expandable_segments:True"


def test_a_setting_made_after_torch_is_imported_is_not_heard(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(NAME, raising=False)
    with allocator_environment.listening():
        asks_for_torch()
        monkeypatch.setenv(NAME, "expandable_segments:True")
    monkeypatch.setenv(NAME, "max_split_size_mb:128")
    assert NAME not in allocator_environment.heard()


def test_a_file_that_never_imports_torch_is_heard_when_it_is_loaded(monkeypatch: pytest.MonkeyPatch) -> None:
    with allocator_environment.listening():
        monkeypatch.setenv(NAME, "max_split_size_mb:128")
    os.environ[NAME] = "max_split_size_mb:256"
    assert allocator_environment.heard()[NAME] == "max_split_size_mb:128"
