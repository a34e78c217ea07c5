"""Runs in a torch environment: records every build function of a file and writes all traces as one JSON file.

PYTHON recorded.py SRC_FOLDER STEPS.py OUTPUT.json [NAME...]
"""

from __future__ import annotations

import importlib.util
import inspect
import json
import sys
import warnings
from pathlib import Path

H200 = {
    "TONNAGE_GPU_NAME": "NVIDIA H200",
    "TONNAGE_GPU_COMPUTE": "9.0",
    "TONNAGE_GPU_COUNT": "1",
    "TONNAGE_GPU_MEMORY": str(143155 << 20),
    "TONNAGE_GPU_CONTEXT": str(618 << 20),
    "TONNAGE_GPU_SMS": "132",
    "TONNAGE_GPU_THREADS_PER_SM": "2048",
    "TONNAGE_GPU_SHARED_PER_BLOCK": "232448",
    "TONNAGE_GPU_SHARED_PER_SM": "233472",
    "TONNAGE_GPU_L2": str(60 << 20),
    "TONNAGE_GPU_BUS_BITS": "6144",
}


def builds(path):
    """The file's own functions that can be called bare, and its values that say they are to be recorded as well."""
    spec = importlib.util.spec_from_file_location(Path(path).stem, path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return {
        name: value
        for name, value in vars(module).items()
        if name in getattr(module, "BUILDS", ())
        or (
            not hasattr(module, "BUILDS")
            and inspect.isfunction(value)
            and value.__module__ == module.__name__
            and not name.startswith("_")
        )
    }


def main(source, steps, output, *names):
    sys.path.insert(0, source)
    from tonnage_tracer import virtual_gpu

    virtual_gpu.load(H200, virtual_gpu.torch_versions()[1])
    virtual_gpu.settle()
    from tonnage_tracer.failing import CannotRecord
    from tonnage_tracer.recording import record

    warnings.simplefilter("ignore")
    found = {}
    for name, build in builds(steps).items():
        if names and name not in names:
            continue
        try:
            found[name] = {
                "trace": record(build, {"gpu": "h200", "file": steps, **getattr(build, "request", {})})
            }
        except CannotRecord as failure:
            found[name] = {"failure": failure.as_data()}
    Path(output).write_text(json.dumps(found))


main(*sys.argv[1:])
