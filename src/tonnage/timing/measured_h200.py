"""Measured corrections of an H200. Made by `accuracy/timing/fit.py`; not written by hand."""

from __future__ import annotations

from typing import Any

GPU = "h200"
GAP = 0.8e-6
SPREAD = 0.30
SPREAD_BY_KIND: dict[str, float] = {"convolution": 0.15}
CARRIED_SPREAD = 0.20
HOST: dict[str, Any] = {
    "by_phase": {"forward": 13e-6, "backward": 8e-6, "optimizer": 9e-6, "other": 8e-6},
    "by_kind": {"matrix": 5e-6, "convolution": 18e-6, "attention": 25e-6, "lists": 12e-6},
}
POINTS: dict[str, tuple[tuple[tuple[float, ...], float, float], ...]] = {}
