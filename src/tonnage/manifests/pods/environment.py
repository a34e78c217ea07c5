"""The variables of a training container: what the agent and the SDK were promised, what ranks need, what a person
said. A person's variables win over ours, except those that carry the run's own identity and limits."""

from __future__ import annotations

from typing import Any

from tonnage.manifests.amounts import Amounts
from tonnage.manifests.pods.commands import batch_of
from tonnage.manifests.pods.wiring import Entry, Gang, ports_of, wiring
from tonnage.manifests.request import RenderRequest
from tonnage.spec.literals import Place
from tonnage_agent import contract

OUTPUT = "TONNAGE_OUTPUT"
DATA = "TONNAGE_DATA"
TERMINATION_LOG = "/dev/termination-log"
RECORDS = ".tonnage"
DEFAULT_GRACE = 30
SAVING_GRACE = 120
"""Seconds to stop in, for a run that saves and does not know yet how long that takes."""


def environment(request: RenderRequest, gang: Gang, amounts: Amounts) -> list[Entry]:
    """All variables, each once, those that others refer to first."""
    ours: dict[str, Entry] = {entry["name"]: entry for entry in wiring(request, gang)}
    ours |= {name: _plain(name, value) for name, value in _told(request).items()}
    kept = {name: entry for name, entry in ours.items() if name.startswith("TONNAGE_")}
    found = {
        **{n: _plain(n, v) for n, v in _habits(request, amounts).items() if n not in gang.theirs},
        **ours,
    }
    found |= {name: _plain(name, value) for name, value in request.run.spec.env.items()}
    found |= {name: _secret(name, key.secret, key.key) for name, key in request.run.spec.secrets.items()}
    found |= kept
    # What starts with TONNAGE_ comes first: Kubernetes fills $(NAME) in only from variables above.
    return sorted(found.values(), key=lambda entry: not entry["name"].startswith("TONNAGE_"))


def grace_seconds(request: RenderRequest) -> int:
    """Time to stop in: as the document says, else as planned, else enough for a small save."""
    checkpoints = request.run.spec.checkpoints
    said = checkpoints.grace.duration if checkpoints is not None else None
    if said is not None:
        return -(-said.milliseconds // 1000)
    if request.planned.grace_seconds is not None:
        return request.planned.grace_seconds
    return DEFAULT_GRACE if checkpoints is None else SAVING_GRACE


def seconds_left(request: RenderRequest) -> float | None:
    """What earlier attempts left of the run's time; its clock begins with the agent, not while pods wait."""
    limit = request.run.spec.deadline
    return None if limit is None else max(0.0, limit.seconds - request.ran_seconds)


def _told(request: RenderRequest) -> dict[str, str]:
    """What the agent and the SDK go by."""
    run, planned = request.run, request.planned
    batch = batch_of(request)
    told: dict[str, Any] = {
        contract.RUN: run.metadata.name,
        contract.ATTEMPT: request.attempt,
        contract.TERMINATION_MESSAGE: TERMINATION_LOG,
        contract.METRICS_PORT: ports_of(run).metrics,
        contract.GRACE_SECONDS: grace_seconds(request),
        contract.FAILURE_SECONDS: _rounded(planned.failure_seconds),
        contract.SECONDS_LEFT: _rounded(seconds_left(request)),
        contract.PRICE_PER_HOUR: planned.price_per_hour,
        contract.BUDGET: _budget(request),
        contract.SPENT: request.spent or None,
        contract.LINK_BYTES_PER_SECOND: _rounded(request.facts.link_bytes_per_second)
        if planned.nodes > 1
        else None,
        contract.MICRO_BATCH: batch["microBatch"],
        contract.ACCUMULATION: batch["accumulation"] if batch["microBatch"] is not None else None,
        contract.PROBE_STEPS: request.probe_steps,
        **_places(request),
    }
    return {name: str(value) for name, value in told.items() if value is not None}


def _places(request: RenderRequest) -> dict[str, Any]:
    """Where data, checkpoints and results are, as the program reaches them."""
    spec = request.run.spec
    found: dict[str, Any] = {}
    for index, data in enumerate(spec.data):
        found[DATA if index == 0 else f"{DATA}_{index + 1}"] = _reached(data.source, data.mount)
    if spec.output is not None:
        found[OUTPUT] = _reached(spec.output.to, spec.output.mount)
    if (checkpoints := spec.checkpoints) is not None:
        place = _reached(checkpoints.to, checkpoints.mount)
        every = checkpoints.every.duration
        found[contract.CHECKPOINTS] = f"{place.rstrip('/')}/{request.lineage}" if request.lineage else place
        owner = request.lineage or request.run.metadata.name
        found[contract.RECORD] = f"{place.rstrip('/')}/{RECORDS}/{owner}"
        found[contract.CHECKPOINT_EVERY] = "auto" if every is None else f"{every.milliseconds / 1000:g}"
        found[contract.CHECKPOINT_KEEP] = checkpoints.keep
        found[contract.CHECKPOINT_VERIFY] = int(checkpoints.verify)
    return found


def _reached(place: Place, mount: str) -> str:
    """A volume by its mount, a bucket by its address, a path as it is."""
    if place.scheme in ("pvc", "nfs", "emptyDir"):
        return mount
    return str(place)


def _habits(request: RenderRequest, amounts: Amounts) -> dict[str, str]:
    """Settings every training should have and few remember: output that is not lost, stacks of a crash, threads."""
    habits = {"PYTHONUNBUFFERED": "1", "PYTHONFAULTHANDLER": "1"}
    ranks = request.planned.ranks_per_node
    if ranks > 1:
        habits["OMP_NUM_THREADS"] = str(max(1, amounts.cpu_request // 1000 // ranks))
    if request.planned.nodes > 1 and request.planned.gpus:
        habits |= {
            "TORCH_NCCL_TRACE_BUFFER_SIZE": "2000",
            "TORCH_NCCL_DUMP_ON_TIMEOUT": "1",
            "TORCH_NCCL_DEBUG_INFO_TEMP_FILE": "/tmp/nccl-trace-rank-",
        }
    return habits


def _budget(request: RenderRequest) -> int | None:
    """A budget for the whole run that ends it; one that renews, or only warns, is kept by whoever supervises."""
    budget = request.run.spec.budget
    if budget is None or budget.on_exceed != "checkpointAndStop" or budget.limit.per is not None:
        return None
    return budget.limit.high


def _secret(name: str, secret: str, key: str) -> Entry:
    return {"name": name, "valueFrom": {"secretKeyRef": {"name": secret, "key": key}}}


def _plain(name: str, value: str) -> Entry:
    return {"name": name, "value": value}


def _rounded(value: float | None) -> str | None:
    return None if value is None else f"{round(value)}"
