"""Which programs are measured: enough to fix every constant of the pod model, and three whole runs to check it.

The constants are read off the single-purpose cases; no constant is read off the whole runs ("run ...").
Those were looked at while the model was written, so they show that its parts add up, not how it does elsewhere.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Case:
    """One program with its arguments; `folder` is filled in where the probe writes files."""

    name: str
    probe: str
    arguments: dict[str, Any] = field(default_factory=dict)
    needs_folder: bool = False
    environment: dict[str, str] = field(default_factory=dict)


def _loader(name: str, environment: dict[str, str] | None = None, **arguments: Any) -> Case:
    return Case(f"loader {name}", "loader", arguments, environment=environment or {})


CASES: tuple[Case, ...] = (
    Case("imports", "imports", {"modules": ["torch", "torchvision", "transformers"]}),
    _loader("none", workers=0, prefetch=2, batch_mib=16),
    _loader("1 x 2, 16 MiB", workers=1, prefetch=2, batch_mib=16),
    _loader("4 x 2, 16 MiB", workers=4, prefetch=2, batch_mib=16),
    _loader("4 x 4, 16 MiB", workers=4, prefetch=4, batch_mib=16, batches=40),
    _loader("4 x 2, 1 MiB", workers=4, prefetch=2, batch_mib=1),
    _loader("3 x 2, 64 MiB", workers=3, prefetch=2, batch_mib=64, batches=40),
    _loader("spawn 2 x 2", workers=2, prefetch=2, batch_mib=1, start="spawn"),
    _loader("forkserver 2 x 2", workers=2, prefetch=2, batch_mib=1, start="forkserver"),
    _loader("200,000 objects", workers=4, prefetch=2, batch_mib=1, objects=200_000),
    _loader("array of 64 MiB", workers=4, prefetch=2, batch_mib=1, arrays_mib=64),
    _loader("long, samples of 64 KiB", workers=1, prefetch=2, batch_mib=8, batches=400, pause=0, samples=128),
    _loader("long, samples of 128 KiB", workers=1, prefetch=2, batch_mib=8, batches=400, pause=0, samples=64),
    _loader("long, samples of 512 KiB", workers=1, prefetch=2, batch_mib=32, batches=200, pause=0, samples=64),
    _loader("long, samples of 1 MiB", workers=1, prefetch=2, batch_mib=8, batches=400, pause=0),
    _loader("long, samples of 4 MiB", workers=1, prefetch=2, batch_mib=8, batches=400, pause=0, samples=2),
    _loader("long, samples of 16 MiB", workers=1, prefetch=2, batch_mib=32, batches=300, pause=0, samples=2),
    _loader("long, samples of 40 MiB", workers=1, prefetch=2, batch_mib=40, batches=100, pause=0, samples=1),
    _loader(
        "long, samples of 4 MiB, malloc told",
        {"MALLOC_MMAP_THRESHOLD_": "65536"},
        workers=1, prefetch=2, batch_mib=8, batches=400, pause=0, samples=2,
    ),
    *(
        Case(f"saving {style}", "saving", {"style": style, "size_mib": 256}, needs_folder=True)
        for style in ("file", "memory", "safetensors", "dcp", "dcp-async")
    ),
    *(
        Case(f"loading {style}", "loading", {"style": style, "size_mib": 256}, needs_folder=True)
        for style in ("bin", "bin-mmap", "safetensors", "build-then-load")
    ),
    Case("loading from_pretrained", "pretrained", {"size_mib": 400}, needs_folder=True),
    Case("compiling alone", "compiling", {"workers": 1}),
    Case("compiling with 4 workers", "compiling", {"workers": 4}),
    Case("compiling with 8 workers", "compiling", {"workers": 8}),
)  # fmt: skip

_RUN = {"prefetch": 2, "batches": 40}
_TOLD = {"MALLOC_MMAP_THRESHOLD_": "65536"}
RUNS: tuple[Case, ...] = (
    Case(
        "run with a large model",
        "training",
        _RUN
        | {
            "ranks": 1,
            "width": 2048,
            "layers": 16,
            "batch_mib": 4,
            "workers": 2,
            "load": "bin",
            "save": "file",
        },
        needs_folder=True,
    ),
    Case(
        "run with large batches",
        "training",
        _RUN
        | {
            "ranks": 1,
            "width": 512,
            "layers": 4,
            "batch_mib": 32,
            "workers": 3,
            "load": "none",
            "save": "file",
        },
        needs_folder=True,
        environment=_TOLD,
    ),
    Case(
        "run of two ranks, saving in the background",
        "training",
        _RUN
        | {
            "ranks": 2,
            "width": 1024,
            "layers": 16,
            "batch_mib": 8,
            "workers": 2,
            "load": "bin",
            "save": "async",
        },
        needs_folder=True,
        environment=_TOLD,
    ),
)
"""Whole programs, predicted and then measured."""
