"""The options of `tonnage estimate` as what is asked: a step to trace, a shape, a recipe, and GPUs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Literal

from tonnage.cluster.gpus import GPU_TYPES, GpuType, find_gpu, nearest_gpus
from tonnage.errors import Problem, UsageError
from tonnage.memory.recipe import Parallel, Recipe

DEFAULT_GPU = "h100"
"""Pretended where nobody asks about a GPU."""
KNOBS = {
    "batch": "micro_batch",
    "seq": "sequence",
    "accumulation": "accumulation",
    "checkpointing": "checkpointing",
    "precision": "precision",
}
"""Options that a step's build() can be given, by the names it knows them under."""
DEGREES = ("ddp", "fsdp", "tensor", "pipeline", "expert")
STAGES: Mapping[str, Literal[1, 2, 3]] = {"zero1": 1, "zero2": 2, "zero3": 3}
SHAPE_ONLY = ("image", "optimizer", "attention", "lora_rank", "parallel")


@dataclass(frozen=True, slots=True)
class StepAsked:
    """A step to trace."""

    text: str
    python: str | None
    world_size: int
    rank: int
    knobs: tuple[tuple[str, object], ...]


@dataclass(frozen=True, slots=True)
class ShapeAsked:
    """A model's description, and how it is trained."""

    name: str | None
    config: Path | None
    recipe: Recipe


@dataclass(frozen=True, slots=True)
class Asked:
    """Everything one call asks for."""

    step: StepAsked | None
    shape: ShapeAsked | None
    gpus: tuple[GpuType, ...]
    asks_fit: bool


def read_options(options: Mapping[str, Any]) -> Asked:
    """What the options mean; raise UsageError where they contradict each other."""
    has_shape = options["shape"] is not None or options["config"] is not None
    if options["step"] is None and not has_shape:
        raise _usage(
            "EST-001",
            "nothing to estimate",
            hint="give --step FILE.py:build, or --shape NAME or --config FILE",
        )
    if options["shape"] is not None and options["config"] is not None:
        raise _usage("EST-002", "--shape and --config both describe the model", hint="give one of them")
    gpus = _gpus(options["gpus"])
    step = _step(options, has_shape=has_shape) if options["step"] is not None else None
    shape = ShapeAsked(options["shape"], options["config"], _recipe(options)) if has_shape else None
    if step is None:
        _refuse(options, ("python", "world_size", "rank"), "only a traced step has an interpreter and ranks")
    return Asked(step, shape, gpus or (_named(DEFAULT_GPU),), bool(gpus))


MOST_RANKS = 65_536
"""More than the largest runs have; a slip of the finger beyond it would be counted rank by rank."""


def parse_parallel(text: str) -> Parallel:
    """Degrees from `ddp:8,tensor:2`; `zero3:8` is eight data-parallel ranks at that stage.

    >>> parse_parallel("fsdp:8,tensor:2").world_size
    16
    """
    degrees = dict.fromkeys(DEGREES, 1)
    stage: Literal[0, 1, 2, 3] = 0
    said: set[str] = set()
    for pair in filter(None, (part.strip() for part in text.split(","))):
        name, _, count = pair.replace("=", ":").lower().partition(":")
        if name not in degrees and name not in STAGES:
            near = get_close_matches(name, (*DEGREES, *STAGES), n=1)
            known = f"{', '.join(DEGREES)}, zero1, zero2 or zero3"
            raise _parallel(pair, known, hint=f"did you mean {near[0]}?" if near else None)
        if not (count.isascii() and count.isdecimal() and len(count) <= 6 and 1 <= int(count) <= MOST_RANKS):
            raise _parallel(pair, f"a degree from 1 to {MOST_RANKS:,}, like ddp:8")
        if name in STAGES:
            name, stage = "ddp", STAGES[name]
        if name in said:
            raise _parallel(pair, f"each degree once; {name} is said before, and zero1 to zero3 are ddp")
        said.add(name)
        degrees[name] = int(count)
    found = Parallel(zero=stage, **degrees)
    if found.world_size > MOST_RANKS:
        raise _parallel(f"{text}, {found.world_size:,} ranks", f"at most {MOST_RANKS:,} ranks together")
    return found


def _step(options: Mapping[str, Any], *, has_shape: bool) -> StepAsked:
    if not has_shape:
        _refuse(
            options, SHAPE_ONLY, "with --step, build() decides these; they describe a --shape or --config"
        )
    knobs = {KNOBS[name]: options[name] for name in KNOBS if options[name] is not None}
    world = options["world_size"] or 1
    return StepAsked(
        options["step"], options["python"], world, options["rank"] or 0, tuple(sorted(knobs.items()))
    )


def _recipe(options: Mapping[str, Any]) -> Recipe:
    """The recipe of a shape; what is not said is the recipe's own default."""
    if options["batch"] is None:
        raise _usage(
            "EST-003", "a shape needs --batch", hint="samples per GPU and forward pass, like --batch 8"
        )
    said = {
        name: options[name]
        for name in ("precision", "optimizer", "checkpointing", "attention", "accumulation", "lora_rank")
        if options[name] is not None
    }
    parallel = parse_parallel(options["parallel"] or "")
    return Recipe(options["batch"], options["seq"], options["image"], parallel=parallel, **said)


def _gpus(names: tuple[str, ...]) -> tuple[GpuType, ...]:
    words = [word.strip() for name in names for word in name.split(",") if word.strip()]
    if names and not words:
        raise _usage("EST-004", "--gpu names no GPU", expected="a type like h100 or h200")
    return tuple(dict.fromkeys(_named(word) for word in words))


def _named(name: str) -> GpuType:
    found = find_gpu(name)
    if found is not None:
        return found
    near = nearest_gpus(name)
    known = ", ".join(gpu.name for gpu in GPU_TYPES)
    raise _usage(
        "EST-004",
        "no such GPU type",
        found=repr(name),
        hint=f"did you mean {' or '.join(near)}?" if near else f"we know {known}",
    )


def _refuse(options: Mapping[str, Any], names: tuple[str, ...], why: str) -> None:
    given = [f"--{name.replace('_', '-')}" for name in names if options[name] is not None]
    if given:
        raise _usage("EST-005", f"{', '.join(given)}: {why}")


def _parallel(found: str, expected: str, *, hint: str | None = None) -> UsageError:
    return _usage("EST-006", "--parallel cannot be read", found=repr(found), expected=expected, hint=hint)


def _usage(code: str, what: str, **parts: str | None) -> UsageError:
    return UsageError(Problem(code=code, what=what, **parts))
