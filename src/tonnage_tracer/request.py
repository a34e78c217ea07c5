"""What the parent asks of a tracing process, as it lies in the request file.

    INTERPRETER path/to/tonnage_tracer REQUEST.json

The process writes exactly one JSON object to `output`: `{"trace": {...}}` or `{"failure": {...}}`. Standard output
and error belong to the user's code.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, TypedDict

FORMAT = 1


class Request(TypedDict):
    """One step to record."""

    format: int
    task: str
    """`record`, or `selftest`: only find out whether this torch behaves as it must."""
    file: str
    """The user's file, absolute."""
    function: str
    """Its build function."""
    gpu: str
    """Our name of the GPU that is pretended (`h200`); goes into the trace."""
    environment: dict[str, str]
    """`TONNAGE_GPU_*`: that GPU's facts, for the virtual runtime."""
    knobs: dict[str, Any]
    """Knobs that were asked for, by name."""
    steps: int
    world_size: int
    rank: int
    ranks_per_node: int
    output: str


def read_request(path: str) -> Request:
    """The request file; the parent wrote it, so anything odd about it is our own bug."""
    request: Request = json.loads(Path(path).read_text(encoding="utf-8"))
    if request["format"] != FORMAT:
        raise ValueError(f"request format {request['format']}, expected {FORMAT}")
    return request
