"""PyTorch's own MemTracker on the measured set, for comparison.

    INTERPRETER accuracy/memtracker.py --to accuracy/baselines/memtracker.json [NAME...]

It runs as its documentation shows: fake tensors, model and optimizer registered, two steps, peak of the tracked
total. It needs a GPU, so it gets our virtual one; whatever it cannot follow is written down as it says so. One
process per configuration.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
STEPS = ROOT / "accuracy" / "steps"


def tracked(file: str, name: str) -> dict[str, Any]:
    """The peak MemTracker sees, in this process."""
    sys.path.insert(0, str(ROOT / "src"))
    from tonnage_tracer import virtual_gpu

    versions = virtual_gpu.torch_versions()
    assert versions is not None
    assert versions[1] is not None
    virtual_gpu.load(json.loads(os.environ["VIRTUAL_GPU"]), versions[1])
    import torch
    from torch._subclasses.fake_tensor import FakeTensorMode
    from torch.distributed._tools.mem_tracker import MemTracker

    from tonnage_tracer import module_moves

    virtual_gpu.settle()
    module_moves.install()
    sys.path.insert(0, str(STEPS))
    training: Any = importlib.import_module("training")
    seen: list[Any] = []
    original_train, original_make = training.train, training.make_optimizer

    def train(model: Any, *args: Any, **kwargs: Any) -> Any:
        seen.append(model)
        return original_train(model, *args, **kwargs)

    def make(*args: Any) -> Any:
        seen.append(original_make(*args))
        return seen[-1]

    training.train, training.make_optimizer = train, make
    with FakeTensorMode(allow_non_fake_inputs=True):
        step = getattr(importlib.import_module(file), name)()
        tracker = MemTracker()
        tracker.track_external(*seen)
        with tracker:
            step()
            tracker.reset_mod_stats()  # as its documentation asks for after the first step
            step()
        peaks = tracker.get_tracker_snapshot("peak")
    device = torch.device("cuda", 0)
    return {"peak": int(peaks[device]["Total"])}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--to", type=Path)
    parser.add_argument("--gpu", type=Path, help="JSON with the TONNAGE_GPU_* environment")
    parser.add_argument("--one", nargs=2)
    parser.add_argument("names", nargs="*")
    options = parser.parse_args()
    if options.one:
        print("RESULT " + json.dumps(tracked(*options.one)))
        return
    sys.path.insert(0, str(ROOT))
    from accuracy.catalogue import configurations

    found = json.loads(options.to.read_text()) if options.to.exists() else {}
    for configuration in configurations():
        if options.names and configuration.name not in options.names:
            continue
        command = [sys.executable, __file__, "--one", configuration.file, configuration.name]
        environment = {**os.environ, "VIRTUAL_GPU": options.gpu.read_text()}
        try:
            done = subprocess.run(
                command, capture_output=True, text=True, timeout=400, env=environment, check=False
            )
            lines = [line for line in done.stdout.splitlines() if line.startswith("RESULT ")]
            answer = (
                json.loads(lines[-1][7:]) if lines else {"error": done.stderr.strip().splitlines()[-1][:200]}
            )
        except subprocess.TimeoutExpired:
            answer = {"error": "took longer than 400 s"}
        found[configuration.name] = answer
        print(configuration.name, answer, flush=True)
        options.to.parent.mkdir(parents=True, exist_ok=True)
        options.to.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
