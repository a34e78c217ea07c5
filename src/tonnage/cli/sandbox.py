"""`tonnage sandbox`: a real Kubernetes on this machine, from `up` to `down`.

What was done goes to standard error, what a script wants (the export line, a path, JSON) to standard output.
The user's own kubeconfig is never touched.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from tonnage.sandbox.state import Sandbox

SETTINGS: dict[str, Any] = {"help_option_names": ["-h", "--help"], "max_content_width": 100}

_name = click.option("--name", default="default", show_default=True, help="Which sandbox.")
_output = click.option(
    "-o", "--output", type=click.Choice(["text", "json"]), default="text", help="Print JSON for programs."
)


@click.group(context_settings=SETTINGS)
def sandbox() -> None:
    """Run a real Kubernetes with GPU nodes on this machine.

    The API server, scheduler and controllers are the real ones; nodes are simulated (--nodes) or real
    (--real-nodes). Nothing outside its own folder is changed, and `down` removes all of it.
    """


@sandbox.command(context_settings=SETTINGS)
@_name
@click.option(
    "--nodes",
    "nodes",
    multiple=True,
    metavar="GROUPS",
    help="Simulated nodes, like 8xh100=50,cpu=10; see above.",
)
@click.option(
    "--real-nodes", type=int, default=0, metavar="N", help="Nodes on which containers really run (root)."
)
@click.option(
    "--with", "controllers", multiple=True, metavar="NAMES", help="kueue,jobset,trainer,training-operator"
)
@click.option(
    "--from",
    "snapshot",
    type=click.Path(path_type=Path),
    metavar="SNAPSHOT",
    help="Make a twin of a saved cluster.",
)
@_output
def up(
    name: str,
    nodes: tuple[str, ...],
    real_nodes: int,
    controllers: tuple[str, ...],
    snapshot: Path | None,
    output: str,
) -> None:
    """Start a sandbox and print the line that points kubectl at it.

    A group of nodes is NAME[=COUNT] and options, joined by '+':

    \b
      8xh100=50                  50 nodes with 8 H100 each
      cpu=10                     10 nodes without GPUs
      4xl4=3+shared=4            each GPU offered four times (mps=4: with MPS)
      8xa100-80=2+mig=1g.10gb    every GPU cut into MIG slices
      a100-80+mig=1x3g.40gb/4x1g.10gb       a mixed cut
      8xh100=4+spot+zone=eu-1a/eu-1b        spot capacity, two zones
      big=4+gpus=8xh200+cpu=192+memory=2Ti+disk=8Ti+label=team=a
      mine=2+cpu=8+memory=32Gi+taint=team=a:NoSchedule

    Pods on simulated nodes run until they are deleted, or as their annotations say:

    \b
      tonnage.dev/runs-for: 90s            end after 90 seconds
      tonnage.dev/exit-code: "137"         with this exit code (0 if absent)
      tonnage.dev/exit-reason: OOMKilled   and this reason
      tonnage.dev/starts-after: 20s        stay Pending, as if pulling the image
    """
    import shlex
    import time

    from tonnage.figures import duration
    from tonnage.sandbox.lifecycle import up as start
    from tonnage.sandbox.request import SandboxRequest
    from tonnage.sandbox.showing import Show
    from tonnage.sandbox.state import READY, load

    request = SandboxRequest(
        name=name,
        nodes=",".join(nodes),
        real_nodes=real_nodes,
        controllers=_words(controllers),
        snapshot=snapshot.absolute() if snapshot else None,
    )
    show = Show(is_quiet=output == "json")
    before = load(name)
    was_ready = before is not None and before.phase == READY
    began = time.monotonic()
    with _leaving_cleanly():
        made = start(request, show)
    took = time.monotonic() - began
    if output == "json":
        click.echo(json.dumps(_described(made) | {"seconds": round(took, 2)}, indent=2))
        return
    said = "runs already" if was_ready else f"is ready, {duration(took)}"
    show.line(f"  sandbox {made.name} {said}")
    show.line()
    click.echo(f"export KUBECONFIG={shlex.quote(str(made.kubeconfig))}")
    show.line()
    show.line(f"  look at it    tonnage snapshot --on sandbox{_suffix(made.name)}")
    show.line(f"  kubectl       {_from_home(made.binary('kubectl'))}")
    show.line(f"  remove it     tonnage sandbox down{_name_flag(made.name)}")


@sandbox.command(context_settings=SETTINGS)
@click.option("--name", default=None, help="Only this one; all of them otherwise.")
@_output
def status(name: str | None, output: str) -> None:
    """Say which sandboxes there are and whether their parts run."""
    from tonnage.sandbox.reporting import report_all, report_text

    reports = report_all(name)
    if output == "json":
        click.echo(json.dumps({"sandboxes": reports}, indent=2))
        return
    click.echo(report_text(reports))


@sandbox.command(context_settings=SETTINGS)
@click.argument("image", type=click.Path(path_type=Path))
@_name
@_output
def load(image: Path, name: str, output: str) -> None:
    """Load an image (a docker or OCI archive) into every real node."""
    from tonnage.sandbox.loading import load_image
    from tonnage.sandbox.showing import Show

    loaded = load_image(name, image, Show(is_quiet=output == "json"))
    if output == "json":
        click.echo(json.dumps({"sandbox": name, "images": loaded}, indent=2))
        return
    for reference in loaded:
        click.echo(reference)


@sandbox.command(context_settings=SETTINGS)
@_name
@_output
def kubeconfig(name: str, output: str) -> None:
    """Print the path of the sandbox's kubeconfig."""
    from tonnage.sandbox.lifecycle import find

    found = find(name)
    click.echo(json.dumps(_described(found), indent=2) if output == "json" else str(found.kubeconfig))


