"""Cases that are not one training with injuries: what is refused, what must not wait for ever, what only KWOK has."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import yaml

from survival.case import Outcome
from survival.nodes.bench import NodesBench
from survival.nodes.running import FORGIVING
from tonnage.sandbox.state import Sandbox

Check = Callable[[NodesBench, Outcome], None]


def run_check(name: str, check: Check, sandbox: Sandbox, namespace: str) -> Outcome:
    """One case that says itself what is wrong."""
    began = time.monotonic()
    outcome = Outcome(case=name, seed=0, place="nodes", every=0.0, state="checked", expected_state="checked")
    with tempfile.TemporaryDirectory(prefix="survival-nodes-", ignore_cleanup_errors=True) as made:
        bench = NodesBench(Path(made), sandbox=sandbox, namespace=namespace)
        try:
            bench.prepare()
            check(bench, outcome)
        except Exception as error:
            outcome.wrong.append(f"{type(error).__name__}: {error}")
        finally:
            bench.close()
    outcome.seconds = time.monotonic() - began
    return outcome


def empty_dir_is_refused(bench: NodesBench, outcome: Outcome) -> None:
    """Checkpoints that die with the pod: refused before anything exists."""
    spec = {
        "command": ["python3", "spirals.py"], "memory": "96Mi", "train": {"steps": 200},
        "checkpoints": {"to": "emptyDir", "every": "1s"},
    }  # fmt: skip
    document = bench.write(spec, {"STEPS": "200"})
    shown = bench.tonnage("run", str(document), "--on", f"sandbox:{bench.sandbox.name}", "--yes", "--detach")
    if shown.returncode != 1:
        outcome.wrong.append(f"it was started: exit code {shown.returncode}")
    if "emptyDir" not in shown.stderr:
        outcome.wrong.append(f"the refusal does not say why: {shown.stderr.strip()}")
    if bench.pods():
        outcome.wrong.append("pods were made before it was refused")


def two_jobs_never_deadlock(bench: NodesBench, outcome: Outcome) -> None:
    """Two gangs that each need more than half of both nodes: one runs, then the other; neither waits for ever."""
    documents = []
    for name in ("first", "second"):
        bench.name = name
        spec = {
            "command": ["python3", "gang.py"], "nodes": 2, "framework": "other", "memory": "96Mi", "cpu": "1.2",
            "train": {"steps": 60}, "checkpoints": {"to": "pvc/ckpt", "every": "1s", "grace": "5s"},
            "retries": FORGIVING, "maxWait": "900s",
        }  # fmt: skip
        documents.append(
            bench.write(spec, {"STEPS": "60", "PAUSE": "0.03", "JOURNAL": f"/checkpoints/{name}"}, "gang.py")
        )
    for document in documents:
        bench.start(document)
    bench.wait("both runs to end", lambda: not any(run.is_active for run in bench.store.runs()))
    ends = {run.name: (run.state, run.why) for run in bench.store.runs()}
    for name, (state, why) in ends.items():
        if state != "finished":
            outcome.wrong.append(f"{name} is {state}: {why}")


def one_document_at_any_size(bench: NodesBench, outcome: Outcome) -> None:
    """1, 8 and 64 GPUs from one document on simulated nodes: as many pods, with as many GPUs, all placed."""
    for nodes, gpus in ((1, 1), (1, 8), (8, 8)):
        bench.name = f"sized-{nodes * gpus}"
        document = _sized(bench, nodes, gpus)
        bench.start(document, "--no-preflight")  # simulated pods answer nothing
        bench.wait(f"{nodes} placed pods", lambda nodes=nodes: len(_placed(bench)) == nodes)  # type: ignore[misc]
        asked = {_gpus(pod) for pod in _placed(bench)}
        if asked != {gpus}:
            outcome.wrong.append(f"{nodes * gpus} GPUs: pods ask for {asked}")
        outcome.notes.append(f"{nodes * gpus} GPUs: {nodes} pods with {gpus} each, all placed")
        stopped = bench.tonnage("stop", bench.name)
        if stopped.returncode:
            outcome.wrong.append(f"{bench.name} was not stopped: {stopped.stderr}")


def _sized(bench: NodesBench, nodes: int, gpus: int) -> Path:
    document = {
        "apiVersion": "tonnage.dev/v1alpha1", "kind": "Run",
        "metadata": {"name": bench.name, "namespace": bench.namespace},
        "spec": {
            "command": ["torchrun", "train.py"], "image": "local/python:3", "nodes": nodes, "gpus": gpus,
            "memory": "64Gi", "cpu": 8, "checkpoints": {"to": "pvc/ckpt", "every": "10m"},
        },
    }  # fmt: skip
    path = bench.folder / f"{bench.name}.yaml"
    path.write_text(yaml.safe_dump(document, sort_keys=False))
    return path


def _placed(bench: NodesBench) -> list[dict[str, Any]]:
    return [
        pod for pod in bench.pods() if pod["spec"].get("nodeName") and "check" not in pod["metadata"]["name"]
    ]


def _gpus(pod: dict[str, Any]) -> int:
    limits = [each.get("resources", {}).get("limits", {}) for each in pod["spec"]["containers"]]
    return sum(int(each.get("nvidia.com/gpu", 0)) for each in limits)
