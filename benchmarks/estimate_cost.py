"""How long an exact answer takes, from the command line to the figures, beside what importing torch alone takes.

    python benchmarks/estimate_cost.py --python INTERPRETER [NAME...]

Prints one line of JSON: seconds per configuration of the measured set (a spread of eager steps where none is named),
their median, and the ratio to `import torch` in the same interpreter on the same machine.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT))

from accuracy.catalogue import configurations  # noqa: E402 - the project's root comes first

SPREAD = (
    "gpt_small_amp", "llama_1b_bf16", "llama_1b_amp_recompute_accumulated", "llama_1b_lora", "hf_llama_bf16",
    "hf_bert_base_amp", "hf_t5_base_bf16", "hf_mixtral_amp", "vit_b_16_amp", "resnet50_fp32", "convnext_tiny_amp",
)  # fmt: skip


def seconds(command: list[str]) -> float:
    """Wall time of one command that must succeed."""
    started = time.monotonic()
    subprocess.run(command, check=True, capture_output=True)
    return time.monotonic() - started


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--python", required=True, help="an interpreter with torch, torchvision and transformers"
    )
    parser.add_argument("names", nargs="*")
    options = parser.parse_args()
    known = {configuration.name: configuration for configuration in configurations()}
    importing = statistics.median(seconds([options.python, "-c", "import torch"]) for _ in range(3))
    took: dict[str, float] = {}
    for name in options.names or SPREAD:
        step = f"{known[name].path}:{name}"
        command = [sys.executable, "-m", "tonnage", "estimate", "--step", step, "--python", options.python]
        took[name] = round(seconds([*command, "--gpu", "h200", "-o", "json"]), 2)
    median = statistics.median(took.values())
    told = {
        "median_seconds": round(median, 2), "most_seconds": max(took.values()),
        "import_torch_seconds": round(importing, 2),
        "median_over_import": round(median / importing, 1), "each": took,
    }  # fmt: skip
    print(json.dumps(told))


if __name__ == "__main__":
    main()
