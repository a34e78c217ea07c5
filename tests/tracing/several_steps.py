"""Several build functions of one file, each recorded by itself, in one process: starting torch takes longest.

Run by an interpreter that has torch, it is the child; imported, it gives tests `record_all`.
"""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

TRACER = Path(__file__).parents[2] / "src" / "tonnage_tracer"


def record_all(
    python: str, file: Path, functions: Sequence[str], folder: Path, *, world_size: int = 1, rank: int = 0
) -> dict[str, Any]:
    """A `Trace` for each function, as recorded behind a virtual H200."""
    import msgspec

    from tonnage.cluster.gpus import find_gpu
    from tonnage.memory.trace import Trace
    from tonnage.tracing.pretending import gpu_environment

    gpu = find_gpu("h200")
    assert gpu is not None
    asked = {"file": str(file), "functions": list(functions), "world_size": world_size, "rank": rank}
    request, output = folder / "request.json", folder / "result.json"
    request.write_text(json.dumps({**asked, "environment": gpu_environment(gpu, 8), "output": str(output)}))
    done = subprocess.run(
        [python, __file__, str(request)], capture_output=True, text=True, timeout=600, check=False
    )
    assert done.returncode == 0, done.stderr[-4000:]
    answers = json.loads(output.read_bytes())
    return {name: msgspec.convert(answer, Trace, strict=False) for name, answer in answers.items()}


def _load_tracer() -> None:
    spec = importlib.util.spec_from_file_location(
        "tonnage_tracer", TRACER / "__init__.py", submodule_search_locations=[str(TRACER)]
    )
    assert spec is not None
    assert spec.loader is not None
    package = importlib.util.module_from_spec(spec)
    sys.modules["tonnage_tracer"] = package
    spec.loader.exec_module(package)


def _main(path: str) -> None:
    _load_tracer()
    from tonnage_tracer import child, virtual_gpu

    request = json.loads(Path(path).read_text())
    versions = virtual_gpu.torch_versions()
    assert versions is not None
    assert versions[1] is not None
    virtual_gpu.load(request["environment"], versions[1])
    virtual_gpu.settle()
    child._pretend_launcher({**request, "ranks_per_node": 8})
    from tonnage_tracer import module_moves, seeded
    from tonnage_tracer.recording import Recording
    from tonnage_tracer.user_file import load_build

    module_moves.install()
    seeded.install()
    answers = {}
    for function in request["functions"]:
        with Recording({"gpu": "h200", **request}) as recording:
            answers[function] = recording.run(load_build(request["file"], function))
    Path(request["output"]).write_text(json.dumps(answers))
    sys.stdout.flush()


if __name__ == "__main__":
    _main(sys.argv[1])
