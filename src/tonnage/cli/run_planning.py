"""What `tonnage run` does before anything is started: read, plan, refuse."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from tonnage.errors import DocumentError, Problem, RefusedError
from tonnage.units import format_bytes

if TYPE_CHECKING:
    from tonnage.cluster.snapshot import Snapshot
    from tonnage.kube.port import KubeCluster
    from tonnage.planning.answers import Plan
    from tonnage.planning.situation import Situation
    from tonnage.planning.workload import Workload
    from tonnage.spec.run import Run


@dataclass(frozen=True)
class Planned:
    """A run with its plan, ready to be started."""

    file: str
    run: Run
    plan: Plan
    on: str | None
    probe: int | None = None
    notes: tuple[str, ...] = ()
    told: list[str] = field(default_factory=list)
    snapshot: Snapshot | None = None
    """The cluster it was planned for."""
    situation: Situation | None = None
    """What it takes to try changes of the plan."""
    promised: Mapping[str, int] = field(default_factory=dict)
    """Bytes of this machine that active runs may still take, by run."""
    has_python: bool = True
    """Whether its image has one, as preflight found."""
    code: Mapping[str, str] = field(default_factory=dict)
    """Where its code was put, when it is too large to travel with its objects."""

    @property
    def is_here(self) -> bool:
        return self.on is None

    @property
    def folder(self) -> Path:
        return Path(self.file).parent.resolve() if self.file != "-" else Path.cwd()

    def lines(self) -> list[str]:
        """The plan in a few lines, as `run` shows it and history keeps it."""
        from tonnage.cli.run_text import planned_lines

        return [*planned_lines(self.plan), *(f"  {'note':<10}{text}" for text in self.notes)]

    def advice(self) -> list[str]:
        """Lines to add to script and document so that the run survives: shown once, where there are any."""
        from tonnage.cli.run_advising import lines_to_add

        return lines_to_add(self.run, self.folder, self.file)


def plan_run(file: str, *, on: str | None, namespace: str, probe: int | None) -> Planned:
    """Read the one Run of a file and plan it where it is to run."""
    from tonnage.cli.plan_reading import read_workloads

    cluster = _cluster(on) if on is not None else None
    if cluster is not None:
        namespace = namespace or cluster.client.access.namespace
    workload = _only_run(read_workloads(file, namespace), file)
    run = workload.run
    assert run is not None
    if cluster is None:
        from tonnage.local.durability import as_on_this_machine

        workload = as_on_this_machine(workload)
    promised: dict[str, int] = {}
    notes: tuple[str, ...] = ()
    if cluster is None:
        from tonnage.cli.run_here import notes_on_the_limit, promised_memory
        from tonnage.cli.run_opening import open_store

        promised, notes = promised_memory(open_store()), notes_on_the_limit()
    snapshot, against = _where(cluster, sum(promised.values()))
    situation, plan = _plan(workload, snapshot, against)
    return Planned(
        promised=promised,
        notes=notes,
        file=file,
        run=run,
        plan=plan,
        on=on,
        probe=probe,
        snapshot=snapshot,
        situation=situation,
    )


def refuse_what_cannot_run(planned: Planned) -> None:
    """A plan that does not hold is refused before anything is started, with the change that would do."""
    verdict = planned.plan.verdict
    if verdict.is_good:
        if planned.is_here:
            from tonnage.cli.run_here import refuse_what_cannot_start

            refuse_what_cannot_start(planned)
        return
    problems = [
        Problem(
            code="RUN-104",
            what=change.why or "it does not fit as it is",
            where=planned.file,
            hint=("change " if change.field else "") + ": ".join(filter(None, (change.what, change.effect))),
        )
        for change in verdict.changes
    ]
    problems += [_refusal(planned, reason) for reason in verdict.reasons]
    hint = f"`tonnage plan {planned.file}` shows the whole plan"
    raise RefusedError(*(problems or [Problem(code="RUN-104", what="it does not fit", hint=hint)]))


def _refusal(planned: Planned, reason: str) -> Problem:
    """A reason that no change of the document was found for."""
    if not planned.is_here:
        return Problem(code="RUN-104", what=reason, where=planned.file)
    what = reason.replace("no node is large enough", "this machine has not enough free")
    hint = "nothing waits on this machine: ask for less, or start it when more is free"
    if planned.promised:
        names = ", ".join(planned.promised)
        more = format_bytes(sum(planned.promised.values()))
        hint += f" ({names} may still take {more})"
    return Problem(code="RUN-104", what=what, where=planned.file, hint=hint)


def _only_run(workloads: list[Workload], file: str) -> Workload:
    runs = [one for one in workloads if one.run is not None]
    if len(runs) == 1:
        return runs[0]
    what = "no Run in this file" if not runs else f"{len(runs)} Runs in this file"
    hint = "one `tonnage run` starts one Run"
    if not runs and workloads:
        hint = f"`tonnage init --from {file}` makes a Run of this {workloads[0].kind}"
    raise DocumentError(Problem(code="RUN-105", what=what, where=file, hint=hint))


def _cluster(on: str) -> KubeCluster:
    """The cluster to run on; a saved one can be planned for, and not run on."""
    from tonnage.cli.target import find_cluster
    from tonnage.errors import UsageError
    from tonnage.kube.port import KubeCluster

    found = find_cluster(on, None)
    if isinstance(found, KubeCluster):
        return found
    hint = f"`tonnage plan --on {on}` plans against it; --on takes a context or sandbox:NAME"
    raise UsageError(Problem(code="RUN-120", what=f"nothing can run on {found.target}", hint=hint))


def _where(cluster: KubeCluster | None, promised: int) -> tuple[Snapshot, str]:
    if cluster is None:
        from tonnage.local.machine import NAME, observe_machine
        from tonnage.store.opening import home

        return observe_machine(dt.datetime.now(dt.UTC), home(), promised=promised), NAME
    from tonnage.cli.target import Looking

    Looking(cluster).announce()
    with cluster.client:
        return cluster.observe(), str(cluster.target)


def _plan(workload: Workload, snapshot: Snapshot, against: str) -> tuple[Situation, Plan]:
    from tonnage.cli.plan_sources import sources_for
    from tonnage.planning.plan import decided, look_at

    sources, notes = sources_for(workload, no_trace=False, python=None)
    situation = look_at(workload, sources, snapshot=snapshot, against=against, notes=notes)
    return situation, decided(situation)
