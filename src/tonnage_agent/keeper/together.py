"""Saving and resuming by several ranks at once.

Every rank writes its own files into the same draft; rank 0 commits what all have sealed. Each phase ends with all
ranks telling all others how it went, so a failure on one is a failure everywhere and none waits for a dead save.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from tonnage_agent.keeper.checkpoint import Checkpoint
from tonnage_agent.keeper.failing import KeeperError, SaveFailed, why_it_failed
from tonnage_agent.keeper.keeper import Keeper, check_step
from tonnage_agent.keeper.manifest import FileEntry
from tonnage_agent.keeper.naming import Name, parse_name
from tonnage_agent.keeper.port import Draft
from tonnage_agent.keeper.ranks import Ranks
from tonnage_agent.keeper.writing import Dump, write_state


def save_together(
    keeper: Keeper,
    ranks: Ranks,
    step: int,
    state: Any,
    *,
    dump: Dump = None,
    meta: Mapping[str, Any] | None = None,
) -> Checkpoint:
    """Save with every rank's files in one checkpoint; called by all ranks, raises on all or on none."""
    check_step(step)
    if not ranks.can_agree:
        raise SaveFailed(
            "a sharded save needs ranks that can talk: call it after torch.distributed.init_process_group, or give "
            "attach(ranks=...)"
        )
    began = keeper.clock.elapsed()
    label = ranks.gather(keeper.label(step, uuid.uuid4().hex[:8]) if ranks.rank == 0 else "")[0]
    draft, sealed, problem = _sealed(keeper, label, ranks.rank, state, dump)
    told = ranks.gather([problem, [[file.path, file.size, file.sha256] for file in sealed]])
    problems = [f"rank {rank}: {said[0]}" for rank, said in enumerate(told) if said[0]]
    made: Checkpoint | None = None
    if ranks.rank == 0 and draft is not None and not problems:
        try:
            files = [FileEntry(*entry) for _, entries in told for entry in entries]
            made = keeper.commit(draft, step, files, meta, ranks.world)
        except Exception as error:
            problems.append(f"rank 0: {why_it_failed(error)}")
    problems, name = ranks.gather([problems, str(made.name) if made else ""])[0]
    if problems:
        if draft is not None:
            draft.discard()
        raise keeper.failed(step, "; ".join(problems))
    if made is None:
        made = _seen(keeper, name)
        if draft is not None:
            draft.forget()
    else:
        keeper.prune(made.name)
    return replace(made, seconds=keeper.clock.elapsed() - began)


def newest_together(keeper: Keeper, ranks: Ranks) -> Checkpoint | None:
    """Rank 0 chooses and checks; all ranks open the same one, or all raise."""
    chosen: Checkpoint | None = None
    said = ["", ""]
    if ranks.rank == 0:
        try:
            chosen = keeper.newest()
            said[0] = str(chosen.name) if chosen else ""
        except Exception as error:
            said[1] = why_it_failed(error)
    name, problem = ranks.gather(said)[0]
    if problem:
        raise KeeperError(f"rank 0 could not look for checkpoints: {problem}")
    if not name:
        return None
    problem = ""
    if chosen is None:
        try:
            chosen = keeper.opened(_parsed(name), check=False)
        except Exception as error:
            problem = why_it_failed(error)
    problems = [f"rank {rank}: {why}" for rank, why in enumerate(ranks.gather(problem)) if why]
    if problems:
        raise KeeperError(
            f"{keeper.place.path(_parsed(name))} is whole, but not every rank can read it ({'; '.join(problems)}); "
            "is the place shared by all nodes?"
        )
    return chosen


def _sealed(
    keeper: Keeper, label: str, rank: int, state: Any, dump: Dump
) -> tuple[Draft | None, list[FileEntry], str]:
    """This rank's part of a draft, or what went wrong with it."""
    draft: Draft | None = None
    try:
        draft = keeper.place.draft(label, rank)
        write_state(state, draft.folder, dump)
        return draft, draft.seal(), ""
    except Exception as error:
        return draft, [], why_it_failed(error)


def _seen(keeper: Keeper, name: str) -> Checkpoint:
    """What another rank has committed, without its files."""
    parsed = _parsed(name)
    return Checkpoint(
        parsed, keeper.place.manifest(parsed), keeper.place.path(parsed), keeper.place.local(parsed)
    )


def _parsed(name: str) -> Name:
    parsed = parse_name(name)
    assert parsed is not None, f"rank 0 said {name!r}"
    return parsed
