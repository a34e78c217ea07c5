"""CUDA in the image against the drivers of the nodes, by the labels of GPU feature discovery. Pure.

Within one major version a program runs on any driver of that version or newer; across majors it does not start.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

_VERSION = re.compile(r"^(\d+)\.(\d+)")
_MAJOR = ("nvidia.com/cuda.runtime-version.major", "nvidia.com/cuda.runtime.major")
_MINOR = ("nvidia.com/cuda.runtime-version.minor", "nvidia.com/cuda.runtime.minor")


def judge_cuda(image: str, nodes: Iterable[tuple[str, Mapping[str, str]]]) -> tuple[bool, str]:
    """Whether every labelled node can run this CUDA, and one line about it.

    >>> judge_cuda("12.4.1", [("a", {_MAJOR[0]: "12", _MINOR[0]: "2"})])
    (True, 'CUDA 12.4 on drivers for 12.2: within one major version')
    >>> judge_cuda("13.0.0", [("a", {_MAJOR[1]: "12", _MINOR[1]: "8"})])
    (False, 'CUDA 13.0 does not start on drivers for 12.8 (node a)')
    >>> judge_cuda("12.4", [("a", {})])
    (True, 'CUDA 12.4; no node label says which drivers there are')
    """
    wanted = _VERSION.match(image)
    if wanted is None:
        return True, f"CUDA {image}"
    major, minor = int(wanted[1]), int(wanted[2])
    shown = f"CUDA {major}.{minor}"
    known = [(_supported(labels), name) for name, labels in nodes]
    there = sorted((version, name) for version, name in known if version is not None)
    if not there:
        return True, f"{shown}; no node label says which drivers there are"
    (oldest_major, oldest_minor), name = there[0]
    drivers = f"drivers for {oldest_major}.{oldest_minor}"
    if major > oldest_major:
        return False, f"{shown} does not start on {drivers} (node {name})"
    if (major, minor) > (oldest_major, oldest_minor):
        return True, f"{shown} on {drivers}: within one major version"
    return True, f"{shown} on {drivers}"


def _supported(labels: Mapping[str, str]) -> tuple[int, int] | None:
    """The newest CUDA that a node's driver knows."""
    major = next((labels[key] for key in _MAJOR if key in labels), "")
    minor = next((labels[key] for key in _MINOR if key in labels), "0")
    return (int(major), int(minor)) if major.isdecimal() and minor.isdecimal() else None
