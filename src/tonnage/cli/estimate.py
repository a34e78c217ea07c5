"""`tonnage estimate`: what a step needs of a GPU, from the user's own code or from a description of the model."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from tonnage.cli.estimate_answering import Answer
    from tonnage.cli.estimate_asking import Asked

PRECISIONS = ("bf16", "amp-bf16", "amp-fp16", "fp16", "fp32")
OPTIMIZERS = ("adamw", "adamw-fused", "adamw-forloop", "sgd", "sgdm", "adafactor")
CHECKPOINTING = ("none", "full", "selective")
ATTENTION = ("sdpa", "eager", "flash")


@click.command()
@click.option("--step", metavar="FILE.py:FUNCTION", help="Trace this step: the exact answer.")
@click.option("--python", metavar="INTERPRETER", help="Python of the training environment (has torch).")
@click.option(
    "--world-size", metavar="N", type=click.IntRange(1), help="Ranks of the run; one of them is traced."
)
@click.option("--rank", metavar="N", type=click.IntRange(0), help="Which rank to trace (0).")
@click.option("--shape", metavar="NAME", help="Estimate a model we know, like gpt2 or resnet50.")
@click.option(
    "--config", type=click.Path(path_type=Path), metavar="FILE", help="Estimate a config.json, or a folder's."
)
@click.option(
    "--batch", "--micro-batch", metavar="N", type=click.IntRange(1), help="Samples per rank and forward pass."
)
@click.option("--seq", "--sequence", metavar="N", type=click.IntRange(1), help="Tokens per sample.")
@click.option("--image", metavar="N", type=click.IntRange(1), help="Pixels along an image's side.")
@click.option(
    "--precision",
    type=click.Choice(PRECISIONS, case_sensitive=False),
    help="What the step computes in (amp-bf16).",
)
@click.option(
    "--optimizer",
    type=click.Choice(OPTIMIZERS, case_sensitive=False),
    help="Which optimizer, and how it loops (adamw).",
)
@click.option(
    "--checkpointing",
    type=click.Choice(CHECKPOINTING, case_sensitive=False),
    help="Which activations are recomputed (none).",
)
@click.option(
    "--attention", type=click.Choice(ATTENTION, case_sensitive=False), help="Which attention kernels (sdpa)."
)
@click.option(
    "--accumulation", metavar="N", type=click.IntRange(1), help="Forward passes per optimizer step (1)."
)
@click.option("--lora-rank", metavar="N", type=click.IntRange(1), help="Train adapters of this rank only.")
@click.option("--parallel", metavar="KIND:N,KIND:N", help="ddp, fsdp, zero1-3, tensor, pipeline, expert.")
@click.option("--gpu", "gpus", multiple=True, metavar="NAME", help="Does it fit? May be given several times.")
@click.option("--plot", type=click.Path(path_type=Path), metavar="FILE", help="Draw it: .png or .svg.")
@click.option("--timeline", type=click.Path(path_type=Path), metavar="FILE", help="For Perfetto: .json.")
@click.option("--all", "show_all", is_flag=True, help="Also list the ten largest tensors and every note.")
@click.option("-o", "--output", type=click.Choice(["text", "json"]), default="text", help="How to answer.")
def estimate(output: str, show_all: bool, plot: Path | None, timeline: Path | None, **options: Any) -> int:
    """Say what a training step needs of a GPU, before one is held.

    \b
    tonnage estimate --step train.py:build --gpu h100
    tonnage estimate --shape llama-3-8b --batch 1 --seq 4096 --gpu h200 --gpu b200

    With --step, build() makes model and optimizer on "cuda" and returns a function that does one optimizer
    step. It runs in your own environment behind a GPU that only pretends; nothing is executed. Give a shape
    as well, and it answers where the step cannot be traced. Exit code 0 when it fits, 1 when it does not.
    """
    from tonnage.cli.collecting import collect_rarely

    collect_rarely()
    from tonnage.cli.estimate_answering import answer
    from tonnage.cli.estimate_asking import read_options

    draws = plot is not None or timeline is not None
    if draws:
        from tonnage.cli.estimate_files import check_files, write_files

        check_files(plot, timeline)
    asked: Asked = read_options(options)
    found: Answer = answer(asked, draws=draws)
    if draws:
        write_files(found, plot, timeline)
    _show(found, output, show_all=show_all)
    return 0 if found.view.fits_all else 1


def _show(found: Answer, output: str, *, show_all: bool) -> None:
    if output == "json":
        import json

        from tonnage.reporting.estimate import as_json

        click.echo(json.dumps(as_json(found.view), indent=2))
        return
    from tonnage.cli.estimate_text import draw

    click.echo("\n".join(draw(found.view, show_all=show_all)))
