"""A run on this machine before it is started: what each process would be, and what is missing for it.

Whatever would make the first attempt fail at once is said while somebody is there to read it.
"""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from tonnage.errors import Problem, RefusedError
from tonnage.units import format_bytes
from tonnage_agent.contract import CHECKPOINTS

if TYPE_CHECKING:
    from tonnage.cli.run_planning import Planned
    from tonnage.local.starting import Node
    from tonnage.store.store import Store


LEAST_MEMORY = 32 * 2**20
"""The agent lives behind the same limit and holds up to 20 MB (docs/agent.md)."""


def notes_on_the_limit() -> tuple[str, ...]:
    """Who keeps the memory limit, where it is not the kernel."""
    from tonnage.local import cgroups
    from tonnage.local.shim import NO_CGROUP

    if NO_CGROUP in os.environ:
        return (f"limit kept by the agent, not by the kernel: {NO_CGROUP} is set",)
    if not cgroups.is_permitted():
        return ("limit kept by the agent, not by the kernel: no cgroup may be made here",)
    return ()


def rehearsed(planned: Planned) -> list[Node]:
    """The processes of the first attempt, as they would be started."""
    from tonnage.local.starting import Setting, nodes_of
    from tonnage.running.launching import launching_of
    from tonnage.store.opening import home

    lineage = f"{planned.run.metadata.name}-STARTED"
    launching = launching_of(
        planned.plan,
        planned.run,
        document="",
        file=planned.file,
        folder=str(planned.folder),
        lineage=lineage,
        refits=(),
    )
    setting = Setting(
        run_id=0,
        run=planned.run,
        launching=launching,
        home=home(),
        agent=(sys.executable, "tonnage-agent.pyz", "run", "--"),
        agent_path="tonnage-agent.pyz",
        environment=os.environ,
    )
    return nodes_of(setting, 1, launching.first_size)


def refuse_what_cannot_start(planned: Planned) -> None:
    """The command, its folder and its secrets are there, or it is said what is not."""
    for node in rehearsed(planned)[:1]:
        if node.memory is not None and node.memory < LEAST_MEMORY:
            what = (
                f"{format_bytes(node.memory)} of memory: the agent that watches it takes nearly all of that"
            )
            hint = f"ask for at least memory: {LEAST_MEMORY // 2**20}Mi"
            raise RefusedError(Problem(code="RUN-114", what=what, where="spec.memory", hint=hint))
        _refuse_what_cannot_be_written(node)
        if not node.cwd.is_dir():
            what = f"there is no folder {node.cwd}"
            hint = "code names the folder the command runs in, relative to the document"
            raise RefusedError(Problem(code="CODE-001", what=what, where="spec.code", hint=hint))
        program = node.argv[node.argv.index("--") + 1]
        path = node.env.get("PATH", os.defpath)
        if shutil.which(program, path=path) is None and not os.access(node.cwd / program, os.X_OK):
            what = f"there is no program named {program} on this machine"
            hint = "the command's first word is a program on the PATH, or one in the folder of `code`"
            raise RefusedError(Problem(code="RUN-113", what=what, where="spec.command", hint=hint))


def _refuse_what_cannot_be_written(node: Node) -> None:
    """Checkpoints that could never be saved are said before hours were trained for them."""
    place = node.env.get(CHECKPOINTS, "")
    if not place or "://" in place:
        return
    existing = next(folder for folder in (Path(place), *Path(place).parents) if folder.exists())
    if not existing.is_dir() or not os.access(existing, os.W_OK | os.X_OK):
        why = "is not a folder" if not existing.is_dir() else "may not be written to"
        what = f"no checkpoint could be saved: {existing} {why}"
        hint = "name a place that this user may write to, or free this one"
        raise RefusedError(Problem(code="RUN-115", what=what, where="spec.checkpoints", hint=hint))


def promised_memory(store: Store) -> dict[str, int]:
    """Bytes that active runs may still take of this machine, beyond what they hold now."""
    from tonnage.running.history import HERE
    from tonnage.supervising.opening import place_of, run_of

    found: dict[str, int] = {}
    for run in store.runs(active_only=True):
        attempt = run.current
        if run.place != HERE or attempt is None or attempt.is_over or attempt.size.memory is None:
            continue
        seen = place_of(run, store.folder).observe(attempt.number)
        held = seen.memory.usage if seen.memory is not None else 0
        nodes = run_of(run).spec.nodes.low
        found[run.name] = max(attempt.size.memory - held, 0) * nodes
    return found
