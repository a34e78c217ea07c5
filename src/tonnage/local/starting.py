"""What an attempt on this machine is started with: words to run, variables, folders.

The document says the same thing here as on a cluster; what a pod would find mounted, a process finds under the same
variable (TONNAGE_CHECKPOINTS, TONNAGE_OUTPUT, TONNAGE_DATA), because nothing can be mounted over this machine's
folders.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from tonnage.errors import Problem, RefusedError
from tonnage.local.layout import RunFolder, volume_folder
from tonnage.running.attempts import Size
from tonnage.running.history import Launching
from tonnage.spec.literals import Place
from tonnage.spec.run import Run
from tonnage_agent import contract

_FIRST_PORT = 29_500
_PORTS = 2_000


@dataclass(frozen=True, kw_only=True)
class Node:
    """Everything one node of an attempt is started with."""

    index: int
    argv: tuple[str, ...]
    env: Mapping[str, str]
    cwd: Path
    memory: int | None
    grace_seconds: float


@dataclass(frozen=True, kw_only=True)
class Setting:
    """What all nodes and attempts of a run share on this machine."""

    run_id: int
    run: Run
    launching: Launching
    home: Path
    agent: tuple[str, ...]
    """How the agent is started, up to the command it wraps."""
    agent_path: str
    """What PYTHONPATH needs so that the script finds the SDK."""
    environment: Mapping[str, str]
    """Of whoever started the run."""
    spent: int = 0
    deadline: float | None = None

    @property
    def folder(self) -> RunFolder:
        return RunFolder.of(self.home, self.run_id)


def nodes_of(setting: Setting, number: int, size: Size) -> list[Node]:
    """The nodes of one attempt."""
    count = setting.run.spec.nodes.low
    return [
        Node(
            index=index,
            argv=(*setting.agent, *words_of(setting.run, size)),
            env=_variables(setting, number, size, index, count),
            cwd=working_folder(setting),
            memory=size.memory,
            grace_seconds=setting.launching.grace_seconds,
        )
        for index in range(count)
    ]


def words_of(run: Run, size: Size) -> tuple[str, ...]:
    """The command with what a remedy may change filled in."""
    command = run.spec.command
    if not command:
        raise RefusedError(
            Problem(
                code="RUN-110",
                what="there is nothing to run",
                where="spec.command",
                hint="say what to run, for example `command: python3 train.py`",
            )
        )
    values = {"{microBatch}": _micro_batch(run, size), "{accumulation}": _accumulation(run, size)}
    return tuple(_filled(word, values) for word in command)


def working_folder(setting: Setting) -> Path:
    """Where the command runs: the code's folder, else the document's."""
    folder = Path(setting.launching.folder or ".")
    code = setting.run.spec.code
    return (folder / code.path).resolve() if code is not None else folder.resolve()


def folder_of(place: Place, setting: Setting) -> str:
    """What a place of the document is on this machine: a folder's path, or a bucket's address."""
    match place.scheme:
        case "pvc":
            return str(volume_folder(setting.home, place.name)) + place.path
        case "path":
            return str((Path(setting.launching.folder or ".") / place.path).resolve())
        case "emptyDir":
            return str(setting.folder.root / "emptyDir")
        case "nfs":
            raise RefusedError(
                Problem(
                    code="RUN-111",
                    what=f"{place} is not mounted by Tonnage on this machine",
                    hint="mount it and name the folder instead, or run on a cluster with --on",
                )
            )
    return str(place)


def _variables(setting: Setting, number: int, size: Size, index: int, count: int) -> dict[str, str]:
    run, launching, folder = setting.run, setting.launching, setting.folder
    said: dict[str, object | None] = {
        contract.RUN: run.metadata.name,
        contract.ATTEMPT: number,
        contract.NODE: index,
        contract.NODES: count,
        contract.RECORD: folder.record,
        contract.TERMINATION_MESSAGE: folder.node(number, index).message,
        contract.ASKED: folder.node(number, index).asked,
        contract.GRACE_SECONDS: launching.grace_seconds,
        contract.FAILURE_SECONDS: launching.failure_seconds,
        contract.PRICE_PER_HOUR: launching.price_per_hour,
        contract.SPENT: setting.spent or None,
        contract.DEADLINE: setting.deadline,
        contract.MICRO_BATCH: _micro_batch(run, size),
        contract.ACCUMULATION: _accumulation(run, size),
        contract.PROBE_STEPS: launching.probe_steps,
    }
    said |= _budget(run) | _storage(setting) | _ranks(setting, number, index, count)
    path = [setting.agent_path, setting.environment.get("PYTHONPATH", "")]
    return {
        **setting.environment,
        **{name: str(value) for name, value in said.items() if value is not None},
        "PYTHONPATH": ":".join(part for part in path if part),
        "PYTHONUNBUFFERED": "1",
        **secrets_of(setting),
        **run.spec.env,
    }


def _storage(setting: Setting) -> dict[str, object | None]:
    spec, launching = setting.run.spec, setting.launching
    said: dict[str, object | None] = {}
    if spec.checkpoints is not None:
        every = launching.checkpoint_every
        said |= {
            contract.CHECKPOINTS: f"{folder_of(spec.checkpoints.to, setting).rstrip('/')}/{launching.lineage}",
            contract.CHECKPOINT_EVERY: "auto" if every is None else every,
            contract.CHECKPOINT_KEEP: spec.checkpoints.keep,
            contract.CHECKPOINT_VERIFY: int(spec.checkpoints.verify),
        }
    if spec.output is not None:
        said["TONNAGE_OUTPUT"] = folder_of(spec.output.to, setting)
    if spec.data:
        said["TONNAGE_DATA"] = ":".join(folder_of(item.source, setting) for item in spec.data)
    return said


def _budget(run: Run) -> dict[str, object | None]:
    budget = run.spec.budget
    return {} if budget is None or budget.limit.per is not None else {contract.BUDGET: budget.limit.high}


def _ranks(setting: Setting, number: int, index: int, count: int) -> dict[str, object | None]:
    """How ranks find each other, in the variables that torchrun and plain scripts read."""
    if count == 1:
        return {}
    port = _FIRST_PORT + (setting.run_id * 31 + number) % _PORTS
    return {
        "MASTER_ADDR": "127.0.0.1",
        "MASTER_PORT": port,
        "NODE_RANK": index,
        "NNODES": count,
        "RANK": index,
        "WORLD_SIZE": count,
        "PET_NNODES": count,
        "PET_NODE_RANK": index,
        "PET_MASTER_ADDR": "127.0.0.1",
        "PET_MASTER_PORT": port,
    }


def secrets_of(setting: Setting) -> dict[str, str]:
    """Secrets are Kubernetes' there and the user's own variables here."""
    missing = [name for name in setting.run.spec.secrets if name not in setting.environment]
    if missing:
        raise RefusedError(
            Problem(
                code="RUN-112",
                what=f"{', '.join(missing)} is not set on this machine",
                where="spec.secrets",
                hint=f"export {missing[0]}=... before `tonnage run`; on a cluster it comes from the Secret",
            )
        )
    return {}


def _micro_batch(run: Run, size: Size) -> int | None:
    return size.micro_batch if size.micro_batch is not None else run.spec.train.micro_batch


def _accumulation(run: Run, size: Size) -> int | None:
    return size.accumulation if size.accumulation is not None else run.spec.train.accumulation


def _filled(word: str, values: Mapping[str, int | None]) -> str:
    for name, value in values.items():
        if value is not None:
            word = word.replace(name, str(value))
    return word
