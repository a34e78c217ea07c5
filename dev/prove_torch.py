"""The long proof of exact mode's supported torch versions: the self-test of each, on one GPU of each family.

    python -m dev.prove_torch [MINOR ...]

Installs what is missing, runs the self-test in each environment, and writes a dated report to docs/reports. A minor
belongs into `tonnage.tracing.supported` when all of its rows pass here.
"""

from __future__ import annotations

import sys
from datetime import UTC, datetime
from pathlib import Path

from dev.obtain_torch import PINNED, obtain

from tonnage.cluster.gpus import GPU_TYPES, GpuType
from tonnage.tracing.asking import TraceRequest
from tonnage.tracing.failures import CannotTrace
from tonnage.tracing.interpreter import find_interpreter
from tonnage.tracing.tracing import self_test

GPUS = tuple({gpu.family: gpu for gpu in reversed(GPU_TYPES)}.values())
"""The newest of each family, oldest family first: torch decides by compute capability."""

REPORTS = Path(__file__).parent.parent / "docs" / "reports"


def main() -> None:
    minors = sys.argv[1:] or list(PINNED)
    rows: list[str] = []
    behaviours: list[str] = []
    failures = 0
    for minor in minors:
        row, seen, bad = _prove(minor)
        rows.append(row)
        behaviours = seen or behaviours
        failures += bad
        print(row, flush=True)
    when = datetime.now(UTC)
    path = REPORTS / f"torch-{when:%Y-%m-%d}.md"
    path.write_text(_report(when, rows, behaviours), encoding="utf-8")
    print(f"wrote {path}")
    sys.exit(1 if failures else 0)


def _prove(minor: str) -> tuple[str, list[str], int]:
    """One row of the table, the behaviours that were looked at, and how many GPUs failed."""
    here = Path(__file__)
    interpreter = find_interpreter(str(obtain(minor)), here)
    passed, failed = 0, list[str]()
    behaviours: list[str] = []
    for gpu in GPUS:
        said = _ask(interpreter.path, gpu)
        behaviours = list(said) or behaviours
        if said and set(said.values()) == {"ok"}:
            passed += 1
        else:
            failed.append(f"{gpu.name}: {'; '.join(v for v in said.values() if v != 'ok') or 'no answer'}")
    python = ".".join(map(str, interpreter.python))
    verdict = "; ".join(failed) or "all pass"
    row = f"| {interpreter.torch} | {interpreter.cuda} | {python} | {passed} of {len(GPUS)} | {verdict} |"
    return row, behaviours, len(failed)


def _ask(python: str, gpu: GpuType) -> dict[str, str]:
    request = TraceRequest(file=Path(__file__), function="main", gpu=gpu, python=python)
    try:
        return self_test(find_interpreter(python, request.file), request)
    except CannotTrace as failure:
        return {"an answer": failure.problem.what}


def _report(when: datetime, rows: list[str], behaviours: list[str]) -> str:
    return "\n".join(
        [
            f"# Torch behind the virtual GPU, {when:%Y-%m-%d}",
            "",
            "Made by `python -m dev.prove_torch`. Each default build ran the self-test on a machine without a",
            f"GPU, pretending one of each family: {', '.join(gpu.name for gpu in GPUS)}.",
            "",
            "| torch | CUDA | Python | GPUs passed | failures |",
            "| --- | --- | --- | --- | --- |",
            *rows,
            "",
            "What the self-test shows, in a process of its own:",
            "",
            *[f"- {behaviour}." for behaviour in behaviours],
            "",
        ]
    )


if __name__ == "__main__":
    main()
