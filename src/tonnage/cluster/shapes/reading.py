"""Node shapes as people type them, safe in any shell without quotes.

    8xh100=50,8xa100-80=20,cpu=10
    8xh100=4+spot+zone=eu-1a/eu-1b,cpu=2+memory=64Gi
    big=4+memory=2Ti+cpu=192+disk=8Ti+gpus=8xh200+label=team=a+taint=team=a:NoSchedule
    8xa100-80=2+mig=1g.10gb          every GPU cut into as many 1g.10gb as it holds, offered as nvidia.com/gpu
    8xa100-80=2+mig=1x3g.40gb/4x1g.10gb   a mixed cut, each profile a resource of its own
    4xl4=3+shared=4                  each GPU offered four times (time slicing); mps=4 for MPS

Groups are separated by commas; a group is NAME[=COUNT] and then +OPTION as often as needed. NAME is `cpu`, a
GPU type (`h100`), a number of them (`8xh100`), or any word of yours when the options say what the machine
has. Every mistake in the text is reported, not the first.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from difflib import get_close_matches

from msgspec.structs import replace

from tonnage.cluster.gpus import GpuType, find_gpu, nearest_gpus
from tonnage.cluster.objects.node import Taint
from tonnage.cluster.shapes.shape import MigCut, NodeShape
from tonnage.errors import Problem, UsageError
from tonnage.units import QuantityError, parse_quantity

MOST_NODES = 5000
_GIB = 1024**3
_NAME = re.compile(r"^[a-z0-9]([a-z0-9-]{0,50}[a-z0-9])?$")
_GPUS = re.compile(r"^(\d+)x(.+)$")
_LABEL_KEY = re.compile(
    r"^([a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?/)?[A-Za-z0-9]([A-Za-z0-9_.-]{0,61}[A-Za-z0-9])?$"
)
_LABEL_VALUE = re.compile(r"^([A-Za-z0-9]([A-Za-z0-9_.-]{0,61}[A-Za-z0-9])?)?$")
_EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")
_PLAIN = NodeShape(name="cpu", cpu=32, memory=128 * _GIB, disk=512 * _GIB)


class _Wrong(Exception):  # noqa: N818 - never leaves this file
    """One option or word that cannot be read; `expected` says what would be."""

    def __init__(self, what: str, found: str, expected: str, hint: str | None = None) -> None:
        super().__init__(what)
        self.what, self.found, self.expected, self.hint = what, found, expected, hint


def parse_node_shapes(text: str) -> list[tuple[NodeShape, int]]:
    """Read node groups; raise UsageError with every mistake.

    >>> [(shape.name, shape.gpus, count) for shape, count in parse_node_shapes("8xh100=50,cpu=10")]
    [('8xh100', 8, 50), ('cpu', 0, 10)]
    """
    groups: list[tuple[NodeShape, int]] = []
    problems: list[Problem] = []
    for word in text.split(","):
        try:
            groups.append(_group(word.strip()))
        except _Wrong as wrong:
            problems.append(_problem(wrong, word.strip()))
    groups = _with_distinct_names(groups)
    total = sum(count for _, count in groups)
    if total > MOST_NODES:
        expected = f"at most {MOST_NODES:,} nodes in one sandbox"
        problems.append(_problem(_Wrong("too many nodes", f"{total:,}", expected), text))
    if problems:
        raise UsageError(*problems)
    return groups


def _group(word: str) -> tuple[NodeShape, int]:
    head, *options = word.split("+")
    name, equals, count_text = head.partition("=")
    if not name:
        raise _Wrong("a node group without a name", repr(word), "like 8xh100=50 or cpu=10")
    count = _whole(count_text, "the number of nodes", least=1) if equals else 1
    shape = _starting_shape(name, options)
    for option in sorted(options, key=_gpus_first):
        shape = _with_option(shape, option)
    return shape, count


def _gpus_first(option: str) -> int:
    """`gpus=` decides what mig and the host defaults mean, explicit sizes then override those defaults."""
    return 0 if option.startswith("gpus=") else 1


def _starting_shape(name: str, options: list[str]) -> NodeShape:
    if name == "cpu":
        return _PLAIN
    many = _GPUS.match(name)
    gpu = find_gpu(many[2] if many else name)
    if gpu is not None:
        count = _whole(many[1], "the number of GPUs", least=1, most=16) if many else 1
        return _with_gpus(replace(_PLAIN, name=f"{count}x{gpu.name}"), count, gpu)
    says_what = any(option.split("=")[0] in ("gpus", "cpu", "memory") for option in options)
    if many or not says_what:
        raise _unknown_gpu(many[2] if many else name)
    if not _NAME.match(name):
        raise _Wrong("not a name for nodes", repr(name), "lower-case letters, digits and '-'")
    return replace(_PLAIN, name=name)


def _unknown_gpu(name: str) -> _Wrong:
    near = nearest_gpus(name)
    hint = f"did you mean {' or '.join(near)}?" if near else None
    expected = "cpu, a GPU type such as h100, a100-80, l4, or your own name with +cpu=, +memory= or +gpus="
    return _Wrong("unknown GPU type or node shape", repr(name), expected, hint)


def _with_gpus(shape: NodeShape, count: int, gpu: GpuType) -> NodeShape:
    return replace(
        shape,
        gpus=count,
        gpu_type=gpu,
        cpu=gpu.host.cpu * count,
        memory=gpu.host.memory_gib * _GIB * count,
        disk=gpu.host.disk_gib * _GIB * count,
    )


def _with_option(shape: NodeShape, option: str) -> NodeShape:
    key, _, value = option.partition("=")
    if key not in _OPTIONS:
        near = get_close_matches(key, _OPTIONS, n=1)
        hint = f"did you mean {near[0]}?" if near else None
        raise _Wrong("unknown option", repr(key), f"one of {', '.join(_OPTIONS)}", hint)
    return _OPTIONS[key](shape, value)


def _gpus(shape: NodeShape, value: str) -> NodeShape:
    if value == "0":
        return shape
    many = _GPUS.match(value)
    gpu = find_gpu(many[2] if many else value)
    if gpu is None:
        raise _unknown_gpu(many[2] if many else value)
    return _with_gpus(shape, _whole(many[1], "the number of GPUs", least=1, most=16) if many else 1, gpu)


def _mig(shape: NodeShape, value: str) -> NodeShape:
    gpu = shape.gpu_type
    if gpu is None or not gpu.mig:
        name = gpu.name if gpu else "a node without GPUs"
        raise _Wrong(f"{name} cannot be cut with MIG", repr(value), "a GPU with MIG, such as a100-80 or h100")
    parts = []
    for word in value.split("/"):
        many = re.match(r"^(\d+)x(.+)$", word)
        profile = gpu.mig_profile(many[2] if many else word)
        if profile is None:
            expected = " ".join(profile.name for profile in gpu.mig)
            raise _Wrong(f"{gpu.name} has no such MIG profile", repr(word), f"one of {expected}")
        parts.append((profile, int(many[1]) if many else profile.most))
    cut = MigCut(tuple(parts), is_single="x" not in value and len(parts) == 1)
    compute = sum(profile.compute_slices * count for profile, count in parts)
    memory = sum(profile.memory_slices * count for profile, count in parts)
    if compute > 7 or memory > gpu.memory_slices or any(count < 1 or count > p.most for p, count in parts):
        found = f"{compute} compute and {memory} memory slices"
        raise _Wrong("this cut does not fit one GPU", found, f"at most 7 and {gpu.memory_slices}")
    return replace(shape, mig=cut)


def _shared(shape: NodeShape, value: str, *, is_mps: bool = False) -> NodeShape:
    if not shape.gpus:
        raise _Wrong("a node without GPUs shares none", repr(value), "gpus= first, or a GPU shape")
    return replace(shape, shared=_whole(value, "the shares of a GPU", least=1, most=100), is_mps=is_mps)


def _label(shape: NodeShape, value: str) -> NodeShape:
    key, _, content = value.partition("=")
    _check_label(key, content, value)
    return replace(shape, labels=(*shape.labels, (key, content)))


def _taint(shape: NodeShape, value: str) -> NodeShape:
    if value == "none":
        return replace(shape, has_gpu_taint=False)
    pair, _, effect = value.rpartition(":")
    key, _, content = pair.partition("=")
    if effect not in _EFFECTS:
        raise _Wrong(
            "not a taint", repr(value), f"KEY=VALUE:EFFECT or none, EFFECT one of {', '.join(_EFFECTS)}"
        )
    _check_label(key, content, value)
    return replace(shape, taints=(*shape.taints, Taint(key=key, value=content, effect=effect)))


def _check_label(key: str, value: str, found: str) -> None:
    if not _LABEL_KEY.match(key) or not _LABEL_VALUE.match(value):
        raise _Wrong(
            "not a Kubernetes label", repr(found), "KEY=VALUE with at most 63 letters, digits, '-', '_', '.'"
        )


def _zone(shape: NodeShape, value: str) -> NodeShape:
    zones = tuple(value.split("/"))
    for zone in zones:
        if not zone:
            raise _Wrong("an empty zone", repr(value), "like eu-1a or eu-1a/eu-1b")
        _check_label("zone", zone, value)
    return replace(shape, zones=zones)


def _spot(shape: NodeShape, value: str) -> NodeShape:
    if value not in ("", "true"):
        raise _Wrong("spot takes no value", repr(value), "just +spot")
    return replace(shape, is_spot=True)


def _instance(shape: NodeShape, value: str) -> NodeShape:
    if not value:
        raise _Wrong("an instance type without a name", repr(value), "like p5.48xlarge")
    _check_label("instance", value, value)
    return replace(shape, instance=value)


_OPTIONS: dict[str, Callable[[NodeShape, str], NodeShape]] = {
    "cpu": lambda shape, value: replace(shape, cpu=_whole(value, "cpu", least=1)),
    "memory": lambda shape, value: replace(shape, memory=_bytes(value, "memory")),
    "disk": lambda shape, value: replace(shape, disk=_bytes(value, "disk")),
    "gpus": _gpus,
    "mig": _mig,
    "shared": _shared,
    "mps": lambda shape, value: _shared(shape, value, is_mps=True),
    "label": _label,
    "taint": _taint,
    "zone": _zone,
    "spot": _spot,
    "instance": _instance,
    "pods": lambda shape, value: replace(shape, pods=_whole(value, "pods", least=1)),
}


def _whole(text: str, what: str, *, least: int, most: int = 10**6) -> int:
    if not re.fullmatch(r"\d{1,7}", text, re.ASCII) or not least <= int(text) <= most:
        upto = f" up to {most}" if most < 10**6 else ""
        raise _Wrong(f"{what} is not a number", repr(text), f"a whole number from {least}{upto}")
    return int(text)


def _bytes(text: str, what: str) -> int:
    try:
        amount = parse_quantity(text).value()
    except QuantityError:
        amount = 0
    if amount < 1024**2:
        raise _Wrong(f"{what} is not a size", repr(text), "a size of at least 1Mi, like 2Ti or 512Gi")
    return amount


def _with_distinct_names(groups: Iterable[tuple[NodeShape, int]]) -> list[tuple[NodeShape, int]]:
    """The same shape may appear twice with different options; its nodes still need names of their own."""
    seen: dict[str, int] = {}
    distinct = []
    for shape, count in groups:
        seen[shape.name] = seen.get(shape.name, 0) + 1
        again = seen[shape.name]
        distinct.append((shape if again == 1 else replace(shape, name=f"{shape.name}-group{again}"), count))
    return distinct


def _problem(wrong: _Wrong, where: str) -> Problem:
    return Problem(
        code="BOX-001",
        what=wrong.what,
        where=f"--nodes {where}" if where else "--nodes",
        found=wrong.found,
        expected=wrong.expected,
        hint=wrong.hint,
    )
