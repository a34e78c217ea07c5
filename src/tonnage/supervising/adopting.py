"""Take up a run that another machine started: its state from the cluster into this machine's store."""

from __future__ import annotations

from tonnage.errors import Problem, RefusedError
from tonnage.kube.client import KubeClient
from tonnage.kube.running.finding import FoundRun, code_of, runs_on
from tonnage.running.history import RunRecord
from tonnage.store.store import Store
from tonnage.supervising.on_cluster import keep_code


def find_on(client: KubeClient, name: str, namespace: str = "") -> FoundRun:
    """The newest run of a name on a cluster; refused with what there is."""
    found = runs_on(client, namespace)
    mine = [run for run in found if run.name == name]
    if mine:
        return mine[0]
    names = ", ".join(dict.fromkeys(run.name for run in found)) or "none"
    what = f"there is no run named {name} on this cluster"
    raise RefusedError(Problem(code="RUN-103", what=what, found=f"runs there: {names}"))


def adopt(store: Store, client: KubeClient, found: FoundRun, place: str) -> RunRecord:
    """Write it into the store as if it had been started here; refused while somebody else keeps it alive."""
    if found.keeper:
        raise RefusedError(
            Problem(
                code="RUN-121",
                what=f"{found.name} is kept alive by {found.keeper}",
                hint="`tonnage stop` it there, or wait: 45 s after that machine is lost it can be taken up",
            )
        )
    kept = found.kept
    record = store.create(kept.name, place, kept.launching, kept.created)
    for attempt in kept.attempts:
        store.put_attempt(record.id, attempt)
    if (code := code_of(client, found)) is not None:
        keep_code(store.folder, record.id, code)
    if kept.state != "active":
        store.set_state(record.id, kept.state, kept.why, kept.created)
    return store.run(record.id)
