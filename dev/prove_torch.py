"""The long proof of exact mode's supported torch versions.

    python -m dev.prove_torch [MINOR ...]

Installs what is missing; then, for each minor's default build, runs the self-test while pretending one GPU of each
family, and traces the steps of `dev/proof_step.py` (eager, compiled, sharded) on a pretended H200. Writes a dated
report to docs/reports. A minor belongs into `tonnage.tracing.supported` when all of its rows pass here.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from dev.obtain_torch import PINNED, obtain

from tonnage.cluster.gpus import GPU_TYPES, GpuType, find_gpu
from tonnage.errors import TonnageError
from tonnage.memory.exact import exact_estimate
from tonnage.tracing.asking import TraceRequest
from tonnage.tracing.interpreter import Interpreter, find_interpreter
from tonnage.tracing.tracing import self_test, trace_step

GPUS = tuple({gpu.family: gpu for gpu in reversed(GPU_TYPES)}.values())
"""The newest of each family, oldest family first: torch decides by compute capability."""

STEP = Path(__file__).with_name("proof_step.py")
STEPS = {"build": 1, "build_compiled": 1, "build_sharded": 8}
"""Functions of the step file, and among how many ranks each runs."""

REPORTS = Path(__file__).parent.parent / "docs" / "reports"


@dataclass
class Proof:
    """What one torch version showed."""

    interpreter: Interpreter
    behaviours: tuple[str, ...] = ()
    failures: list[str] = field(default_factory=list)
    caps: list[str] = field(default_factory=list)

    def as_row(self) -> str:
        it = self.interpreter
        python = ".".join(map(str, it.python))
        verdict = "; ".join(self.failures) or "none"
        return f"| {it.torch} | {it.cuda} | {python} | {' | '.join(self.caps)} | {verdict} |"


def main() -> None:
    proofs: list[Proof] = []
    for minor in sys.argv[1:] or PINNED:
        proofs.append(_prove(minor))
        print(proofs[-1].as_row(), flush=True)
    when = datetime.now(UTC)
    path = REPORTS / f"torch-{when:%Y-%m-%d}.md"
    path.write_text(_report(when, proofs), encoding="utf-8")
    print(f"wrote {path}")
    sys.exit(1 if any(proof.failures for proof in proofs) else 0)


def _prove(minor: str) -> Proof:
    proof = Proof(find_interpreter(str(obtain(minor)), STEP))
    for gpu in GPUS:
        _pretend(proof, gpu)
    for function, ranks in STEPS.items():
        _trace(proof, function, ranks)
    return proof


def _pretend(proof: Proof, gpu: GpuType) -> None:
    try:
        said = self_test(proof.interpreter, TraceRequest(file=STEP, function="build", gpu=gpu))
    except TonnageError as failure:
        proof.failures.append(f"{gpu.name}: {failure.problem.what}")
        return
    proof.behaviours = tuple(said)
    proof.failures += [f"{gpu.name}: {name}: {seen}" for name, seen in said.items() if seen != "ok"]


def _trace(proof: Proof, function: str, ranks: int) -> None:
    gpu = find_gpu("h200")
    assert gpu is not None
    asked = TraceRequest(
        file=STEP,
        function=function,
        gpu=gpu,
        python=proof.interpreter.path,
        world_size=ranks,
        rank=ranks // 2,
    )
    try:
        proof.caps.append(f"{exact_estimate(trace_step(asked), gpu).smallest_cap / 2**20:.0f}")
    except TonnageError as failure:
        proof.caps.append("fails")
        proof.failures.append(f"{function}: {failure.problem.what}")


def _report(when: datetime, proofs: list[Proof]) -> str:
    return "\n".join(
        [
            f"# Torch behind the virtual GPU, {when:%Y-%m-%d}",
            "",
            "Made by `python -m dev.prove_torch` on a machine without a GPU. Each default build ran the self-test once",
            f"for each of {', '.join(gpu.name for gpu in GPUS)}, and traced the steps of `dev/proof_step.py` on a",
            "pretended H200; the columns are the smallest caps that were predicted, in MiB. They may differ between",
            "versions where torch itself does.",
            "",
            "| torch | CUDA | Python | eager | compiled | sharded over 8 | failures |",
            "| --- | --- | --- | --- | --- | --- | --- |",
            *[proof.as_row() for proof in proofs],
            "",
            "What the self-test shows:",
            "",
            *[f"- {behaviour}." for behaviour in proofs[-1].behaviours],
            "",
        ]
    )


if __name__ == "__main__":
    main()