@sandbox.command(context_settings=SETTINGS)
@click.option("--name", default=None, help="Which sandbox.  [default: default]")
@click.option("--all", "is_all", is_flag=True, help="Every sandbox of this user.")
@_output
def down(name: str | None, is_all: bool, output: str) -> None:
    """Stop a sandbox and remove every trace of it."""
    from tonnage.sandbox.lifecycle import down as take_down
    from tonnage.sandbox.showing import Show
    from tonnage.sandbox.state import names

    if name is not None and is_all:
        raise click.UsageError("Give either --name or --all.")
    wanted = names() if is_all else ["default" if name is None else name]
    show = Show(is_quiet=output == "json")
    removed = [each for each in wanted if take_down(each, show)]
    if output == "json":
        click.echo(json.dumps({"removed": removed}, indent=2))
    elif not removed:
        show.line(f"  there is no sandbox{'' if is_all else f' named {wanted[0]}'}; nothing to do")


@contextmanager
def _leaving_cleanly() -> Iterator[None]:
    """Asked to end, leave as after Ctrl-C: what was started is taken down."""
    import signal
    import sys

    asked = (signal.SIGTERM, signal.SIGHUP)
    before = {number: signal.signal(number, lambda got, _: sys.exit(128 + got)) for number in asked}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _words(values: tuple[str, ...]) -> tuple[str, ...]:
    """`--with a,b --with c` means a, b and c; order and repetition mean nothing."""
    return tuple(dict.fromkeys(word.strip() for value in values for word in value.split(",") if word.strip()))


def _described(made: Sandbox) -> dict[str, Any]:
    return {
        "name": made.name,
        "server": made.server,
        "kubeconfig": str(made.kubeconfig),
        "kubectl": made.binaries.get("kubectl"),
    }


def _from_home(path: Path) -> str:
    """The path as people write it: short enough for a line, and still good for the shell."""
    return f"~/{path.relative_to(Path.home())}" if path.is_relative_to(Path.home()) else str(path)


def _suffix(name: str) -> str:
    return "" if name == "default" else f":{name}"


def _name_flag(name: str) -> str:
    return "" if name == "default" else f" --name {name}"
