"""What every command about runs begins with: the store, and a supervisor for every run that lost its own."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from tonnage.running.history import RunRecord
    from tonnage.store.store import Store


def open_store() -> Store:
    """The store of this machine, with its runs taken up again where nobody holds them."""
    from tonnage.store.opening import home
    from tonnage.store.store import Store
    from tonnage.supervising.detaching import take_up

    store = Store(home())
    for run in take_up(store):
        click.echo(f"{run.name} had lost its supervisor; taken up again", err=True)
    return store


def find_run(store: Store, name: str) -> RunRecord:
    """A run by its name or name#number; refused with what there is."""
    from difflib import get_close_matches

    from tonnage.errors import Problem, RefusedError

    found = store.find(name)
    if found is not None:
        return found
    names = list(dict.fromkeys(run.name for run in store.runs(limit=200)))
    near = get_close_matches(name, names, n=1)
    hint = f"did you mean {near[0]}?" if near else "`tonnage ps --all` lists the runs of this machine"
    raise RefusedError(Problem(code="RUN-103", what=f"there is no run named {name}", hint=hint))
