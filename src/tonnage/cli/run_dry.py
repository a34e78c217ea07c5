"""`tonnage run --dry-run`: what would be started, whole and exact, and nothing started."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from tonnage.cli.run_planning import Planned


def show_dry_run(planned: Planned, output: str) -> int:
    """Print it; exit code 1 where it would be refused."""
    from tonnage.cli.run_planning import refuse_what_cannot_run

    refuse_what_cannot_run(planned)
    objects = _here(planned) if planned.is_here else _there(planned)
    if output == "json":
        import json

        click.echo(json.dumps(objects, indent=2))
    else:
        import yaml

        click.echo(yaml.safe_dump_all(objects, sort_keys=False), nl=False)
    return 0


def _here(planned: Planned) -> list[dict[str, Any]]:
    """The processes of this machine; variables they only inherit are left out."""
    import os

    from tonnage.cli.run_here import rehearsed

    return [
        {
            "process": node.index,
            "command": list(node.argv),
            "folder": str(node.cwd),
            "memoryLimit": node.memory,
            "environment": {
                name: value for name, value in sorted(node.env.items()) if os.environ.get(name) != value
            },
        }
        for node in rehearsed(planned)
    ]


def _there(planned: Planned) -> list[dict[str, Any]]:
    """The objects of a cluster, after its API server has gone through all of them and stored nothing."""
    from tonnage.cli.run_cluster import bring_code, place_for

    place, launching = place_for(bring_code(planned, only_say=True))
    with closing(place):
        return place.rehearse(1, launching.first_size)
