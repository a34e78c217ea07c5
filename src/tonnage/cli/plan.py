"""`tonnage plan`: whether a run fits, where, when, for how much, and what it would take; nothing is sent anywhere.

Without --on it is planned on nothing but the GPU that the document names. With `model.step` the user's own step
is traced (exact, some seconds); with `model.shape` it is worked out on paper; with neither, GPU memory is said
to be unknown and the rest is planned all the same.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from tonnage.cluster.snapshot import Snapshot
    from tonnage.planning.answers import Plan
    from tonnage.planning.situation import Situation
    from tonnage.planning.workload import Workload

ALLOWED = ("precision", "gpus")


@click.command()
@click.argument("run", metavar="RUN")
@click.option("--on", metavar="TARGET", help="A context, snapshot file, Cluster file or sandbox[:NAME].")
@click.option("--context", metavar="NAME", help="A kubeconfig context, as in kubectl.")
@click.option("-n", "--namespace", default="", metavar="NS", help="Namespace, where RUN does not name one.")
@click.option("--fit", is_flag=True, help="Find the cheapest settings that fit and keep the global batch.")
@click.option(
    "--allow",
    multiple=True,
    type=click.Choice(ALLOWED),
    help="With --fit: other number formats (changes numerics), or other GPUs than you named.",
)
@click.option("--explain", is_flag=True, help="Show each need part by part, every value, who decided it.")
@click.option(
    "--no-trace", is_flag=True, help="Do not trace model.step; estimate from the shape, if there is one."
)
@click.option("--python", metavar="INTERPRETER", help="Python of the training environment, to trace with.")
@click.option(
    "-o",
    "--output",
    type=click.Choice(["text", "json", "yaml"]),
    default="text",
    help="yaml: the document with what --fit changed.",
)
def plan(  # noqa: PLR0913, PLR0917 - one parameter for each option
    run: str,
    on: str | None,
    context: str | None,
    namespace: str,
    fit: bool,
    allow: tuple[str, ...],
    explain: bool,
    no_trace: bool,
    python: str | None,
    output: str,
) -> int:
    """Say whether a run fits, where, when and for how much, before it starts.

    RUN is a Run document or any Kubernetes manifest of a training job (Job, JobSet, TrainJob, PyTorchJob, TFJob,
    MPIJob, Pod); - reads standard input. Nothing is sent anywhere. Exit code 0 when it
    fits, 1 when something must change first.

    \b
        tonnage plan run.yaml                     on the GPU it names
        tonnage plan run.yaml --on prod           on a cluster, as it is now
        tonnage plan run.yaml --on lab.yaml --fit the cheapest settings that fit
    """
    from tonnage.cli.collecting import collect_rarely

    collect_rarely()
    from tonnage.cli.plan_reading import read_workloads

    _refuse_what_needs_fit(output, allow, fit)
    workloads = read_workloads(run, namespace)
    snapshot, against = _cluster(on, context)
    plans = []
    for workload in workloads:
        situation = _look(workload, snapshot, against, no_trace=no_trace, python=python)
        plans.append(_decide(situation, fit=fit, allow=frozenset(allow)))
    _show(plans, output, snapshot, explain=explain)
    return 0 if all(one.verdict.is_good for one in plans) else 1


def _refuse_what_needs_fit(output: str, allow: tuple[str, ...], fit: bool) -> None:
    from tonnage.errors import Problem, UsageError

    if output == "yaml" and not fit:
        what = "-o yaml prints the document that --fit changed, and --fit was not asked for"
        raise UsageError(Problem(code="PLAN-001", what=what, hint="add --fit, or use -o json"))
    if allow and not fit:
        what = "--allow widens what --fit may change, and --fit was not asked for"
        raise UsageError(
            Problem(
                code="PLAN-004", what=what, found=f"--allow {allow[0]}", hint="add --fit, or leave it out"
            )
        )


def _cluster(on: str | None, context: str | None) -> tuple[Snapshot | None, str]:
    """The cluster to plan on, said on stderr; nothing where none was named."""
    if on is None and context is None:
        return None, ""
    from tonnage.cli.target import Looking, find_cluster

    looking = Looking(find_cluster(on, context, to_come=True))
    looking.announce()
    return looking.cluster.observe(), str(looking.cluster.target)


def _look(
    workload: Workload, snapshot: Snapshot | None, against: str, *, no_trace: bool, python: str | None
) -> Situation:
    from tonnage.cli.plan_sources import sources_for
    from tonnage.planning.plan import look_at

    sources, notes = sources_for(workload, no_trace=no_trace, python=python)
    return look_at(workload, sources, snapshot=snapshot, against=against, notes=notes)


def _decide(situation: Situation, *, fit: bool, allow: frozenset[str]) -> Plan:
    from tonnage.planning.fitting import fit as find_fit
    from tonnage.planning.fitting import with_fit
    from tonnage.planning.plan import decided

    if fit:
        situation = with_fit(situation, find_fit(situation, allow=allow))
    return decided(situation)


def _show(plans: list[Plan], output: str, snapshot: Snapshot | None, *, explain: bool) -> None:
    from tonnage.reporting.plan import view_plan

    if output == "yaml":
        _show_documents(plans)
        return
    views = [view_plan(one, snapshot) for one in plans]
    if output == "json":
        import msgspec

        answer = views[0] if len(views) == 1 else {"kind": "PlanList", "items": views}
        click.echo(msgspec.json.format(msgspec.json.encode(answer), indent=2))
        return
    from tonnage.cli.plan_text import draw

    for number, view in enumerate(views):
        click.echo("\n".join([*([""] if number else []), *draw(view, explain=explain)]))


def _show_documents(plans: list[Plan]) -> None:
    """The documents with what was changed; one without a plan is refused rather than printed unchanged."""
    from tonnage.errors import Problem, RefusedError
    from tonnage.planning.fitting import changed_document
    from tonnage.spec.dumping import as_plain, write_yaml

    texts = []
    for one in plans:
        run, chosen, base = one.workload.run, one.fit.chosen if one.fit else None, one.base
        if run is None or chosen is None or base is None:
            why = "; ".join(one.fit.obstacles) if one.fit and one.fit.obstacles else "no settings fit"
            raise RefusedError(
                Problem(
                    code="PLAN-002",
                    what=f"there is no changed document: {why}",
                    where=one.workload.file or None,
                )
            )
        texts.append(write_yaml(changed_document(as_plain(run), chosen.setup, base)))
    click.echo("---\n".join(texts), nl=False)
